"""Bringing results into the notebook, between cells or when a cell waits for them. Knows the user's variables.

Runs in the kernel's own thread only. IPython's events say when a cell begins and ends; while none runs, the kernel's loop does it
as soon as a job has ended.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupysched import spool
from jupysched.magic.job import Job
from jupysched.magic.results import Results
from jupysched.namespace.errors import NamespaceError
from jupysched.namespace.land import land, load_values
from jupysched.namespace.objects import ObjectStore
from jupysched.phrases import listed

#: results of a cell that have more than this in large buffers are held by the notebook's variables alone
HELD_BYTES = 16 << 20

Show = Callable[[Job], None]
#: takes the value that a job's cell showed as its result
Keep = Callable[[Job, Any], None]


class Landings:
    """The jobs of one kernel whose results have not come in yet."""

    def __init__(
        self, user_ns: Callable[[], dict[str, Any]], objects: Callable[[], ObjectStore], show: Show, keep: Keep
    ) -> None:
        self._user_ns = user_ns
        self._objects = objects
        self._show = show
        self._keep = keep
        self._due: list[Job] = []
        self._lock = threading.RLock()
        self._cells: list[Any] = []

    # --- when --------------------------------------------------------------------------------------------------------

    def before_cell(self, info: Any = None) -> None:
        """IPython's pre_run_cell. A cell that another cell runs is the middle of that one."""
        if not self._cells:
            self.land_due()
        self._cells.append(info)

    def after_cell(self, result: Any = None) -> None:
        """IPython's post_run_cell."""
        info = getattr(result, "info", None)
        if info in self._cells:
            del self._cells[self._cells.index(info) :]
        if not self._cells:
            self.land_due()

    def between_cells(self) -> None:
        """Called by the kernel's loop when a job has ended."""
        if not self._cells:
            self.land_due()

    def add(self, job: Job) -> None:
        """Its results may come in. From any thread."""
        with self._lock:
            if job not in self._due:
                self._due.append(job)

    def land_due(self) -> None:
        """Bring in what has come."""
        with self._lock:
            due, self._due = self._due, []
        for job in due:
            self.land(job)

    # --- what --------------------------------------------------------------------------------------------------------

    def land(self, job: Job) -> None:
        """Bring this job's results in, once an attempt; the card says what came and what did not."""
        record = job.record
        with self._lock:
            if job in self._due:
                self._due.remove(job)
            if job.landed_attempt == record.attempt:
                return
            job.landed_attempt = record.attempt
        path = Path(spool.attempt_path(record.directory, record.attempt)) / spool.RESULT
        for note in (job.end or {}).get("notes") or []:
            job.facts.note(job.in_its_words(str(note)))
        if path.exists():
            self._bring(job, path)
        elif job.facts.returned is None:
            job.facts.returned = []
        with contextlib.suppress(Exception):  # a card that cannot be drawn costs no result
            self._show(job)

    def values_of(self, job: Job) -> Results:
        """What a job brought back, read from its files; its own copies, nothing is put into the notebook."""
        record = job.record
        path = Path(spool.attempt_path(record.directory, record.attempt)) / spool.RESULT
        try:
            return Results(load_values(path, self._objects(), self._user_ns()))
        except FileNotFoundError:
            return Results()

    def _bring(self, job: Job, path: Path) -> None:
        facts = job.facts
        try:
            if job.sent is None:
                shown: list[Any] = []
                job.values = Results(load_values(path, self._objects(), self._user_ns(), shown=shown))
                if job.adopts:
                    self._adopt(job)
                    self._keep_shown(job, shown)
                return
            store = self._objects()
            mapped_before = store.mapped_bytes
            landing = land(path, self._user_ns(), job.sent, store)
        except (NamespaceError, OSError, MemoryError) as error:
            facts.note(f"The results could not be brought in: {error}")
            return
        # It holds on to everything that travelled.
        job.sent = None
        # Read again when asked for: what the notebook changed in place as well, and what `del` in the notebook is to free.
        is_large = job.single is None and store.mapped_bytes - mapped_before > HELD_BYTES
        job.values = None if landing.apart or is_large else Results(landing.values)
        if job.single is not None:
            # What a function returned is the job's to give; the notebook has no variable for it.
            self._user_ns().pop(job.single, None)
        facts.returned = job.told_names([*landing.landed, *landing.deleted], landing.values)
        facts.has_landed = True
        self._keep_shown(job, landing.shown)
        facts.conflicts = list(landing.conflicts)
        if facts.conflicts:
            facts.conflicts.append(f"`%gpujob fetch {job.id}` brings what the job had.")
        for sentence in (*facts.conflicts, *landing.failures):
            facts.note(job.in_its_words(sentence))

    def _keep_shown(self, job: Job, shown: list[Any]) -> None:
        for value in shown:
            self._keep(job, value)

    def _adopt(self, job: Job) -> None:
        """This notebook did not submit it and asks for what came back: that replaces what is there, and the card says so."""
        user_ns = self._user_ns()
        # What a function returned is the job's to give, here too.
        values = {name: value for name, value in (job.values or {}).items() if name != job.single}
        replaced = job.told_names(
            [name for name in values if name in user_ns and user_ns[name] is not values[name]], values
        )
        user_ns.update(values)
        job.facts.returned, job.facts.has_landed = job.told_names(list(values), values), True
        job.facts.notes = [note for note in job.facts.notes if note not in job.facts.conflicts]
        if replaced:
            job.facts.note(
                f"{listed(replaced)} replaced what this notebook had under {'this name' if len(replaced) == 1 else 'these names'}."
            )

    def fetch(self, job: Job) -> list[str]:
        """Bring the results of an ended job into this notebook, also once more; return the names."""
        if job.landed_attempt == job.record.attempt and job.values is not None:
            self._adopt(job)
        else:
            job.adopts, job.landed_attempt = job.sent is None, -1
            self.land(job)
        return list(job.facts.returned or [])
