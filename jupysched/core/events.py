"""Facts, in the past tense. The journal is a list of these; nothing else changes the state."""

from __future__ import annotations

from dataclasses import dataclass, field

from jupysched.core.job import Exit, JobId, JobSpec, Priority
from jupysched.core.resources import Allocation, Gpu, GpuId, Node, NodeName
from jupysched.core.states import JobState, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    at: float
    job: JobId
    spec: JobSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldAsked:
    at: float
    job: JobId
    by: str
    admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAsked:
    at: float
    job: JobId
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelAsked:
    """Ends a job that waits. One that holds GPUs is stopped by StopOrdered instead."""

    at: float
    job: JobId
    by: str
    admin: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RequeueAsked:
    at: float
    job: JobId
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityChanged:
    at: float
    job: JobId
    priority: Priority
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedToFront:
    """It starts before the other waiting jobs of its user and class, or (by an admin, with a place) before all."""

    at: float
    job: JobId
    by: str
    #: what its age is counted from now
    since: float
    #: below 0: ahead of all who were not moved so, the smallest first
    place: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveWay:
    """Another job of its user was moved to the front; the ages of those that wait were dealt out anew."""

    at: float
    job: JobId
    by: str
    to: JobId
    since: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    at: float
    job: JobId
    attempt: int
    allocation: Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptStarted:
    at: float
    job: JobId
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRefused:
    """The launcher could not start it; the sentence says why."""

    at: float
    job: JobId
    attempt: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOrdered:
    at: float
    job: JobId
    attempt: int
    reason: Reason
    #: what follows once it has ended
    then: JobState
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptEnded:
    at: float
    job: JobId
    attempt: int
    exit: Exit


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptLost:
    """Its shim died without a word: never run again on a guess."""

    at: float
    job: JobId
    attempt: int
    sentence: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspended:
    """Frozen where it stands; its GPUs are free for others, its memory is not."""

    at: float
    job: JobId
    attempt: int
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Thawed, on GPUs of the same node."""

    at: float
    job: JobId
    attempt: int
    allocation: Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded:
    """A job that waits can never start (its dependency failed)."""

    at: float
    job: JobId
    state: JobState
    reason: Reason
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJoined:
    at: float
    node: Node
    gpus: tuple[Gpu, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLost:
    at: float
    node: NodeName


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDrained:
    at: float
    gpu: GpuId
    cause: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuRestored:
    at: float
    gpu: GpuId
    cause: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuForeign:
    """Processes that are not ours were seen on it, or (empty) are gone."""

    at: float
    gpu: GpuId
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet:
    at: float
    by: str
    name: str
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsSet:
    """What one scope may use at most: 'user:ann', 'group:vision', 'class:low', or 'user:*' for each user without his own.

    Names and meanings of the limits stand in limits.LIMITS; an empty mapping takes all limits of the scope away."""

    at: float
    by: str
    scope: str
    limits: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareSet:
    """What a user or group is entitled to beside the others under the same parent; 0 takes the entry away."""

    at: float
    by: str
    scope: str
    share: float = 1.0
    parent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationMade:
    """GPUs kept for one scope from a time to a time; the same name again replaces it."""

    at: float
    by: str
    name: str
    scope: str
    gpus: int
    starts_at: float
    ends_at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationEnded:
    at: float
    by: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """Ended jobs that are no longer kept."""

    at: float
    jobs: tuple[JobId, ...]


JobEvent = (
    HoldAsked
    | ReleaseAsked
    | CancelAsked
    | RequeueAsked
    | PriorityChanged
    | MovedToFront
    | GaveWay
    | Granted
    | AttemptStarted
    | AttemptRefused
    | StopOrdered
    | AttemptEnded
    | AttemptLost
    | Suspended
    | Resumed
    | JobEnded
)
NodeEvent = NodeJoined | NodeLost | GpuDrained | GpuRestored | GpuForeign
RuleEvent = PolicySet | LimitsSet | ShareSet | ReservationMade | ReservationEnded
Event = Submitted | JobEvent | NodeEvent | RuleEvent | Forgotten
