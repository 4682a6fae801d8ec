"""The default: classes first, then age; recent use and size count if they are given weight.

Each `class_s` of waiting (a day) raises a job by one class, so nothing starves; within a class every term is in seconds
of age. A running job keeps the class it was granted in, so only a higher one ever preempts it."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import ClassVar

from jupysched.core.job import Job, UserName
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies.base import Order
from jupysched.core.policies.settings import Read, number, positive
from jupysched.core.state import State
from jupysched.core.times import earliest
from jupysched.core.usage import DAY_S


class PriorityOrder(Order):
    """Settings: class_s, fair_s (seconds of age that having used everything lately costs), size_s (per GPU asked)."""

    name = "priority"
    summary = "class, then age; recent use and size by weight; nothing starves"
    passing = Passing.EASY
    can_preempt = True
    by_user = True

    reads: ClassVar[Mapping[str, Read]] = {
        **Order.reads, "class_s": positive, "fair_s": number, "size_s": number, "half_life_s": positive
    }  # fmt: skip

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.class_s = self.number("class_s", DAY_S)
        self.fair_s = self.number("fair_s", 0.0)
        self.size_s = self.number("size_s", 0.0)

    def _class(self, asked: int, waited_s: float) -> float:
        return max(0, asked - int(waited_s / self.class_s)) if asked else 0

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """Its class, raised by waiting; then the time at which it came, made later by what its user used lately."""
        came = entry[1]
        risen = self._class(lane.priority.rank, now - came)
        if self.size_s:
            came += lane.request.gpus * self.size_s
        if self.fair_s:
            came += self.fair_s * state.ledger.part_of(lane.user, now)
        return (risen, came)

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        """Ahead of all of the class in which it was granted."""
        granted = job.granted_at if job.granted_at is not None else now
        return (self._class(job.priority.rank, granted - job.since), float("-inf"))

    def running_until(self, state: State, job: Job, now: float) -> float:
        """For as long as it runs."""
        return inf

    def next_change(self, state: State, now: float) -> float | None:
        """When the first that waits rises by a class."""
        wake: float | None = None
        for lane in state.lanes.values():
            if lane.priority.rank:
                since = lane.entries[0][1]
                risen = int((now - since) / self.class_s) + 1
                if risen <= lane.priority.rank:
                    wake = earliest(wake, since + risen * self.class_s)
        return wake
