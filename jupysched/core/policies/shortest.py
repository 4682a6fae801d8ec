"""The shortest expected job first: by its --time, else by what the same cell or the same user's jobs took before.

A prediction is never trusted blindly: it is the median weighed against the spread (the nine-tenths quantile), a job
without any is expected to take as long as most do, and waiting counts, so that nothing starves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from jupysched.core.job import Job, UserName, kinds_of
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.limits import time_limit_of
from jupysched.core.policies.base import Order
from jupysched.core.policies.settings import Read, number, switch
from jupysched.core.state import State

#: expected of a job of which nothing is known
UNKNOWN_S = 3600.0


def expected_s(state: State, job: Job) -> float:
    """Seconds that it will still run, as far as can be said."""
    limit = time_limit_of(state, job)
    lengths = state.history.best(kinds_of(job.spec), at_least=3)
    middle = lengths.quantile(0.5, beyond_s=job.attained_s) if lengths is not None else None
    if lengths is None or middle is None:
        return limit if limit is not None else UNKNOWN_S
    far = lengths.quantile(0.9, beyond_s=job.attained_s) or middle
    # Half way to the far end, on the scale of ratios: a wide spread makes a job count as longer than its median.
    guess = float(middle * (far / max(middle, 1.0)) ** 0.5) - job.attained_s
    return min(guess, limit) if limit is not None else guess


class Shortest(Order):
    """Settings: weigh_gpus (on: GPU-seconds instead of seconds), age (seconds of waiting that make up for one)."""

    name = "shortest"
    summary = "shortest expected job first, by --time or by what its like took before"
    passing = Passing.SKIP
    by_user = True

    reads: ClassVar[Mapping[str, Read]] = {**Order.reads, "weigh_gpus": switch, "age": number}

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.weigh = self.is_on("weigh_gpus", default=True)
        self.age = self.number("age", 10.0)

    def key(self, state: State, job: Job) -> float:
        """Expected length, plus when it came: each `age` seconds of waiting make it one second shorter."""
        length = max(0.0, expected_s(state, job))
        if self.weigh:
            length *= max(1, job.spec.request.gpus)
        return length + job.since / self.age

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """By class within the order of lengths: high counts a quarter, low four times."""
        since = entry[1] / self.age
        return ((entry[0] - since) * 4.0 ** (lane.priority.rank - 1) + since,)
