"""A job: what was asked (spec, never changes) and what became of it. Knows nothing of nodes' contents or of order."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

from jupysched.core.resources import Allocation, Request
from jupysched.core.states import JobState, Reason

JobId = NewType("JobId", int)
UserName = NewType("UserName", str)


class Priority(StrEnum):
    """The class a user asks for."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"

    @property
    def rank(self) -> int:
        """0 is served first."""
        return _RANKS[self._value_]


_RANKS = {"high": 0, "normal": 1, "low": 2}


class Submission(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Jobs that came in one message. However often it is sent, they are taken once."""

    #: the client's random word for it, its user's own
    key: str
    #: how many jobs, numbered from the first on
    jobs: int = 1


class JobSpec(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the user asked for; never changes after submission."""

    name: str
    user: UserName
    uid: int
    request: Request = Request()
    priority: Priority = Priority.NORMAL
    #: jobs that must have succeeded first
    after: tuple[JobId, ...] = ()
    #: how many more attempts follow one that failed by itself
    retries: int = 0
    #: the job's directory, owned by the user: launch.json, input.pickle, a<N>/
    directory: str = ""
    #: where it came from: notebook path, cell id, kernel id, digest of the cell; opaque to core
    origin: dict[str, str] = {}
    groups: tuple[str, ...] = ()
    #: what it came in; of the others that came with it: None
    submission: Submission | None = None


class Exit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How an attempt ended, as its shim wrote it. An unknown code and signal mean that nobody saw it end."""

    code: int | None = None
    signal: int | None = None
    #: the runner's own word: "ok", "error", "interrupted", "exit"; None if it could not say
    outcome: str | None = None
    error: str | None = None
    #: one sentence for people
    sentence: str = ""
    out_of_memory: bool = False
    #: names that came back to the notebook
    returned: tuple[str, ...] = ()


class Moved(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Somebody had it moved to the front of the queue."""

    by: str
    at: float
    #: below 0: ahead of everybody, the smallest first; 0: ahead of its user's own jobs
    place: int = 0


class Job(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One submitted cell with its request, and where it stands."""

    id: JobId
    spec: JobSpec
    state: JobState
    #: None while it runs undisturbed or after success
    reason: Reason | None = None
    #: what a reason needs to be told in full: a name, a sentence
    detail: str = ""
    priority: Priority = Priority.NORMAL
    submitted_at: float
    #: what its age is counted from: submission, the last time its user had it requeued, or a move to the front
    since: float
    #: since when it waits in its present wait
    queued_at: float
    #: number of the newest attempt; 0 before the first
    attempt: int = 0
    #: GPUs now held; None unless state is starting, running or stopping
    allocation: Allocation | None = None
    #: where the newest attempt ran, kept after it ended
    ran_on: Allocation | None = None
    granted_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None
    exit: Exit | None = None
    #: attempts that failed by themselves, counted against spec.retries
    failures: int = 0
    #: seconds waited and run in earlier attempts
    waited_s: float = 0.0
    attained_s: float = 0.0
    #: seconds that the attempt had run when it was suspended
    frozen_s: float = 0.0
    #: what follows when the attempt that is being stopped has ended: cancelled, failed (time limit), pending (preempt, requeue)
    after_stop: JobState | None = None
    #: stop orders that the newest attempt was given
    stops: int = 0
    #: times it was stopped or suspended for another job
    preemptions: int = 0
    #: until it is granted GPUs
    moved: Moved | None = None


def scopes_of(job: Job) -> tuple[str, ...]:
    """The accounts that a job counts for."""
    spec = job.spec
    if not spec.groups:
        return (_USER + spec.user, _CLASS[job.priority])
    return (_USER + spec.user, *(f"group:{g}" for g in spec.groups), _CLASS[job.priority])


Kind = tuple[str | int, ...]


def kinds_of(spec: JobSpec) -> tuple[Kind, ...]:
    """The kinds of job that it is, the most particular first; jobs of one kind tend to take as long."""
    kinds: tuple[Kind, ...] = (("width", spec.user, spec.request.gpus), ("user", spec.user), ("all",))
    cell = spec.origin.get("cell_digest")
    return (("cell", spec.user, cell), *kinds) if cell else kinds


_USER = "user:"
_CLASS = {p: f"class:{p.value}" for p in Priority}
