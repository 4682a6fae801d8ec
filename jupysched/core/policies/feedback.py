"""Levels by attained service: a new job is served at once, and sinks as it uses GPUs (Tiresias' two-dimensional LAS).

A job sinks at exactly `levels` GPU-seconds. One that has waited `promote` times as long as it has run (and at least an
hour) is lifted to the top again, so nothing starves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from math import inf
from typing import ClassVar

from jupysched.core.job import Job, UserName
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies.base import Order
from jupysched.core.policies.settings import Read, number, rising
from jupysched.core.state import State
from jupysched.core.times import earliest


class Feedback(Order):
    """Settings: levels (GPU-seconds, by commas), promote (0: never), min_run_s, preempt."""

    name = "feedback"
    summary = "levels by GPU-seconds used so far; new jobs first; preempts"
    passing = Passing.SKIP
    preempts = True
    can_preempt = True

    reads: ClassVar[Mapping[str, Read]] = {**Order.reads, "levels": rising, "promote": number}

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.levels = rising(settings.get("levels", "3600,36000,360000"))
        self.promote = self.number("promote", 8.0)

    def level_of(self, gpu_seconds: float) -> int:
        """How deep a job has sunk."""
        return bisect_right(self.levels, gpu_seconds + 1e-6)

    def key(self, state: State, job: Job) -> float:
        """Within a level the one that will be lifted first: none who starves may stand behind one who does not, for
        they would be stopped for each other in turn. First come, first served where nobody is lifted."""
        return self._lifted_at(job.since, job.attained_s) if self.promote else 0.0

    def split(self, state: State, job: Job) -> int:
        """Levels wait in lanes of their own."""
        return self.level_of(job.attained_s * job.spec.request.gpus)

    def _lifted_at(self, since: float, attained: float) -> float:
        return since + attained + max(3600.0, self.promote * attained)

    def _starves(self, job: Job, at: float) -> bool:
        return bool(self.promote) and at > self._lifted_at(job.since, job.attained_s)

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """Its level; the starving at the top."""
        job = state.jobs[entry[2]]
        if self._starves(job, now):
            return (-1, 1)
        return (self.level_of(job.attained_s * job.spec.request.gpus), 1)

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        """Its level, ahead of those who wait in it. One that was lifted stays up for as long as it runs on."""
        granted = job.granted_at if job.granted_at is not None else now
        if self._starves(job, granted):
            return (-1, 0)
        ran = now - job.started_at if job.started_at is not None else 0.0
        return (self.level_of((job.attained_s + ran) * job.spec.request.gpus), 0)

    def running_until(self, state: State, job: Job, now: float) -> float:
        """Until it sinks."""
        gpus = job.spec.request.gpus
        if job.started_at is None or not gpus:
            return inf
        level = self.level_of((job.attained_s + now - job.started_at) * gpus)
        return job.started_at + self.levels[level] / gpus - job.attained_s if level < len(self.levels) else inf

    def next_change(self, state: State, now: float) -> float | None:
        """When the next running job sinks, or the next that waits is lifted."""
        wake = state.look_at_runners(now).next_due()
        if self.promote:
            for lane in state.lanes.values():
                # The next that will be lifted stands behind those that have been.
                place = lane.entries.bisect_right((now, inf, 0))
                if place < len(lane.entries):
                    wake = earliest(wake, lane.entries[place][0] + 1.0)
        return wake
