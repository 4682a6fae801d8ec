"""%gpujobs as a table of widgets: a row for each job, with buttons for what may be done with it. Knows ipywidgets, and asks the daemon
through the desk.

The front end is not asked whether it can draw widgets, for it cannot be: it chooses from the bundle, which has HTML and text too. It
does say when it shows the table and when no longer (`_view_count`); the table is kept up to date between the two, and costs nothing
else. Texts of people are escaped where the HTML is made (`look`); buttons hold none of them.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import ipywidgets

from jupysched import phrases
from jupysched.core.errors import JupyschedError
from jupysched.magic import look, table
from jupysched.magic.cell import KernelCell
from jupysched.magic.desk import Desk
from jupysched.magic.logtail import LogTail
from jupysched.magic.offers import Offer, moved, offered
from jupysched.magic.table_live import TableLive
from jupysched.wire.records import JobRecord

VIEW = "application/vnd.jupyter.widget-view+json"
#: rows that can be acted upon; the fall-back shows as many
MOST_ROWS = 30
#: tables of one kernel that live; an older one becomes plain HTML
MOST_TABLES = 3
#: how long a button that asks waits for its second press
ASK_S = 8.0
_COLUMNS = "4em 12em 11em 7em 4.5em 6em minmax(8em,1fr)"
_GRID = f"display:grid;grid-template-columns:{_COLUMNS};gap:0 8px;font-size:12px;line-height:24px;overflow:hidden"
_LOG = (
    "max-height:20em;overflow:auto;margin:4px 0;padding:6px;font:12px/1.4 var(--jp-code-font-family,monospace);white-space:pre-wrap;"
    "border:1px solid var(--jp-border-color2,#c8ccd1)"
)


class JobTable:
    """One table under one cell."""

    def __init__(self, desk: Desk, cell: KernelCell, *, everybodys: bool) -> None:
        self._desk = desk
        self._cell = cell
        self._everybodys = everybodys
        self._records: list[JobRecord] = []
        self._rows: dict[int, Row] = {}
        self._log: tuple[int, LogTail] | None = None
        # Clicks come in the kernel's thread, news in the relay's.
        self._lock = threading.RLock()
        self._shared = Shared()
        self._head = self._shared.html(_grid(table.HEADS, weight="600"))
        self._body = ipywidgets.VBox([], layout=self._shared.box)
        self._more, self._said, self._logged = (self._shared.html() for _ in range(3))
        inside = [self._head, self._body, self._more, self._said, self._logged]
        self._box = ipywidgets.VBox(inside, layout=self._shared.box, _view_count=0)
        self._box.observe(self._seen, "_view_count")
        self._live = TableLive(desk.relay, self._show, self._away)

    @property
    def display_id(self) -> str:
        """By which plain HTML takes its place when it ends."""
        return f"jupysched-table-{self._box.model_id}"

    def display(self, records: list[JobRecord]) -> None:
        """Put it under the cell, with these jobs for the time until it is seen."""
        self._show(records)
        content = self._plain()
        content["data"][VIEW] = {"version_major": 2, "version_minor": 0, "model_id": self._box.model_id}
        self._cell.send("display_data", content)

    def close(self) -> None:
        """Leave plain HTML in its place, and end."""
        self._live.end()
        with self._lock:
            self.freeze()
            for row in self._rows.values():
                row.close()
            self._rows.clear()
            for widget in (*self._box.children, self._box, *self._shared.all):
                widget.close()

    def freeze(self) -> None:
        """Leave plain HTML in its place: what is saved must not point at widgets of a kernel that has gone."""
        self._cell.send("update_display_data", self._plain())

    def _plain(self) -> dict[str, Any]:
        chosen = self._chosen(self._records)
        content = table.content(chosen[:MOST_ROWS], total=len(chosen))
        content["transient"] = {"display_id": self.display_id}
        return content

    def _chosen(self, records: list[JobRecord]) -> list[JobRecord]:
        return [record for record in records if record.mine or self._everybodys]

    def _seen(self, change: dict[str, Any]) -> None:
        """The front end shows it, or shows it no longer."""
        if change["new"]:
            self._live.begin()
        else:
            self._live.end()

    # --- in whichever thread brings news -----------------------------------------------------------------------------

    def _show(self, records: list[JobRecord]) -> None:
        with self._lock:
            self._records = records
            chosen = self._chosen(records)
            shown = chosen[:MOST_ROWS]
            for record in shown:
                if record.id not in self._rows:
                    self._rows[record.id] = Row(self._press, self._shared, self._lock)
                self._rows[record.id].show(record)
            order = tuple(self._rows[record.id].box for record in shown)
            if order != self._body.children:
                self._body.children = order
            for number in self._rows.keys() - {record.id for record in shown}:
                self._rows.pop(number).close()
            self._more.value = _below(shown=len(shown), total=len(chosen))
            self._show_log()
        self._live.shows(shown)

    def _show_log(self) -> None:
        if self._log is None:
            self._logged.value = ""
            return
        number, tail = self._log
        self._logged.value = f'<b>Log of job {number}</b><pre style="{_LOG}">{escape(tail.read())}</pre>'

    def _away(self, sentence: str) -> None:
        with self._lock:
            self._say(sentence)

    def _say(self, sentence: str) -> None:
        self._said.value = f'<span role="status">{look.text(sentence)}</span>' if sentence else ""

    # --- in the kernel's thread --------------------------------------------------------------------------------------

    def _press(self, record: JobRecord, verb: str) -> None:
        """A button was pressed; what the daemon refuses is said in its words."""
        try:
            said = self._log_of(record) if verb == "logs" else self._act(record, verb)
        except JupyschedError as error:
            said = str(error)
        with self._lock:
            self._say(said)
        self._live.nudge()

    def _log_of(self, record: JobRecord) -> str:
        """Shown, and with a second press no longer."""
        with self._lock:
            is_open = self._log is not None and self._log[0] == record.id
            self._log = None if is_open else (record.id, LogTail(record.directory, record.attempt))
            self._show_log()
        return ""

    def _act(self, record: JobRecord, verb: str) -> str:
        number = record.id
        match verb:
            case "up" | "down":
                chosen = moved(record.priority, verb) or record.priority
                self._desk.call(lambda client: client.set_priority(chosen, number))
                return f"Job {number} has priority {chosen}."
            case "requeue":
                self._desk.call(lambda client: client.requeue(number))
                self._desk.follow_again(number)
                return f"Job {number} is queued again."
            case "cancel":
                self._desk.cancel(number)
                return f"Job {number} is being cancelled."
            case "hold":
                self._desk.call(lambda client: client.hold(number))
                return f"Job {number} is held."
            case _:
                self._desk.call(lambda client: client.release(number))
                return f"Job {number} waits again."


class Shared:
    """Looks that all widgets of a table share: each would else have models of its own."""

    def __init__(self) -> None:
        self.box = ipywidgets.Layout()
        self.line = ipywidgets.Layout(flex="1 1 auto", min_width="0")
        self.button = ipywidgets.Layout(
            width="auto", height="24px", margin="0 2px 0 0", padding="0 6px", flex="0 0 auto"
        )
        self.button_style = ipywidgets.ButtonStyle()
        self.text_style = ipywidgets.widgets.widget_string.HTMLStyle()
        self.all = (self.box, self.line, self.button, self.button_style, self.text_style)

    def html(self, value: str = "") -> Any:
        """A place for text."""
        return ipywidgets.HTML(value, layout=self.line, style=self.text_style)


class Row:
    """One job: a line of text and its buttons, made anew only where they change."""

    def __init__(self, press: Callable[[JobRecord, str], None], shared: Shared, lock: threading.RLock) -> None:
        self._press = press
        self._shared = shared
        self._lock = lock
        self._line = shared.html()
        self._record: JobRecord | None = None
        self._offers: tuple[Offer, ...] = ()
        self._buttons: tuple[Any, ...] = ()
        #: the button that has asked, and until when its second press counts
        self._asked: tuple[Any, float] | None = None
        self.box = ipywidgets.HBox([self._line], layout=shared.box)

    def show(self, record: JobRecord) -> None:
        """The job as it is now."""
        self._record = record
        self._line.value = _grid(table.rows([record])[0], title=record.name)
        self._forget_question(late_only=True)
        offers = offered(record)
        if offers == self._offers:
            return
        old, self._offers, self._asked = self._buttons, offers, None
        self._buttons = tuple(self._button(record.id, offer) for offer in offers)
        self.box.children = (self._line, *self._buttons)
        for button in old:
            button.close()

    def close(self) -> None:
        """Take all of it away."""
        for widget in (*self._buttons, self._line, self.box):
            widget.close()

    def _button(self, number: int, offer: Offer) -> Any:
        shared, tooltip = self._shared, f"{offer.label}: job {number}"
        button = ipywidgets.Button(
            description=offer.label, tooltip=tooltip, layout=shared.button, style=shared.button_style
        )
        button.on_click(lambda pressed: self._pressed(pressed, offer))
        return button

    def _pressed(self, button: Any, offer: Offer) -> None:
        with self._lock:
            record = self._record
            if record is None or button not in self._buttons:
                return
            has_asked = self._asked is not None and self._asked[0] is button and time.monotonic() < self._asked[1]
            self._forget_question()
            if offer.asks and not has_asked:
                # It stops what runs: asked once.
                button.description, button.button_style = f"{offer.label}? Press again", "danger"
                self._asked = (button, time.monotonic() + ASK_S)
                return
        self._press(record, offer.verb)

    def _forget_question(self, *, late_only: bool = False) -> None:
        if self._asked is None or (late_only and time.monotonic() < self._asked[1]):
            return
        button, self._asked = self._asked[0], None
        offer = self._offers[self._buttons.index(button)]
        button.description, button.button_style = offer.label, ""


def _grid(words: Sequence[str], *, title: str = "", weight: str = "400") -> str:
    """Words in the columns of the table; what has no room is in the title, a name whole."""
    titles = [title if title and place == 1 else word for place, word in enumerate(words)]
    cells = "".join(
        f'<span style="overflow:hidden;text-overflow:ellipsis;white-space:nowrap" title="{escape(phrases.tidy(full)[:400])}">'
        f"{look.text(word)}</span>"
        for word, full in zip(words, titles, strict=True)
    )
    return f'<div style="{_GRID};font-weight:{weight}">{cells}</div>'


def _below(*, shown: int, total: int) -> str:
    if not total:
        return look.text(table.NOTHING)
    return look.text(f"{total - shown} more") if total > shown else ""


_tables: list[JobTable] = []


@atexit.register
def _leave_plain() -> None:
    """The kernel ends: its widgets go, its tables stay as they were seen last."""
    for left in _tables:
        left.freeze()


def display(desk: Desk, cell: KernelCell, records: list[JobRecord], *, everybodys: bool) -> None:
    """Show these jobs under the cell as a table that lives, and let an old one go."""
    made = JobTable(desk, cell, everybodys=everybodys)
    made.display(records)
    _tables.append(made)
    while len(_tables) > MOST_TABLES:
        _tables.pop(0).close()
