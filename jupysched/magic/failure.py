"""From how a job ended to what the waiting cell raises: the job's own error, or a sentence. Knows end records; runs nothing."""

from __future__ import annotations

import builtins
from typing import Any, ClassVar

from jupysched import phrases
from jupysched.core.errors import ClusterError, JupyschedError, UserError
from jupysched.core.states import REASONS, JobState, Reason
from jupysched.magic.frames import leave_to_user, without_call
from jupysched.wire.records import JobRecord

#: IPython treats these in ways of its own, which would show our frames or end the kernel
_NOT_DERIVED = {
    "SystemExit",
    "SyntaxError",
    "IndentationError",
    "TabError",
    "GeneratorExit",
    "StopIteration",
    "StopAsyncIteration",
    "BaseExceptionGroup",
    "ExceptionGroup",
}


class JobFailed(UserError):
    """The job's process ended without an error of Python's."""

    code: ClassVar[str] = "job_failed"
    #: what the cell itself had to say, if anything
    told: tuple[str, ...] = ()

    def _render_traceback_(self) -> list[str]:
        leave_to_user(self)  # now: with %pdb on, a debugger comes next
        return [*self.told, *super()._render_traceback_()]


class JobCancelled(JobFailed):
    """The job was cancelled."""

    code: ClassVar[str] = "job_cancelled"


class NotReturned(UserError):
    """What the function returned cannot travel back."""

    code: ClassVar[str] = "not_returned"
    hint = "Return what can travel: a list instead of a generator, a path instead of an open file."


class NotYetEnded(UserError, TimeoutError):
    """The job goes on; only the waiting has ended."""

    code: ClassVar[str] = "not_yet_ended"


class JobLost(ClusterError):
    """The job's fate is not known; it is not run again on a guess."""

    code: ClassVar[str] = "job_lost"


class _FromJob:
    """What an error that happened in a job shows: the job's traceback, none of ours."""

    _evalue: str
    _lines: list[str]

    def __str__(self) -> str:
        return self._evalue

    def _render_traceback_(self) -> list[str]:
        if isinstance(self, BaseException):
            leave_to_user(self)
        return self._lines


def after_cell(result: Any = None) -> None:
    """IPython's post_run_cell: no debugger is to land in our code."""
    errors: list[Any] = [getattr(result, "error_before_exec", None), getattr(result, "error_in_exec", None)]
    for error in errors:
        if _is_ours(error):
            leave_to_user(error)


def _is_ours(error: Any) -> bool:
    return isinstance(error, (JupyschedError, _FromJob))


def from_job(ename: str, evalue: str, traceback: list[str]) -> BaseException:
    """An exception whose class has the name, and where it can the type, of the one that the job raised."""
    known = getattr(builtins, ename, None)
    base: type[BaseException] = Exception
    if isinstance(known, type) and issubclass(known, BaseException) and ename not in _NOT_DERIVED:
        base = known
    kind = type(ename, (_FromJob, base), {"__module__": "builtins" if base is not Exception else "jupysched"})
    error: Any = kind.__new__(kind, evalue)
    error._evalue = evalue
    error._lines = traceback or [f"\x1b[31m{ename}\x1b[39m: {evalue}"]
    return error  # type: ignore[no-any-return]


def only_the_waiting(record: JobRecord) -> BaseException:
    """What is raised where the reader pressed stop while a program waited for a job."""
    said = f"job {record.id} ({record.name}) goes on; its cancel() ends it."
    return from_job("KeyboardInterrupt", said, [f"\x1b[31mKeyboardInterrupt\x1b[39m: {said}"])


def interrupted(end: dict[str, Any] | None) -> BaseException:
    """What a cell raises whose reader pressed stop."""
    if end is not None and end.get("ename") == "KeyboardInterrupt":
        return from_job("KeyboardInterrupt", str(end.get("evalue", "")), list(end.get("traceback") or []))
    return from_job("KeyboardInterrupt", "", ["\x1b[31mKeyboardInterrupt\x1b[39m: the job was cancelled."])


def of_job(record: JobRecord, end: dict[str, Any] | None) -> BaseException | None:
    """What the job's end means to who waits for it; None if it succeeded."""
    if record.state == JobState.SUCCEEDED:
        return None
    told = without_call((end or {}).get("traceback") or [])
    own = record.reason in (None, Reason.EXCEPTION, Reason.EXIT_CODE, Reason.OUT_OF_MEMORY)
    if record.state == JobState.FAILED and own and end is not None and end.get("ename"):
        return from_job(str(end["ename"]), str(end.get("evalue", "")), told)
    if record.reason == Reason.LEASE_EXPIRED:
        return JobLost(sentence(record))
    kind = JobCancelled if record.state == JobState.CANCELLED else JobFailed
    error = kind(sentence(record), hint=_hint(record))
    error.told = tuple(told)
    return error


def lost(
    record: JobRecord, end: dict[str, Any] | None, exit_: dict[str, Any] | None, *, is_function: bool
) -> list[str]:
    """What is to be said of a job whose process ended before it could bring anything back."""
    if record.started_at is None or record.state == JobState.SUCCEEDED or end is not None:
        return []
    what = "there is no result" if is_function else "what the cell had changed is lost"
    said = [f"Its process ended before it could bring anything back: {what}."]
    if swept := int((exit_ or {}).get("swept") or 0):
        were = "was" if swept == 1 else "were"
        said.append(f"{phrases.plural(swept, 'process')} that it had started {were} ended with it.")
    return said


def in_words(reason: str) -> str:
    """The sentence of a reason; of one that only a newer daemon knows, its code."""
    return REASONS[Reason(reason)] if reason in REASONS else reason.replace("_", " ")


def sentence(record: JobRecord) -> str:
    """Job 12 (resnet) failed: ..."""
    why = record.why or (record.exit.sentence if record.exit is not None else "")
    if not why and record.reason:
        why = in_words(record.reason)
    head = f"Job {record.id} ({record.name}) {'was cancelled' if record.state == JobState.CANCELLED else 'failed'}"
    return f"{head}: {why.rstrip('.')}." if why else f"{head}."


def _hint(record: JobRecord) -> str:
    return {
        Reason.TIME_LIMIT.value: "Give it more --time, or save checkpoints.",
        Reason.OUT_OF_MEMORY.value: "Try a smaller batch, or ask for more memory.",
    }.get(record.reason or "", "")
