"""The whole, as folded from the journal. Changed by fold alone; everybody else only reads.

Records (Job, Gpu, Node) are immutable values; the dictionaries that hold them are changed in place, because copying
10,000 entries for each event would cost more than the rest of the daemon (docs/decisions/0003)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sortedcontainers import SortedList, SortedSet

from jupysched.core.fragmentation import Mix, Shape
from jupysched.core.history import History
from jupysched.core.job import Job, JobId, UserName
from jupysched.core.lanes import Entry, Lane, LaneKey, Merge, Passing, Rank
from jupysched.core.resources import Gpu, GpuId, GpuKind, Node, NodeName, Request
from jupysched.core.rules import Rules
from jupysched.core.runners import Runners
from jupysched.core.siblings import Siblings
from jupysched.core.states import HOLDING, JobState
from jupysched.core.usage import Ledger


@dataclass(slots=True)
class State:
    """Jobs, nodes, GPUs, who holds what, and who waits."""

    jobs: dict[JobId, Job] = field(default_factory=dict)
    nodes: dict[NodeName, Node] = field(default_factory=dict)
    gpus: dict[GpuId, Gpu] = field(default_factory=dict)
    #: GPU -> jobs that hold it (one, unless it is shared by memory)
    holders: dict[GpuId, tuple[JobId, ...]] = field(default_factory=dict)
    #: jobs that wait for GPUs, those that are alike together
    lanes: dict[LaneKey, Lane] = field(default_factory=dict)
    #: where each of them stands
    standing: dict[JobId, tuple[Lane, Entry]] = field(default_factory=dict)
    #: pending jobs that wait for other jobs (--after); in no lane
    blocked: set[JobId] = field(default_factory=set)
    #: blocked jobs whose dependency ended without success
    hopeless: set[JobId] = field(default_factory=set)
    #: jobs that hold an allocation, in the order of their grants
    holding: dict[JobId, Job] = field(default_factory=dict)
    #: those of them that may have to give way, by rank; asked by way of look_at_runners
    runners: Runners = field(default_factory=Runners, compare=False, repr=False)
    #: (time at which its limit runs out, job) of those that run
    deadlines: SortedList = field(default_factory=SortedList)
    #: job -> jobs that named it in --after and are not ended
    dependents: dict[JobId, set[JobId]] = field(default_factory=dict)
    #: GPU -> sentence of the admin who drained it; it outlives the node's absence
    admin_drains: dict[GpuId, str] = field(default_factory=dict)
    #: usable GPUs that nobody holds, by node, by index
    free: dict[NodeName, SortedSet] = field(default_factory=dict)
    #: GPUs that are shared by memory -> bytes of it that are granted
    shared: dict[GpuId, int] = field(default_factory=dict)
    #: CPU cores and bytes of RAM that are granted, by node
    cpus_held: dict[NodeName, int] = field(default_factory=dict)
    memory_held: dict[NodeName, int] = field(default_factory=dict)
    #: who used how much, and how much of it lately
    ledger: Ledger = field(default_factory=Ledger)
    #: how long jobs took before
    history: History = field(default_factory=History)
    #: which jobs came together, and how long those of them took that ended
    siblings: Siblings = field(default_factory=Siblings)
    #: what was asked for lately
    mix: Mix = field(default_factory=Mix)
    #: limits, shares and reservations
    rules: Rules = field(default_factory=Rules)
    policy: str = "priority"
    policy_settings: dict[str, str] = field(default_factory=dict)
    #: the policy itself, made from its name and settings by fold
    order: Policy | None = field(default=None, compare=False, repr=False)
    next_id: int = 1
    #: (user id, key) of a submission -> its jobs, as long as the first of them is kept
    submissions: dict[tuple[int, str], range] = field(default_factory=dict)
    #: events folded so far, and when the newest happened
    version: int = 0
    now: float = 0.0
    #: what could fit if all were free, remembered from one question to the next; emptied when a node or GPU changes
    fits: dict[tuple[Request, bool, NodeName | None], bool] = field(default_factory=dict, compare=False, repr=False)
    #: what nodes have left, remembered from one cycle to the next; one that changes is forgotten
    shapes: dict[NodeName, Shape] = field(default_factory=dict, compare=False, repr=False)
    #: is any GPU a MIG device? Remembered as long as no node or GPU changes
    mig: bool | None = field(default=None, compare=False, repr=False)
    #: nodes whose GPUs are not all alike; remembered as long
    mixed: frozenset[NodeName] | None = field(default=None, compare=False, repr=False)
    #: expected starts as of a version, remembered by explain
    forecasts: tuple[int, dict[JobId, tuple[float, float]]] = field(default=(-1, {}), compare=False, repr=False)
    #: the version of which the next two speak; the head of its queue, by place; the rest of it
    _placed: int = field(default=-1, compare=False, repr=False)
    _places: dict[JobId, int] = field(default_factory=dict, compare=False, repr=False)
    _unplaced: Iterator[Job] = field(default_factory=lambda: iter(()), compare=False, repr=False)

    def queue(self, now: float | None = None) -> Iterator[Job]:
        """Jobs that wait for GPUs, in the order of the policy."""
        merge = self.merge(self.now if now is None else now)
        while (head := merge.head()) is not None:
            yield self.jobs[head[2]]
            merge.take()

    def merge(self, now: float) -> Merge:
        """The queue of one cycle."""
        order = self.order
        if order is None:
            return Merge((), lambda _lane, _entry, _taken: (), moves=False)

        def rank_of(lane: Lane, entry: Entry, taken: Mapping[UserName, float]) -> Rank:
            if lane.place < 0:
                return (float("-inf"), lane.place)
            return order.rank(self, lane, entry, taken, now)

        return Merge(self.lanes.values(), rank_of, moves=order.moves)

    def look_at_runners(self, now: float) -> Runners:
        """The jobs that run, by the rank that the policy gives them now."""
        order = self.order
        if order is not None:
            self.runners.look_again(
                self.holding,
                order.stirred(self),
                lambda job: (order.running_rank(self, job, now), order.running_until(self, job, now)),
                now,
            )
        return self.runners

    def position(self, job: JobId) -> int | None:
        """1 for the head of the queue; None if the job does not wait for GPUs."""
        if job not in self.standing:
            return None
        if self._placed != self.version:
            self._placed, self._places, self._unplaced = self.version, {}, self.queue()
        # The queue is walked as far as somebody asks: those who look at its head do not pay for its tail.
        while job not in self._places and (ahead := next(self._unplaced, None)) is not None:
            self._places[ahead.id] = len(self._places) + 1
        return self._places.get(job)

    def free_gpus(self) -> int:
        """Number of usable GPUs that nobody holds."""
        return sum(len(f) for f in self.free.values())

    def holds(self, job: JobId) -> bool:
        """Has it an allocation?"""
        return self.jobs[job].state in HOLDING

    def has_mig(self) -> bool:
        """Is any GPU a MIG device?"""
        if self.mig is None:
            self.mig = any(gpu.kind is GpuKind.MIG for gpu in self.gpus.values())
        return self.mig

    def mixed_nodes(self) -> frozenset[NodeName]:
        """Nodes whose GPUs are not all alike."""
        if self.mixed is None:
            kinds: dict[NodeName, set[tuple[str, str, int | None]]] = {}
            for gpu in self.gpus.values():
                kinds.setdefault(gpu.node, set()).add((gpu.kind, gpu.name, gpu.memory_bytes))
            self.mixed = frozenset(name for name, found in kinds.items() if len(found) > 1)
        return self.mixed

    def hardware_changed(self) -> None:
        """Forget what was remembered of what could fit."""
        self.fits.clear()
        self.mig = None
        self.mixed = None

    def widest_node(self) -> int:
        """Most GPUs on one node, free or not, drained or not."""
        return max((len(n.gpus) for n in self.nodes.values()), default=0)

    def is_blocked(self, job: Job) -> bool:
        """Waits for a job named in --after that has not succeeded yet."""
        if not job.spec.after:
            return False
        known = (self.jobs.get(j) for j in job.spec.after)
        return any(other is not None and other.state is not JobState.SUCCEEDED for other in known)


class Policy(Protocol):
    """How the queue is ordered and who may pass, as one value. docs/policies.md builds one in 40 lines."""

    name: str
    #: one line for `jupysched policy list`
    summary: str
    passing: Passing
    #: does a job that waits take GPUs from one that runs and ranks behind it?
    preempts: bool
    #: does the rank depend on user or class? False makes fewer lanes, hence faster cycles
    by_user: bool
    settings: dict[str, str]
    #: does what one job takes in a cycle move the others of its user back?
    moves: bool

    def key(self, state: State, job: Job) -> float:
        """The order within its lane; asked once, when the job joins it."""
        ...

    def split(self, state: State, job: Job) -> int:
        """Jobs that differ in this wait in different lanes, so that none hides behind the other."""
        ...

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """The order of a lane's head among the others; `taken`: GPUs given to each user earlier in this cycle."""
        ...

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        """Where a running job stands among those that wait; asked only of policies that preempt."""
        ...

    def running_until(self, state: State, job: Job, now: float) -> float:
        """Until when it stands there, if nothing happens to it."""
        ...

    def stirred(self, state: State) -> Iterable[JobId]:
        """Running jobs whose rank was changed by what happened to others since this was asked last."""
        ...

    def may_stop(self, state: State, job: Job, now: float) -> bool:
        """May this running job have to give way at all?"""
        ...

    def next_change(self, state: State, now: float) -> float | None:
        """When time alone changes who ranks ahead; None if only events do."""
        ...
