"""How a card looks as HTML where no extension draws it (nbviewer, GitHub, VS Code, saved pages). Knows HTML; knows no jobs.

Everything that comes from people is escaped here and nowhere else. Colours are JupyterLab's own, with a fall-back for pages
that have none; the text reads as sentences where styles are stripped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from jupysched.phrases import tidy

_COLOURS = {
    "run": "var(--jp-brand-color1,#1976d2)",
    "wait": "var(--jp-warn-color1,#b26a00)",
    "ok": "var(--jp-success-color1,#2e7d32)",
    "bad": "var(--jp-error-color1,#c62828)",
    "off": "var(--jp-border-color1,#9e9e9e)",
}
_BOX = (
    "max-width:600px;box-sizing:border-box;font:13px/1.35 system-ui,sans-serif;border:1px solid var(--jp-border-color2,#c8ccd1);"
    "border-left:3px solid {colour};border-radius:3px;padding:8px 12px;margin:2px 0"
)
_SUB = "font-size:11px;opacity:.75"
_PILL = (
    "font-size:11px;border-radius:9px;padding:0 7px;border:1px solid var(--jp-border-color2,#c8ccd1);white-space:nowrap"
)
_ROW = "display:flex;gap:12px;align-items:center;flex-wrap:wrap"
_CELL = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"
_LINE_WIDTH, _LINE_HEIGHT = 150, 16


def text(words: str) -> str:
    """Words of anybody as HTML; what they are cannot leave their place, nor turn what stands beside them."""
    return f"<bdi>{escape(tidy(words))}</bdi>"


def box(*, tone: str, name: str, full_name: str, pill: str, beside: str, lines: Sequence[str], right: str) -> str:
    """A card: the name and its state, then lines of plain text; `lines` are HTML made here (`text`, `spark`)."""
    head = (
        f'<div style="{_ROW}"><b title="{escape(full_name)}">{text(name)}</b> <span style="{_PILL}">{escape(pill)}</span> '
        f'<span style="{_SUB};flex:1">{text(beside)}</span> <span style="{_SUB}">{escape(right)}</span></div>'
    )
    rest = "".join(f'<div style="{_SUB};margin-top:4px">{line}</div>' for line in lines if line)
    return f'<div style="{_BOX.format(colour=_COLOURS[tone])}">{head}{rest}</div>'


def spark(values: Sequence[float]) -> str:
    """A small line of these values; "" for fewer than two."""
    finite = [v for v in values if abs(v) < float("inf")]
    if len(finite) < 2:
        return ""
    low, high = min(finite), max(finite)
    spread = (high - low) or 1.0
    step = _LINE_WIDTH / (len(finite) - 1)
    points = " ".join(
        f"{i * step:.1f},{1 + (_LINE_HEIGHT - 2) * (high - v) / spread:.1f}" for i, v in enumerate(finite)
    )
    return (
        f'<svg width="{_LINE_WIDTH}" height="{_LINE_HEIGHT}" style="display:inline;vertical-align:middle" aria-hidden="true">'
        f'<polyline points="{points}" fill="none" stroke="{_COLOURS["run"]}" stroke-width="1.5"/></svg>'
    )


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of plain text; the last column takes the room that is left and may break its lines."""
    top = "".join(f'<th style="{_CELL}">{escape(h)}</th>' for h in heads)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}{";white-space:nowrap" if n < len(row) - 1 else ""}">{text(c)}</td>'
            for n, c in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return f'<table style="font-size:12px"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
