"""%gpujobs as a table of widgets: a row for each job, with buttons for what may be done with it. Knows ipywidgets, and asks the daemon
through the desk.

The front end is not asked whether it can draw widgets, for it cannot be: it chooses from the bundle, which has HTML and text too. It
does say when it shows the table and when no longer (`_view_count`); the table is kept up to date between the two, and costs nothing
else. Texts of people are escaped where the HTML is made (`look`); buttons hold none of them.
"""

from __future__ import annotations

import atexit
import threading
from html import escape
from typing import Any

import ipywidgets

from jupysched.core.errors import JupyschedError
from jupysched.magic import look, table
from jupysched.magic.cell import KernelCell
from jupysched.magic.desk import Desk
from jupysched.magic.logtail import LogTail
from jupysched.magic.offers import moved
from jupysched.magic.table_live import TableLive
from jupysched.magic.table_row import Row, Shared, grid
from jupysched.wire import requests as ask
from jupysched.wire.records import JobRecord

VIEW = "application/vnd.jupyter.widget-view+json"
#: rows that can be acted upon; the fall-back shows as many
MOST_ROWS = 30
#: tables of one kernel that live; an older one becomes plain HTML
MOST_TABLES = 3
_LOG = (
    "max-height:20em;overflow:auto;margin:4px 0;padding:6px;font:12px/1.4 var(--jp-code-font-family,monospace);white-space:pre-wrap;"
    "border:1px solid var(--jp-border-color2,#c8ccd1)"
)


class JobTable:
    """One table under one cell."""

    def __init__(self, desk: Desk, cell: KernelCell, *, users: list[str] | None) -> None:
        """A table of the jobs of these users; None: of everybody."""
        self._desk = desk
        self._cell = cell
        self._records: list[JobRecord] = []
        self._total = 0
        self._rows: dict[int, Row] = {}
        self._log: tuple[int, LogTail] | None = None
        # Clicks come in the kernel's thread, news in the relay's.
        self._lock = threading.RLock()
        self._shared = Shared()
        self._head = self._shared.html(grid(table.HEADS, weight="600"))
        self._body = ipywidgets.VBox([], layout=self._shared.box)
        self._more, self._said, self._logged = (self._shared.html() for _ in range(3))
        inside = [self._head, self._body, self._more, self._said, self._logged]
        self._box = ipywidgets.VBox(inside, layout=self._shared.box, _view_count=0)
        self._box.observe(self._seen, "_view_count")
        wanted = ask.Jobs(users=users, limit=MOST_ROWS)
        self._live = TableLive(desk.relay, self._show, self._away, wanted=wanted)

    @property
    def display_id(self) -> str:
        """By which plain HTML takes its place when it ends."""
        return f"jupysched-table-{self._box.model_id}"

    def display(self, records: list[JobRecord]) -> None:
        """Put it under the cell, with these jobs for the time until it is seen."""
        self._show(records[:MOST_ROWS], len(records))
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
        content = table.content(self._records, total=self._total)
        content["transient"] = {"display_id": self.display_id}
        return content

    def _seen(self, change: dict[str, Any]) -> None:
        """The front end shows it, or shows it no longer."""
        if change["new"]:
            self._live.begin()
        else:
            self._live.end()

    # --- in whichever thread brings news -----------------------------------------------------------------------------

    def _show(self, records: list[JobRecord], total: int) -> None:
        with self._lock:
            self._records, self._total = records, total
            for record in records:
                if record.id not in self._rows:
                    self._rows[record.id] = Row(self._press, self._shared, self._lock)
                self._rows[record.id].show(record)
            order = tuple(self._rows[record.id].box for record in records)
            if order != self._body.children:
                self._body.children = order
            for number in self._rows.keys() - {record.id for record in records}:
                self._rows.pop(number).close()
            self._more.value = _below(shown=len(records), total=total)
            self._show_log()

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
            case "front":
                self._desk.call(lambda client: client.front(number))
                return f"Job {number} is moved to the front."
            case "hold":
                self._desk.call(lambda client: client.hold(number))
                return f"Job {number} is held."
            case _:
                self._desk.call(lambda client: client.release(number))
                return f"Job {number} waits again."


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
    chosen = [record for record in records if record.mine or everybodys]
    made = JobTable(desk, cell, users=None if everybodys else sorted({record.user for record in chosen}))
    made.display(chosen)
    _tables.append(made)
    while len(_tables) > MOST_TABLES:
        _tables.pop(0).close()
