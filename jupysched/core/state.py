"""The whole, as folded from the journal. Changed by fold alone; everybody else only reads.

Records (Job, Gpu, Node) are immutable values; the dictionaries that hold them are changed in place, because copying
10,000 entries for each event would cost more than the rest of the daemon (docs/decisions/0003)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sortedcontainers import SortedSet

from jupysched.core.job import Job, JobId, Priority
from jupysched.core.resources import Gpu, GpuId, Node, NodeName
from jupysched.core.states import HOLDING, JobState


@dataclass(slots=True)
class State:
    """Jobs, nodes, GPUs, who holds what, and who waits."""

    jobs: dict[JobId, Job] = field(default_factory=dict)
    nodes: dict[NodeName, Node] = field(default_factory=dict)
    gpus: dict[GpuId, Gpu] = field(default_factory=dict)
    #: GPU -> jobs that hold it (one, unless it is shared by memory)
    holders: dict[GpuId, tuple[JobId, ...]] = field(default_factory=dict)
    #: pending jobs of each class in the order of their submission
    pending: dict[Priority, SortedSet] = field(default_factory=lambda: {p: SortedSet() for p in Priority})
    #: pending jobs that wait for other jobs (--after); not in `pending`
    blocked: set[JobId] = field(default_factory=set)
    #: jobs that hold an allocation
    holding: dict[JobId, None] = field(default_factory=dict)
    #: job -> jobs that named it in --after and are not ended
    dependents: dict[JobId, set[JobId]] = field(default_factory=dict)
    #: usable GPUs that nobody holds, by node, by index
    free: dict[NodeName, SortedSet] = field(default_factory=dict)
    policy: str = "priority"
    policy_settings: dict[str, str] = field(default_factory=dict)
    next_id: int = 1
    #: events folded so far
    version: int = 0

    def queue(self) -> Iterator[Job]:
        """Pending jobs that wait for GPUs: strict classes, first come first served within."""
        for priority in sorted(Priority, key=lambda p: p.rank):
            for job in tuple(self.pending[priority]):
                yield self.jobs[job]

    def position(self, job: JobId) -> int | None:
        """1 for the head of the queue; None if the job does not wait for GPUs."""
        ahead = 0
        for priority in sorted(Priority, key=lambda p: p.rank):
            ids = self.pending[priority]
            if job in ids:
                return ahead + int(ids.index(job)) + 1
            ahead += len(ids)
        return None

    def free_gpus(self) -> int:
        """Number of usable GPUs that nobody holds."""
        return sum(len(f) for f in self.free.values())

    def holds(self, job: JobId) -> bool:
        """Has it an allocation?"""
        return self.jobs[job].state in HOLDING

    def widest_node(self) -> int:
        """Most GPUs on one node, free or not, drained or not."""
        return max((len(n.gpus) for n in self.nodes.values()), default=0)

    def is_blocked(self, job: Job) -> bool:
        """Waits for a job named in --after that has not succeeded yet."""
        known = (self.jobs.get(j) for j in job.spec.after)
        return any(other is not None and other.state is not JobState.SUCCEEDED for other in known)
