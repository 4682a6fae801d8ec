"""One job in a table of widgets: a line of text and its buttons. Knows ipywidgets; knows nothing of who acts when one is pressed.

What people wrote is escaped where the HTML is made (`look`); a button holds none of it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import ipywidgets

from jupysched import phrases
from jupysched.magic import look, table
from jupysched.magic.offers import Offer, offered
from jupysched.wire.records import JobRecord

#: how long a button that asks waits for its second press
ASK_S = 8.0
#: of the columns; the last has the rest, and goes below where that is too little
_WIDTHS = ("3em", "11em", "10.5em", "6.5em", "4.5em", "6em")
_LAST = "1 1 11em"
#: as wide as there is room, however long its words are
_LINE = "display:flex;flex-wrap:wrap;gap:0 8px;font-size:12px;line-height:24px;width:0;min-width:100%"
#: what the columns need at the least; where the buttons leave less, they go below
_LEAST = "680px"


class Shared:
    """Looks that all widgets of a table share: each would else have models of its own."""

    def __init__(self) -> None:
        self.box = ipywidgets.Layout()
        self.line = ipywidgets.Layout(flex="1 1 auto", min_width="0")
        self.row = ipywidgets.Layout(flex_flow="row wrap", justify_content="flex-end")
        self.words = ipywidgets.Layout(flex=f"1 1 {_LEAST}", min_width="0")
        self.button = ipywidgets.Layout(
            width="auto", height="24px", margin="0 2px 0 0", padding="0 6px", flex="0 0 auto"
        )
        self.button_style = ipywidgets.ButtonStyle()
        self.text_style = ipywidgets.widgets.widget_string.HTMLStyle()
        self.all = (self.box, self.line, self.row, self.words, self.button, self.button_style, self.text_style)

    def html(self, value: str = "") -> Any:
        """A place for text."""
        return ipywidgets.HTML(value, layout=self.line, style=self.text_style)

    def words_of_a_row(self) -> Any:
        """The same, beside buttons."""
        return ipywidgets.HTML(layout=self.words, style=self.text_style)


class Row:
    """One job: a line of text and its buttons, made anew only where they change."""

    def __init__(self, press: Callable[[JobRecord, str], None], shared: Shared, lock: threading.RLock) -> None:
        self._press = press
        self._shared = shared
        self._lock = lock
        self._line = shared.words_of_a_row()
        self._record: JobRecord | None = None
        self._offers: dict[str, Offer] = {}
        self._buttons: dict[str, Any] = {}
        #: the verb whose button has asked, and until when its second press counts
        self._asked: tuple[str, float] | None = None
        self.box = ipywidgets.HBox([self._line], layout=shared.row)

    def show(self, record: JobRecord) -> None:
        """The job as it is now."""
        self._record = record
        self._line.value = grid(table.rows([record])[0], title=record.name)
        offers = {offer.verb: offer for offer in offered(record)}
        if offers == self._offers:
            self._forget_question(late_only=True)
            return
        self._forget_question()
        # A button that stays is the same: a press that is on its way finds it.
        old, self._offers = self._buttons, offers
        self._buttons = {verb: old.get(verb) or self._button(record.id, offer) for verb, offer in offers.items()}
        for verb, button in self._buttons.items():
            button.description, button.tooltip = offers[verb].label, _tip(offers[verb], record.id)
        self.box.children = (self._line, *self._buttons.values())
        for verb in old.keys() - offers.keys():
            old[verb].close()

    def close(self) -> None:
        """Take all of it away."""
        for widget in (*self._buttons.values(), self._line, self.box):
            widget.close()

    def _button(self, number: int, offer: Offer) -> Any:
        shared = self._shared
        button = ipywidgets.Button(
            description=offer.label, tooltip=_tip(offer, number), layout=shared.button, style=shared.button_style
        )
        button.on_click(lambda _button: self._pressed(offer.verb))
        return button

    def _pressed(self, verb: str) -> None:
        with self._lock:
            record, offer = self._record, self._offers.get(verb)
            if record is None or offer is None:
                return
            has_asked = self._asked is not None and self._asked[0] == verb and time.monotonic() < self._asked[1]
            self._forget_question()
            if offer.asks and not has_asked:
                # It stops what runs: asked once.
                button = self._buttons[verb]
                button.description, button.button_style = f"{offer.label}? Press again", "danger"
                self._asked = (verb, time.monotonic() + ASK_S)
                return
        self._press(record, verb)

    def _forget_question(self, *, late_only: bool = False) -> None:
        if self._asked is None or (late_only and time.monotonic() < self._asked[1]):
            return
        verb, self._asked = self._asked[0], None
        self._buttons[verb].description, self._buttons[verb].button_style = self._offers[verb].label, ""


def _tip(offer: Offer, number: int) -> str:
    return f"{offer.tip}: job {number}"


def grid(words: Sequence[str], *, title: str = "", weight: str = "400") -> str:
    """Words in the columns of the table; what has no room is in the title, a name whole."""
    titles = [title if title and place == 1 else word for place, word in enumerate(words)]
    cells = "".join(
        f'<span style="flex:{basis};overflow:hidden;text-overflow:ellipsis;white-space:nowrap" '
        f'title="{escape(phrases.tidy(full)[:400])}">{look.text(word)}</span>'
        for word, full, basis in zip(words, titles, (*(f"0 0 {width}" for width in _WIDTHS), _LAST), strict=True)
    )
    return f'<div style="{_LINE};font-weight:{weight}">{cells}</div>'
