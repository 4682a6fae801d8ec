"""The policies of the published baselines, with their exact rules; oracles are told each job's length.

What time does to all alike is left out of ranks: those that run keep theirs, and need not be asked for it in each cycle."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from math import inf
from typing import ClassVar

from jupysched.core.job import Job, JobId, UserName
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies import register
from jupysched.core.policies.base import Order
from jupysched.core.policies.settings import Read, rising
from jupysched.core.state import State
from jupysched.sim.trace import TraceJob


class Oracle(Order):
    """Knows the length of every job."""

    lengths: Sequence[float] = ()

    def left(self, job: Job) -> float:
        return self.lengths[job.id - 1] - job.attained_s

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        return (entry[0],)


class Sjf(Oracle):
    name = "sjf"

    def key(self, state: State, job: Job) -> float:
        return self.lengths[job.id - 1]


class Srtf(Oracle):
    name = "srtf"
    passing = Passing.SKIP
    preempts = True
    min_run_s = 0.0

    def key(self, state: State, job: Job) -> float:
        return self.left(job)

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        return (now + entry[0],)

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        return (self.left(job) + (job.started_at if job.started_at is not None else now),)

    def running_until(self, state: State, job: Job, now: float) -> float:
        return inf if job.started_at is not None else now


class Srsf(Oracle):
    name = "srsf"
    passing = Passing.SKIP
    preempts = True
    min_run_s = 0.0

    def key(self, state: State, job: Job) -> float:
        return self.left(job) * job.spec.request.gpus

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        ran = now - job.started_at if job.started_at is not None else 0.0
        return ((self.left(job) - ran) * job.spec.request.gpus,)


class Las(Order):
    """Discretized two-dimensional least attained service, as Tiresias has it, without promotion."""

    name = "las"
    passing = Passing.SKIP
    preempts = True
    min_run_s = 0.0
    reads: ClassVar[Mapping[str, Read]] = {**Order.reads, "thr": rising}

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.thresholds = rising(self.settings.get("thr", "18000"))
        #: the starts so far, in order
        self.places: dict[tuple[JobId, int], int] = {}

    def level(self, attained: float) -> int:
        return sum(attained >= t - 1e-6 for t in self.thresholds)

    def attained(self, job: Job, now: float) -> float:
        ran = now - job.started_at if job.started_at is not None else 0.0
        return (job.attained_s + ran) * job.spec.request.gpus

    def key(self, state: State, job: Job) -> float:
        return self.level(job.attained_s * job.spec.request.gpus)

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        return (entry[0], 1)

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        return (self.level(self.attained(job, now)), 0, self.place(state, job))

    def running_until(self, state: State, job: Job, now: float) -> float:
        level = self.level(self.attained(job, now))
        if job.started_at is None or level == len(self.thresholds):
            return inf
        return job.started_at + self.thresholds[level] / job.spec.request.gpus - job.attained_s

    def place(self, state: State, job: Job) -> int:
        """Which start this was, counted up."""
        if (job.id, job.attempt) not in self.places:
            new = takewhile(lambda j: (j.id, j.attempt) not in self.places, reversed(state.holding.values()))
            for other in reversed(list(new)):
                self.places[other.id, other.attempt] = len(self.places)
        return self.places[job.id, job.attempt]

    def next_change(self, state: State, now: float) -> float | None:
        return state.look_at_runners(now).next_due()


def register_oracles(jobs: Sequence[TraceJob]) -> None:
    """Make the oracles of this trace known."""
    lengths = [j.duration_s for j in jobs]
    for kind in (Sjf, Srtf, Srsf):
        told = type(kind.__name__, (kind,), {"lengths": lengths})
        register(kind.name, told)
    register("las", Las)
