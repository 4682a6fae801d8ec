"""Things to do, in the imperative. A plan is a value: it can be shown, verified, refused, replayed."""

from __future__ import annotations

import msgspec

from jupysched.core.job import JobId
from jupysched.core.resources import Allocation
from jupysched.core.states import JobState, Reason


class Grant(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    job: JobId
    attempt: int
    allocation: Allocation


class Stop(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    job: JobId
    attempt: int
    reason: Reason
    then: JobState
    detail: str = ""


class Suspend(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Freeze a running attempt; its GPUs go to others."""

    job: JobId
    attempt: int
    detail: str = ""


class Resume(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Thaw it, on these GPUs."""

    job: JobId
    attempt: int
    allocation: Allocation


class End(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A waiting job can never start."""

    job: JobId
    state: JobState
    reason: Reason
    detail: str = ""


Action = Grant | Stop | Suspend | Resume | End


class Plan(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The ordered actions of one cycle."""

    actions: tuple[Action, ...] = ()
    #: when time alone will change the answer (a limit runs out); None if only an event can
    wake_at: float | None = None
