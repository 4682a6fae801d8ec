"""Facts, in the past tense. The journal is a list of these; nothing else changes the state."""

from __future__ import annotations

import msgspec

from jupysched.core.job import Exit, JobId, JobSpec, Priority
from jupysched.core.resources import Allocation, Gpu, GpuId, Node, NodeName
from jupysched.core.states import JobState, Reason


class Submitted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    spec: JobSpec


class HoldAsked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    by: str
    admin: bool = False


class ReleaseAsked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    by: str


class CancelAsked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Ends a job that waits. One that holds GPUs is stopped by StopOrdered instead."""

    at: float
    job: JobId
    by: str
    admin: bool = False


class RequeueAsked(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    by: str


class PriorityChanged(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    priority: Priority
    by: str


class MovedToFront(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """It starts before the other waiting jobs of its user and class, or (by an admin, with a place) before all."""

    at: float
    job: JobId
    by: str
    #: what its age is counted from now
    since: float
    #: below 0: ahead of all who were not moved so, the smallest first
    place: int = 0


class GaveWay(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Another job of its user was moved to the front; the ages of those that wait were dealt out anew."""

    at: float
    job: JobId
    by: str
    to: JobId
    since: float


class Granted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    attempt: int
    allocation: Allocation


class AttemptStarted(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    attempt: int


class AttemptRefused(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The launcher could not start it; the sentence says why."""

    at: float
    job: JobId
    attempt: int
    sentence: str


class StopOrdered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    attempt: int
    reason: Reason
    #: what follows once it has ended
    then: JobState
    detail: str = ""


class AttemptEnded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    job: JobId
    attempt: int
    exit: Exit


class AttemptLost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Its shim died without a word: never run again on a guess."""

    at: float
    job: JobId
    attempt: int
    sentence: str = ""


class Suspended(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Frozen where it stands; its GPUs are free for others, its memory is not."""

    at: float
    job: JobId
    attempt: int
    detail: str = ""


class Resumed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Thawed, on GPUs of the same node."""

    at: float
    job: JobId
    attempt: int
    allocation: Allocation


class JobEnded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A job that waits can never start (its dependency failed)."""

    at: float
    job: JobId
    state: JobState
    reason: Reason
    detail: str = ""


class NodeJoined(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    node: Node
    gpus: tuple[Gpu, ...]


class NodeLost(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    node: NodeName


class GpuDrained(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    gpu: GpuId
    cause: str
    sentence: str


class GpuRestored(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    gpu: GpuId
    cause: str


class GpuForeign(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Processes that are not ours were seen on it, or (empty) are gone."""

    at: float
    gpu: GpuId
    sentences: tuple[str, ...]


class PolicySet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    by: str
    name: str
    settings: dict[str, str] = {}


class LimitsSet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one scope may use at most: 'user:ann', 'group:vision', 'class:low', or 'user:*' for each user without his own.

    Names and meanings of the limits stand in limits.LIMITS; an empty mapping takes all limits of the scope away."""

    at: float
    by: str
    scope: str
    limits: dict[str, float] = {}


class ShareSet(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a user or group is entitled to beside the others under the same parent; 0 takes the entry away."""

    at: float
    by: str
    scope: str
    share: float = 1.0
    parent: str = ""


class ReservationMade(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """GPUs kept for one scope from a time to a time; the same name again replaces it."""

    at: float
    by: str
    name: str
    scope: str
    gpus: int
    starts_at: float
    ends_at: float


class ReservationEnded(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    at: float
    by: str
    name: str


class Forgotten(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
