"""The policies of the published baselines, with their exact rules; oracles are told each job's length."""

from collections.abc import Mapping, Sequence

from jupysched.core.job import Job, UserName
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies import register
from jupysched.core.policies.base import Order
from jupysched.core.state import State
from jupysched.sim.trace import TraceJob


class Oracle(Order):
    """Knows the length of every job."""

    lengths: Sequence[float] = ()

    def left(self, job: Job) -> float:
        return self.lengths[job.id - 1] - job.attained_s

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, int], now: float) -> Rank:
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

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        return (self.left(job) - (now - job.started_at if job.started_at is not None else 0.0),)


class Srsf(Srtf):
    name = "srsf"

    def key(self, state: State, job: Job) -> float:
        return self.left(job) * job.spec.request.gpus

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        return (super().running_rank(state, job, now)[0] * job.spec.request.gpus,)


class Las(Order):
    """Discretized two-dimensional least attained service, as Tiresias has it, without promotion."""

    name = "las"
    passing = Passing.SKIP
    preempts = True
    min_run_s = 0.0

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.thresholds = [float(t) for t in self.settings.get("thr", "18000").split(",")]

    def level(self, attained: float) -> int:
        return sum(attained >= t - 1e-6 for t in self.thresholds)

    def attained(self, job: Job, now: float) -> float:
        ran = now - job.started_at if job.started_at is not None else 0.0
        return (job.attained_s + ran) * job.spec.request.gpus

    def key(self, state: State, job: Job) -> float:
        return self.level(job.attained_s * job.spec.request.gpus)

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, int], now: float) -> Rank:
        return (entry[0], 1)

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        # In start order: the last component is the place among those that hold GPUs, kept by counting up.
        return (self.level(self.attained(job, now)), 0, self.place(state, job))

    def place(self, state: State, job: Job) -> float:
        if self.placed_at != state.version:
            self.placed_at, self.places = state.version, {j: i for i, j in enumerate(state.holding)}
        return self.places[job.id]

    placed_at = -1

    def next_change(self, state: State, now: float) -> float | None:
        times = []
        for job in state.holding.values():
            if job.started_at is None:
                continue
            gpus = job.spec.request.gpus
            level = self.level(self.attained(job, now))
            if level < len(self.thresholds):
                times.append(job.started_at + self.thresholds[level] / gpus - job.attained_s)
        return min(times, default=None)


def register_oracles(jobs: Sequence[TraceJob]) -> None:
    """Make the oracles of this trace known."""
    lengths = [j.duration_s for j in jobs]
    for kind in (Sjf, Srtf, Srsf):
        told = type(kind.__name__, (kind,), {"lengths": lengths})
        register(kind.name, told)
    register("las", Las)
