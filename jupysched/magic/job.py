"""A job as users hold it: its state, its outputs, its results, and waiting for them. Knows one job; asks `desk` for the rest."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Generator
from types import ModuleType
from typing import Any, Protocol

from jupysched import spool, words
from jupysched.core.errors import JupyschedError, NotYours
from jupysched.magic import card
from jupysched.magic.collected import Output, outputs_of
from jupysched.magic.failure import NotReturned, NotYetEnded, lost, of_job, only_the_waiting
from jupysched.magic.frames import RESULT
from jupysched.magic.results import Results, Said
from jupysched.magic.tracked import Facts, Tracked, has_ended
from jupysched.wire.records import JobRecord


class Desk(Protocol):
    """What a job asks of the kernel it is held in."""

    def newest(self, job: int) -> JobRecord:
        """Raises NoSuchJob, DaemonMissing."""
        ...

    def cancel(self, job: int) -> JobRecord | None:
        """Let it be stopped; what becomes of it, if that can be said."""
        ...

    def follow(self, job: Job) -> None:
        """Let the relay tell when it ends."""
        ...

    def accompany(self, job: Job) -> None:
        """Let what it prints appear under the cell that runs now, if it has no place yet."""
        ...

    def present(self, job: Job, *, with_outputs: bool) -> bool:
        """Show its card under the cell that runs now, and keep it up to date; False where no card can be shown."""
        ...

    def land(self, job: Job) -> None:
        """Bring its results in, once. In the kernel's own thread."""
        ...

    def values_of(self, job: Job) -> Results:
        """What it brought back, read once more."""
        ...


def _wake(loop: asyncio.AbstractEventLoop, over: asyncio.Event) -> None:
    loop.call_soon_threadsafe(over.set)


