"""What one kernel holds: the way to the daemon, the relay, the landings and its jobs. Knows how they are put together.

One a process, made by the first who asks. A process that forks gets none of its parent's: the child makes its own.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from jupysched import places, spool
from jupysched.client import Client
from jupysched.core.errors import DaemonMissing, NoSuchJob
from jupysched.magic import card, shown
from jupysched.magic.cell import KernelCell, PlainCell, current
from jupysched.magic.job import Job
from jupysched.magic.landing import Landings
from jupysched.magic.outlet import Outlet
from jupysched.magic.relay import Relay
from jupysched.magic.results import Results
from jupysched.magic.tracked import Facts, Tracked, has_ended
from jupysched.namespace.objects import ObjectStore
from jupysched.wire.records import JobRecord

T = TypeVar("T")
AnyCell = KernelCell | PlainCell
#: jobs of the user that `jobs()` and `last` look at
MOST_JOBS = 1000
#: newest jobs of a kernel whose results are held; those of older ones are read again when asked for
KEPT_RESULTS = 8


class Desk:
    """Everything that the magics of one kernel share."""

    def __init__(self, shell: Any = None, *, namespace: dict[str, Any] | None = None) -> None:
        """Without a shell, `namespace` (or else the program's own `__main__`) stands for the notebook's variables."""
        self.shell = shell
        self._namespace = namespace
        self.pid = os.getpid()
        self.relay = Relay()
        self.landings = Landings(self.user_ns, self.objects, self._show, self._keep_shown)
        self.jobs: dict[int, Job] = {}
        self._cells: dict[int, AnyCell] = {}
        self._socket = places.socket_path()
        self._client = Client(socket=self._socket)
        self._client_lock = threading.RLock()
        self._stores: dict[str, ObjectStore] = {}

    # --- what it holds -----------------------------------------------------------------------------------------------

    def user_ns(self) -> dict[str, Any]:
        """The notebook's variables."""
        if self.shell is not None:
            return self.shell.user_ns  # type: ignore[no-any-return]
        if self._namespace is not None:
            return self._namespace
        import __main__

        return vars(__main__)

    def objects(self) -> ObjectStore:
        """The user's object store; kept, because it remembers what it has written."""
        folder = places.objects()
        return self._stores.setdefault(str(folder), ObjectStore(folder, is_notebooks=True))

    def call(self, ask: Callable[[Client], T]) -> T:
        """Ask the daemon. An interrupt in the middle of an answer leaves no half-read connection behind."""
        with self._client_lock:
            if self._socket != places.socket_path():  # JUPYSCHED_HOME was set in the notebook
                self._client.close()
                self._socket = places.socket_path()
                self._client = Client(socket=self._socket)
            try:
                return ask(self._client)
            except KeyboardInterrupt:
                self._client.close()
                raise

    def close(self) -> None:
        """Let go of everything; jobs go on."""
        self.relay.close()
        self._client.close()

    # --- its jobs ----------------------------------------------------------------------------------------------------

    def job(self, word: str) -> Job:
        """A job by its number, or the last one. Raises NoSuchJob."""
        if word == "last":
            return self.last()
        known = self.jobs.get(int(word))
        return known if known is not None else Job(self.newest(int(word)), desk=self)

    def last(self) -> Job:
        """The newest job of this kernel, else of this user. Raises NoSuchJob."""
        if self.jobs:
            return self.jobs[max(self.jobs)]
        mine = self.all_jobs()
        if not mine:
            raise NoSuchJob("You have no jobs yet.", hint="Begin a cell with %%gpujob.")
        return mine[-1]

    def all_jobs(self) -> list[Job]:
        """The user's jobs that the daemon knows, oldest first."""
        page = self.call(lambda client: client.jobs(limit=MOST_JOBS))
        mine = sorted((record for record in page.jobs if record.mine), key=lambda record: record.id)
        return [self.jobs.get(record.id) or Job(record, desk=self) for record in mine]

    def in_flight(self) -> list[Any]:
        """What was sent of the jobs of this kernel that have not ended."""
        jobs = (job for job in self.jobs.values() if job.sent is not None and not has_ended(job.record))
        return [job.sent for job in jobs]

    def newest(self, job: int) -> JobRecord:
        """The daemon's word."""
        return self.call(lambda client: client.job(job))

    def cancel(self, job: int) -> JobRecord | None:
        """Through the daemon, which says what becomes of it; where there is none, the shim is asked itself."""
        try:
            return self.call(lambda client: client.cancel(job))[0]
        except DaemonMissing:
            held = self.jobs.get(job)
            if held is None or held.tracked is None or not _stop(held.tracked):
                raise
            return None

    # --- showing -----------------------------------------------------------------------------------------------------

    def accompany(self, job: Job) -> None:
        """Let what it prints appear under the cell that runs now, which waits for it and raises what it raised."""
        if threading.current_thread() is threading.main_thread():
            self.follow(job, cell=current(self.shell), raises=True, attempts_seen=job.attempts_shown)

    def present(self, job: Job, *, with_outputs: bool) -> bool:
        """Show its card under the cell that runs now, and keep it up to date; False where no card can be shown."""
        cell = current(self.shell)
        if not (with_outputs or isinstance(cell, KernelCell)):
            return False
        self._cells.setdefault(job.id, cell)
        cell.send("display_data", card.content(job.record, job.facts))
        if with_outputs or not has_ended(job.record):
            self.follow(job, cell=cell if with_outputs else None)
        if with_outputs and has_ended(job.record) and job.tracked is not None:
            job.tracked.ended.wait()
        return True

    def land(self, job: Job) -> None:
        """See Landings.land."""
        self.landings.land(job)

    def values_of(self, job: Job) -> Results:
        """See Landings.values_of."""
        return self.landings.values_of(job)

    # --- following ---------------------------------------------------------------------------------------------------

    def follow_again(self, job: int) -> None:
        """A job of this kernel was queued again: what comes goes to the cell where it was, results into the notebook."""
        held, cell = self.jobs.get(job), self._cells.get(job)
        if held is None or held.tracked is None or not held.tracked.ended.is_set():
            return
        seen = held.tracked.attempts_seen
        held.refresh()
        held.adopts = held.sent is None
        held.has_place, held.attempts_shown = cell is not None, seen  # without one: the first cell that waits for it
        held.facts.returned, held.facts.has_landed = None, False
        self.follow(held, cell=cell, attempts_seen=seen)

    def add(self, job: Job, cell: AnyCell) -> None:
        """Keep a job of this kernel, and the cell in which its card stands."""
        self.keep(job)
        self._cells[job.id] = cell

    def keep(self, job: Job) -> None:
        """Keep a job of this kernel.

        What the older ones brought is in the notebook; holding it here as well would keep memory that the notebook lets go."""
        for number in sorted(self.jobs)[:-KEPT_RESULTS]:
            self.jobs[number].values = None
        self.jobs[job.id] = job

    def follow(
        self,
        job: Job,
        *,
        cell: AnyCell | None = None,
        waits: bool = False,
        raises: bool = False,
        ask: Callable[[dict[str, Any], str], None] | None = None,
        attempts_seen: int = 0,
        is_fresh: bool = False,
    ) -> None:
        """Let the relay bring states, and outputs if there is a cell for them.

        A cell that `waits` lands what comes back itself; one that `raises` shows the job's error as its own."""
        if cell is None and job.tracked is not None and not job.tracked.ended.is_set():
            return
        outlet = None
        if cell is not None:
            job.has_place = True
            outlet = Outlet(
                cell.send,
                job=job.id,
                execution_count=cell.execution_count,
                hold_error=waits or raises,
                head=lambda: self._card(job) if self._has_card(job) else None,
            )

        def end() -> None:
            self._note_end(job)
            if not waits:  # else the waiting cell lands them and shows the last card
                self._show(job)
                self.landings.add(job)
                self._wake_kernel()

        job.tracked = Tracked(
            record=job.record if not is_fresh else job.record_at_submission,
            directory=job.directory,
            outlet=outlet,
            card=lambda: self._show(job),
            # Who reads from the beginning once more must not count the losses again.
            facts=job.facts if job.tracked is None or (attempts_seen and job.tracked.ended.is_set()) else Facts(),
            ask=ask or _nobody_answers,
            end=end,
            told=job.has_ended,
            attempts_seen=attempts_seen,
        )
        self.relay.track(job.tracked)

    def _wake_kernel(self) -> None:
        """The kernel's own loop lands results while no cell runs."""
        kernel = getattr(self.shell, "kernel", None)
        loop = getattr(kernel, "io_loop", None)
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.add_callback(self.landings.between_cells)

    def _note_end(self, job: Job) -> None:
        end = job.end or {}
        if not job.facts.has_landed:
            job.facts.returned = job.told_names([str(name) for name in end.get("returned") or []], {})
        for note in [*(end.get("notes") or []), *job.losses]:
            job.facts.note(job.in_its_words(str(note)))

    def _show(self, job: Job) -> None:
        """Send the card of a job that has one in this notebook."""
        if self._has_card(job):
            self._cells[job.id].send("update_display_data", self._card(job))

    def _keep_shown(self, job: Job, value: Any) -> None:
        """The value that the cell of a job showed is `Out[n]` of that cell."""
        cell = self._cells.get(job.id)
        if self.shell is not None and cell is not None and cell.is_remembered:
            shown.keep(self.shell, cell.execution_count, value)

    def _has_card(self, job: Job) -> bool:
        return isinstance(self._cells.get(job.id), KernelCell)

    def _card(self, job: Job) -> dict[str, Any]:
        return card.content(job.tracked.record if job.tracked is not None else job.record, job.facts)


def _nobody_answers(request: dict[str, Any], path: str) -> None:
    """A detached job was told at its start that nobody can be asked."""


def _stop(tracked: Tracked) -> bool:
    """Ask the shim of the newest attempt to stop it."""
    path = spool.attempt_path(tracked.directory, tracked.record.attempt)
    try:
        with spool.connect_control(path) as connection:
            connection.sendall(b'{"op":"stop"}\n')
    except OSError:
        return False
    return True


_desk: Desk | None = None


def desk() -> Desk:
    """This process's desk."""
    global _desk  # noqa: PLW0603  one a process is what it is
    if _desk is None or _desk.pid != os.getpid():
        _desk = Desk(_shell())
    elif _desk.shell is None:
        _desk.shell = _shell()
    return _desk


def _shell() -> Any:
    from IPython import get_ipython

    return get_ipython()
