"""Things to do, in the imperative. A plan is a value: it can be shown, verified, refused, replayed."""

from __future__ import annotations

from dataclasses import dataclass

from jupysched.core.job import JobId
from jupysched.core.resources import Allocation
from jupysched.core.states import JobState, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    job: JobId
    attempt: int
    allocation: Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    job: JobId
    attempt: int
    reason: Reason
    then: JobState
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """Freeze a running attempt; its GPUs go to others."""

    job: JobId
    attempt: int
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Thaw it, on these GPUs."""

    job: JobId
    attempt: int
    allocation: Allocation


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A waiting job can never start."""

    job: JobId
    state: JobState
    reason: Reason
    detail: str = ""


Action = Grant | Stop | Suspend | Resume | End


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The ordered actions of one cycle."""

    actions: tuple[Action, ...] = ()
    #: when time alone will change the answer (a limit runs out); None if only an event can
    wake_at: float | None = None