class Job:
    """A queued, running or ended job.

    `job.state`, `job.reason`, `job.why`, `job.outputs`, `job.show()`; `job.wait()`, `job.result()`, `await job`, `job.cancel()`."""

    def __init__(self, record: JobRecord, *, desk: Desk, sent: Any = None, single: str | None = None) -> None:
        self._desk = desk
        self._last = record
        self._single = single
        self._is_single_known = sent is not None
        #: what it prints appears under some cell, or is to be asked for; else under the first cell that waits for it
        self.has_place = True
        #: attempts whose outputs some cell has had
        self.attempts_shown = 0
        #: what the notebook remembers of the submission; None in a kernel that did not submit it
        self.sent = sent
        self.tracked: Tracked | None = None
        self.facts = Facts()
        #: what came back; None until it was brought in
        self.values: Results | None = None
        self.landed_attempt = -1
        #: put what comes back into this notebook, though it was not sent from here
        self.adopts = False
        self.ending: list[Callable[[], None]] = []
        self._ending_lock = threading.Lock()

    @property
    def id(self) -> int:
        """Its number, by which every command knows it."""
        return self._last.id

    @property
    def name(self) -> str:
        """What it is called."""
        return self._last.name

    @property
    def record(self) -> JobRecord:
        """Its newest record that is known here; asked for only if nobody follows it and it may have changed."""
        if self.tracked is not None:
            self._last = self.tracked.record
        elif not has_ended(self._last):
            self.refresh()
        return self._last

    @property
    def record_at_submission(self) -> JobRecord:
        """What is known without asking."""
        return self._last

    def refresh(self) -> JobRecord:
        """Ask the daemon, also about a job that had ended: it may have been queued again."""
        followed = self.tracked is not None and not self.tracked.ended.is_set()
        if not followed:
            with contextlib.suppress(JupyschedError):
                self._last = self._desk.newest(self.id)
                self.tracked = self.tracked if has_ended(self._last) else None
        return self.record if followed else self._last

    @property
    def state(self) -> str:
        """pending, held, starting, running, stopping, succeeded, failed or cancelled."""
        return self.refresh().state

    @property
    def reason(self) -> str | None:
        """Why it is in that state, as a code; None while it runs undisturbed."""
        return self.refresh().reason

    @property
    def why(self) -> str:
        """Why it is in that state, as a sentence."""
        return self.refresh().why

    @property
    def directory(self) -> str:
        """Where its files lie."""
        return self._last.directory

    @property
    def single(self) -> str | None:
        """The name of what a submitted function returned, which is all that its job brings back; None for a cell's job."""
        if not self._is_single_known:
            launch = spool.read_json(os.path.join(self.directory, spool.LAUNCH)) if self.directory else None
            self._single = RESULT if (launch or {}).get("out_names") == [RESULT] else None
            self._is_single_known = True
        return self._single

    @property
    def outputs(self) -> list[Output]:
        """What its newest attempt has shown until now, as a notebook file holds it. Raises NotYours."""
        record = self._own()
        return outputs_of(record.id, record.directory, record.attempt) if record.attempt else []

    @property
    def end(self) -> dict[str, Any] | None:
        """What the cell itself said at its end; None if it could not say anything."""
        said: dict[str, Any] | None = self._read(spool.END) or (self.exit or {}).get("end")
        return said

    @property
    def exit(self) -> dict[str, Any] | None:
        """What its supervisor saw of its end; None if there is no word of it."""
        return self._read(spool.EXIT)

    @property
    def losses(self) -> list[str]:
        """What is to be said if its process ended before it could bring anything back."""
        return lost(self.record, self.end, self.exit, is_function=self.single is not None)

    def _read(self, name: str) -> dict[str, Any] | None:
        record = self.record
        return spool.read_json(os.path.join(spool.attempt_path(record.directory, record.attempt), name))

    @property
    def error(self) -> BaseException | None:
        """What it means to who waits for it; None while it has not ended, and if it succeeded."""
        record = self.record
        return of_job(record, self.end) if has_ended(record) else None

    def _own(self) -> JobRecord:
        """Its record, if its files may be read. Raises NotYours."""
        record = self.record
        if not record.directory:
            raise NotYours(f"Job {record.id} belongs to {record.user}; what it shows and brings back is theirs.")
        return record

    def show(self) -> None:
        """Its card and its outputs, from the beginning, under the cell that runs now; they go on while the job does. Raises NotYours."""
        self._own()
        self._desk.present(self, with_outputs=True)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; False if it has not after `timeout` seconds. Its results are in the notebook then.

        What a submitted function prints appears under the first cell that waits for it, live."""
        try:
            if not self._has_ended_within(timeout):
                return False
        except KeyboardInterrupt:
            raise only_the_waiting(self._last) from None
        if threading.current_thread() is threading.main_thread():
            self._desk.land(self)
        return True

    @property
    def _is_this_process(self) -> bool:
        return os.path.dirname(os.environ.get("JUPYSCHED_SPOOL", "")) == self.record.directory

    def _has_ended_within(self, timeout: float | None) -> bool:
        if timeout is None and self._is_this_process and not has_ended(self.record):
            raise NotYetEnded(f"Job {self.id} ({self.name}) is this very job: it would wait for itself for ever.")
        if not self.has_place:
            self._desk.accompany(self)
        if not has_ended(self.record):
            self._desk.follow(self)
        # One that is followed has ended when the last of its outputs is out.
        return self.tracked is None or self.tracked.ended.wait(timeout)

    def result(self, timeout: float | None = None) -> Any:
        """What came back, by name, after waiting for it; of a function, what it returned.

        Raises what the job raised; TimeoutError; NotYours."""
        self._own()
        if not self.wait(timeout):
            raise NotYetEnded(f"Job {self.id} ({self.name}) is {self.state} after {timeout:g} s.")
        self._desk.land(self)
        if (error := self.error) is not None:
            raise error
        values = self.values if self.values is not None else self._desk.values_of(self)
        if self.single is None:
            return values
        if self.single not in values:
            raise NotReturned(
                f"Job {self.id} ({self.name}) succeeded. {' '.join(self.facts.notes) or 'Nothing came back.'}"
            )
        return values[self.single]

    def told_names(self, names: list[str], values: dict[str, Any]) -> list[str]:
        """The names that a reader wants to hear of. That `import time` or `_exit_code` came back as well is true and of no interest."""
        hidden = {name for name in names if name.startswith("_") or isinstance(values.get(name), ModuleType)}
        return [name for name in names if name not in hidden and name != self.single]

    def in_its_words(self, sentence: str) -> str:
        """The sentence without the name that a function's result travels under."""
        return sentence if self.single is None else sentence.replace(repr(self.single), "What it returned")

    def cancel(self) -> Said:
        """Take it out of the queue, or stop it: interrupt, then TERM, then KILL. A second call takes the next step at once.

        The sentence says what became of it, also if it had ended already."""
        record = self.refresh()
        if has_ended(record):
            return Said(words.had_ended(record))
        return Said(words.one_line(self._desk.cancel(self.id) or self.record))

    def call_when_ended(self, function: Callable[[], None]) -> None:
        """Call it once, from any thread, when the job has ended; at once if it has."""
        with self._ending_lock:
            if self.tracked is None or not self.tracked.ended.is_set():
                self.ending.append(function)
                return
        function()

    def has_ended(self) -> None:
        """Told by the relay, in its thread."""
        with self._ending_lock:
            waiting, self.ending = self.ending, []
        for function in waiting:
            with contextlib.suppress(RuntimeError):  # a loop that was closed waits for nothing
                function()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._awaited().__await__()

    async def _awaited(self) -> Any:
        if not self.has_place:
            self._desk.accompany(self)
        if not has_ended(self.record) or (self.tracked is not None and not self.tracked.ended.is_set()):
            self._desk.follow(self)
            loop = asyncio.get_running_loop()
            over = asyncio.Event()
            self.call_when_ended(lambda: _wake(loop, over))
            await over.wait()
        return self.result()

    def __repr__(self) -> str:
        return f"<Job {self.id} {self.name!r}: {self.state}>"

    def _ipython_display_(self) -> None:
        """A card that is kept up to date, where there is a notebook; with what it prints, if that has no place yet."""
        if not self._desk.present(self, with_outputs=not self.has_place):
            raise NotImplementedError

    def _repr_mimebundle_(
        self, include: object = None, exclude: object = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        content = card.content(self.record, self.facts)
        return content["data"], content["metadata"]
