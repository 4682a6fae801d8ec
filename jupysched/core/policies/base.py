"""What most policies share: an order that they refine. Knows settings; a policy itself says how it ranks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf
from typing import ClassVar

from jupysched.core.job import Job, JobId, UserName
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies.settings import Read, number, one_of, switch, whole
from jupysched.core.state import State


class Order:
    """First come, first served, nobody passes, nobody is preempted; a policy overrides what it changes."""

    name = "order"
    summary = ""
    passing = Passing.NONE
    preempts = False
    #: does its order make sense of preemption? Then the setting `preempt` (on, off) decides
    can_preempt = False
    by_user = False
    moves = False
    min_run_s = 60.0
    most_preemptions = float("inf")
    #: its settings, and what each is read with; a policy adds its own
    reads: ClassVar[Mapping[str, Read]] = {
        "backfill": one_of(*Passing),
        "depth": whole,
        "preempt": switch,
        "preempt_by": one_of("stop", "suspend"),
        "min_run_s": number,
        "most_preemptions": number,
    }

    def __init__(self, settings: Mapping[str, str]) -> None:
        """Raises ValueError if a setting of those that it has cannot be read."""
        self.settings = dict(settings)
        if "backfill" in settings:
            self.passing = Passing(settings["backfill"])
        if self.can_preempt:
            self.preempts = self.is_on("preempt", default=self.preempts)
        #: seconds that an attempt is left in peace, and times that a job may be preempted
        self.min_run_s = self.number("min_run_s", self.min_run_s)
        self.most_preemptions = self.number("most_preemptions", self.most_preemptions)

    def number(self, name: str, default: float) -> float:
        """A setting as a number."""
        return number(self.settings[name]) if name in self.settings else default

    def is_on(self, name: str, *, default: bool) -> bool:
        """A setting as a switch."""
        return switch(self.settings[name]) if name in self.settings else default

    def key(self, state: State, job: Job) -> float:
        """All alike: the order within a lane is that of arrival."""
        return 0.0

    def split(self, state: State, job: Job) -> int:
        """All alike."""
        return 0

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """All alike."""
        return (0.0,)

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        """Ahead of all who wait."""
        return (float("-inf"),)

    def running_until(self, state: State, job: Job, now: float) -> float:
        """For ever where nothing but what happens to it moves it; a policy that ranks running jobs by more says until when,
        or is asked in each cycle."""
        return inf if type(self).running_rank is Order.running_rank else now

    def stirred(self, state: State) -> Iterable[JobId]:
        """Nobody."""
        return ()

    def may_stop(self, state: State, job: Job, now: float) -> bool:
        """Not within min_run_s of its grant, and not more than so many times."""
        if job.preemptions >= self.most_preemptions:
            return False
        return job.granted_at is None or now - job.granted_at >= self.min_run_s

    def next_change(self, state: State, now: float) -> float | None:
        """Time alone changes nothing."""
        return None
