"""When those that wait should start, as a range. Knows order, room and lengths; promises nothing.

The queue is played forward on the nodes, once with the lengths that most jobs do not reach (soon) and once with those
that few exceed (late): limits where there are any, else what like jobs took. Preemption and late-comers are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from jupysched.core.backfill import AT_LEAST, LATE, SOON
from jupysched.core.job import Job, JobId, kinds_of
from jupysched.core.limits import time_limit_of
from jupysched.core.placement import parts_of
from jupysched.core.resources import NodeName
from jupysched.core.state import State
from jupysched.core.states import JobState

#: of a long queue only so many are told; beyond them a time would be a guess
FIRST = 200


@dataclass(slots=True)
class Yard:
    """GPUs of one node as they come free."""

    free: int
    ends: list[tuple[float, int]] = field(default_factory=list)

    def when(self, need: int, at: float) -> float:
        """The earliest time from `at` on with so many free."""
        free = self.free
        if free >= need:
            return at
        for end, count in sorted(self.ends):
            free += count
            if free >= need:
                return max(at, end)
        return math.inf

    def take(self, need: int, at: float, until: float) -> None:
        """A job starts here at `at`."""
        for end, count in [e for e in self.ends if e[0] <= at]:
            self.free += count
            self.ends.remove((end, count))
        self.free -= need
        self.ends.append((until, need))


def length(state: State, job: Job, share: float, ran_s: float = 0.0) -> float:
    """Seconds that it will still run once it has run `ran_s`: a share of its like take no longer."""
    limit = time_limit_of(state, job)
    lengths = state.history.best(kinds_of(job.spec), at_least=AT_LEAST)
    before = job.attained_s + ran_s
    found = lengths.quantile(share, beyond_s=before) if lengths is not None else None
    guess = math.inf if found is None else max(0.0, found - before)
    return min(guess, max(0.0, limit - ran_s)) if limit is not None else guess


def forecast(state: State, now: float) -> dict[JobId, tuple[float, float]]:
    """Expected start of the first in the queue: (soon, late); infinite where nothing is known of those ahead."""
    soon, late = _play(state, now, SOON), _play(state, now, LATE)
    return {job: (min(at, late[job]), max(at, late[job])) for job, at in soon.items() if job in late}


def _play(state: State, now: float, share: float) -> dict[JobId, float]:
    yards = {name: Yard(free=len(state.free.get(name, ()))) for name in state.nodes}
    for job in state.holding.values():
        if job.allocation is None:
            continue
        ran = now - job.started_at if job.started_at is not None else 0.0
        end = now if job.state is JobState.STOPPING else now + length(state, job, share, ran)
        for name, count in parts_of(state, job.allocation):
            if name in yards:
                yards[name].ends.append((end, count))
    starts: dict[JobId, float] = {}
    at = now
    for number, job in enumerate(state.queue(now)):
        if number >= FIRST:
            break
        best: tuple[float, NodeName] | None = min(
            ((yard.when(job.spec.request.gpus, at), name) for name, yard in yards.items()), default=None
        )
        if best is None or job.spec.request.nodes != 1 or math.isinf(best[0]):
            starts[job.id] = math.inf
            continue
        starts[job.id] = best[0]
        at = best[0]
        yards[best[1]].take(job.spec.request.gpus, at, at + length(state, job, share))
    return starts
