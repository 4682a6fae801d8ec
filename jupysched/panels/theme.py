"""The page around a panel: JupyterLab's light and dark colours, fonts and style sheets, and the words of its address. Knows Bokeh's
documents; draws nothing."""

from __future__ import annotations

from dataclasses import dataclass

from bokeh.document import Document

#: a row of controls that a narrow panel breaks into several
WRAP = {"flex-wrap": "wrap"}


@dataclass(slots=True)
class Theme:
    """Colours of the page around a panel."""

    is_dark: bool = False

    @property
    def ink(self) -> str:
        """Text."""
        return "#e6e8eb" if self.is_dark else "#1f2328"

    @property
    def soft(self) -> str:
        """Less important text."""
        return "#a5adb8" if self.is_dark else "#5b6470"

    @property
    def rule(self) -> str:
        """Lines of the grid."""
        return "#30343a" if self.is_dark else "#e6e8eb"

    @property
    def ground(self) -> str:
        """Behind it all; JupyterLab's own."""
        return "#111111" if self.is_dark else "#ffffff"


def argument(document: Document, name: str, default: str = "") -> str:
    """A word of the panel's address."""
    context = document.session_context
    request = context.request if context is not None else None
    found = (request.arguments if request is not None else {}).get(name) or [default.encode()]
    return bytes(found[0]).decode("utf-8", "replace")


def theme_of(document: Document) -> Theme:
    """As the address says."""
    return Theme(is_dark=argument(document, "theme") == "dark")


def dress(document: Document, theme: Theme, title: str) -> None:
    """Title, background and fonts of the page."""
    document.title = title
    document.template_variables["theme"] = theme
    # Blocks only: Bokeh puts its own `extends` before them.
    document.template = (
        "{% block postamble %}<style>html,body{height:100%}body{margin:0;padding:8px 12px;box-sizing:border-box;"
        "background:{{ theme.ground }};color:{{ theme.ink }};font:13px/1.4 system-ui,sans-serif}</style>{% endblock %}"
    )


def style(theme: Theme) -> str:
    """The style sheet of text blocks and controls, which live in shadow roots of their own."""
    return (
        f":host{{color:{theme.ink};font:13px/1.4 system-ui,sans-serif}}"
        f".soft{{color:{theme.soft};font-size:12px}}"
        f"label,.bk-input-group,.bk-btn{{color:{theme.ink};font-size:12px}}"
        f".bk-btn-default,select.bk-input,input.bk-input,.choices__inner,.choices__list--dropdown{{background:{theme.ground}!important;"
        f"color:{theme.ink}!important;border-color:{theme.rule}!important}}"
        f".bk-btn-default.bk-active{{background:{theme.rule}!important;font-weight:600}}"
    )


def table_style(theme: Theme) -> str:
    """The style sheet of tables."""
    return (
        f".slick-cell,.slick-header-column{{background:{theme.ground}!important;color:{theme.ink}!important;"
        f"border-color:{theme.rule}!important}}.slick-viewport,.slick-header{{background:{theme.ground}!important}}"
    )
