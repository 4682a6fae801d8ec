"""`jupysched.submit` and `jupysched.jobs`: the queue for programs. Knows functions and their arguments."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from jupysched.client import Client
from jupysched.core.errors import BadRequest
from jupysched.magic.args import Asked
from jupysched.magic.desk import desk
from jupysched.magic.frames import RESULT
from jupysched.magic.job import Job
from jupysched.magic.options import OPTIONS, Malformed, Option, job_word
from jupysched.magic.submit import NotPicklable
from jupysched.magic.submit import submit as submit_cell
from jupysched.magic.work import check_call, check_text
from jupysched.wire.records import GpuRecord

__all__ = ["RESULT", "Job", "gpus", "job", "jobs", "submit"]

_CALL = "jupysched_call"
#: options of the cell alone, and what does the same here
_WAITS = {
    "wait": "`job.wait()` and `job.result()` wait; so does `await job`.",
    "dry_run": "`%%gpujob --dry-run` over a cell says what would travel.",
}
_FIELDS = {option.field: option for option in OPTIONS if option.field not in ("wait", "dry_run")}


def submit(work: Callable[..., Any] | str, /, *args: Any, kwargs: dict[str, Any] | None = None, **options: Any) -> Job:
    """A queued job that calls `work(*args, **kwargs)`, or runs `work` as a cell if it is text.

    `options` are those of %%gpujob: gpus=2, gpu_mem="24G", time="2h", name="resnet", after=[12], out_names=["model"] ...
    `job.result()` is what the function returned; for a cell, what came back by name. Raises as %%gpujob does."""
    asked = _asked(options)
    if isinstance(work, str):
        check_text(work)
        if args or kwargs:
            raise BadRequest("A cell's text takes no arguments; give a function, or write them into the text.")
        return _keep(submit_cell(desk(), asked, work, cell=None))
    check_call(work, args, kwargs)
    if asked.in_names or asked.out_names is not None:
        raise BadRequest(
            "in_names and out_names are for a cell's text; a function takes arguments and returns a result."
        )
    name = asked.name or getattr(work, "__name__", type(work).__name__)
    lent = {_CALL: (work, args, kwargs or {})}
    called = replace(asked, name=name, out_names=(RESULT,))
    source = f"{RESULT} = {_CALL}[0](*{_CALL}[1], **{_CALL}[2])"
    if inspect.iscoroutinefunction(work):
        source = source.replace("= ", "= await ", 1)
    try:
        return _keep(submit_cell(desk(), called, source, cell=None, lent=lent, single=RESULT))
    except NotPicklable as error:
        sentence, hint = _in_terms_of_call(error, name)
        raise NotPicklable(sentence, hint=hint) from None


def _in_terms_of_call(error: NotPicklable, name: str) -> tuple[str, str]:
    """The sentence and the hint, with the words of who called: they know no `jupysched_call`."""
    whats = ((f"{_CALL}[0]", name), (f"{_CALL}[1]", "args"), (f"{_CALL}[2]", "kwargs"), (_CALL, "the call"))
    sentence = error.sentence
    for what, said in whats:
        sentence = sentence.replace(what, said)
    return sentence, error.hint.replace("the cell", "the function")


def job(which: int | str | Job = "last") -> Job:
    """Any job of yours, by its number, from any notebook; or the newest one. Raises NoSuchJob, BadRequest."""
    try:
        return desk().job(job_word(str(which.id if isinstance(which, Job) else which)))
    except Malformed:
        raise BadRequest(f"{which!r} names no job; expected its number, or 'last'.") from None


def jobs() -> list[Job]:
    """Your jobs that the daemon knows, oldest first; `jobs()[-1]` is the newest."""
    return desk().all_jobs()


def gpus() -> list[GpuRecord]:
    """Every GPU, or CPU slot where there is none, as it stands now."""
    with Client() as client:
        return client.gpus()


def _keep(job: Job) -> Job:
    job.has_place = False
    desk().keep(job)
    return job


def _asked(options: dict[str, Any]) -> Asked:
    found: dict[str, Any] = {}
    for field, value in options.items():
        option = _FIELDS.get(field)
        if field in _WAITS:
            raise BadRequest(f"There is no option {field}.", hint=_WAITS[field])
        if option is None:
            near = difflib.get_close_matches(field, _FIELDS, n=1)
            hint = f"Did you mean {near[0]}?" if near else f"There are {', '.join(sorted(_FIELDS))}."
            raise BadRequest(
                f"There is no option {field}.", hint=f"{hint} What the function takes by name goes into kwargs={{...}}."
            )
        if value is not None:
            found[field] = _read(option, value)
    return Asked(**found)


def _read(option: Option, value: Any) -> Any:
    """The value as the magic would read it: one grammar for both doors."""
    many: Iterable[Any] = value if option.many and not isinstance(value, (str, int, Job)) else [value]
    words = [str(part.id if isinstance(part, Job) else part) for part in many]
    try:
        read = [option.read(_with_unit(option, word)) for word in words]
    except Malformed as error:
        raise BadRequest(f"{option.field} is {value!r}; expected {error}.") from None
    return tuple(read) if option.many else read[0]


def _with_unit(option: Option, word: str) -> str:
    """A number in Python is bytes or seconds, as in every record."""
    if word.replace(".", "", 1).isdigit():
        return word + {"SIZE": "B", "DURATION": "s"}.get(option.metavar, "")
    return word
