"""Who gives way to whom. Knows ranks, and the GPUs that running jobs would give back; knows nothing of how they stop.

The contest walks all live jobs, running or not, from the best rank on. Each takes GPUs of one node while there are any:
a running job keeps its own if they are not promised to somebody ahead of it, else it gives way; a waiting one takes
free GPUs, else those of jobs ranked behind it; cores and RAM go with them. So nobody is stopped whose GPUs are not needed by a better-ranked job,
and a cycle after the stops were ordered orders no more of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from jupysched.core.actions import Action, Stop, Suspend
from jupysched.core.job import Job, JobId
from jupysched.core.lanes import Rank
from jupysched.core.placement import Room, is_plain, split_gang
from jupysched.core.resources import GpuKind, NodeName, Request
from jupysched.core.runners import Place
from jupysched.core.state import Policy, State
from jupysched.core.states import JobState, Reason
from jupysched.core.yard import CPUS, MEMORY, Parts, Pool, Yard, parts_in_pools, pools_for, pools_on

#: (rank, since, job, what it holds)
Running = tuple[Rank, float, JobId, Parts]


#: what giving way costs: the best rank that is stopped (negated), GPU-seconds lost, jobs stopped, GPUs left over
Cost = tuple[float, float, int, int]


class Contest:
    """One walk. Started by the cycle when the head of the queue finds no free GPUs."""

    def __init__(self, state: State, order: Policy, room: Room, now: float, head: Place) -> None:
        self.state, self.order, self.room, self.now = state, order, room, now
        self.yard = Yard()
        #: running jobs that may have to give way, best rank first; and what each of them holds, by node
        self.running: list[Running] = []
        self.on_node: defaultdict[NodeName, dict[JobId, tuple[Rank, Parts]]] = defaultdict(dict)
        #: for whom the GPUs of a node were promised last
        self.for_whom: dict[NodeName, Job] = {}
        #: those who do
        self.gone: list[Running] = []
        self._line_up(head)
        #: GPUs of each node that could still be given to anybody, and the most of them
        self._reach: dict[NodeName, int] = {}
        self.most = 0
        #: what giving way costs on a node, by what is asked for; as long as nothing changes there
        self._costs: dict[Request, dict[NodeName, Cost]] = {}
        self.touched(state.nodes)

    def touched(self, names: Iterable[NodeName]) -> None:
        """Something was granted, promised or settled on these nodes."""
        state, room, coming = self.state, self.room, self.yard.coming
        for name in names:
            free = len(room.free.get(name, ()))
            self._reach[name] = free + sum(coming.get(pool, 0) for pool in pools_on(state, name))
            for costs in self._costs.values():
                costs.pop(name, None)
        self.most = max(self._reach.values(), default=0)

    def _line_up(self, head: Place) -> None:
        """Those that rank behind the head of the queue; all others keep what they have."""
        state, now, may_stop = self.state, self.now, self.order.may_stop
        runners = state.look_at_runners(now)
        for job in runners.stopping.values():
            if job.allocation is not None:
                self.yard.add(parts_in_pools(state, job.allocation))
        for rank, since, job_id in runners.behind(head):
            job = state.holding[job_id]
            if job.allocation is not None and may_stop(state, job, now):
                parts = parts_in_pools(state, job.allocation)
                self.running.append((rank, since, job_id, parts))
                self.yard.add(parts)
                for name in job.allocation.nodes:
                    self.on_node[name][job_id] = (rank, parts.on(name))

    def settle_until(self, rank: Rank, since: float, job_id: JobId) -> None:
        """Running jobs that rank ahead of this one keep their GPUs, or give way to those ahead of them."""
        number = 0
        names: set[NodeName] = set()
        for entry in self.running:
            if entry[:3] > (rank, since, job_id):
                break
            number += 1
            self._settle(entry)
            for (name, _kind), _count in entry[3].gpus:
                names.add(name)
                self.on_node[name].pop(entry[2], None)
        if number:
            del self.running[:number]
            self.touched(name for name in names if name in self._reach)

    def _settle(self, entry: Running) -> None:
        if self.yard.covers(entry[3]):
            self.yard.add(entry[3], -1)
        else:
            self.gone.append(entry)

    def settle_rest(self) -> None:
        """Nobody who waits is left to look at. Where nothing was promised, nobody need give way."""
        if self.for_whom:
            for entry in self.running:
                self._settle(entry)
        self.running.clear()

    @property
    def reach(self) -> int:
        """GPUs that could still be given to anybody."""
        return self.room.total + self.yard.total

    def promise(self, job: Job) -> bool:
        """Keep for a job that finds too little free what is free there, and some of what will be."""
        request = job.spec.request
        is_share = request.gpus == 1 and request.gpu_memory_bytes is not None
        if not self.yard.coming or is_share or not request.gpus:
            return False
        parts = self._choose(request)
        if parts is None:
            return False
        for place, (name, count) in enumerate(parts):
            coming = self._still_needed(name, request, count, leads=place == 0)
            self.room.withhold(name, request, count, leads=place == 0)
            self.yard.add(coming, -1)
            self.for_whom[name] = job
        self.touched(name for name, _ in parts)
        return True

    def _choose(self, request: Request) -> list[tuple[NodeName, int]] | None:
        """The nodes where it costs least."""
        need = request.gpus if request.nodes == 1 else 1
        counts = {name: reach for name, reach in self._reach.items() if reach >= need}
        if not is_plain(request) or (request.gpus > 1 and self.state.has_mig()):
            had = ((name, self._could_have(name, request)) for name in counts)
            counts = {name: found for name, found in had if found >= need}
        if request.nodes != 1:
            return split_gang(self.state, request, counts)
        if not counts:
            return None
        if len(counts) == 1:
            return [(next(iter(counts)), request.gpus)]
        costs = self._costs.setdefault(request, {})
        for name in counts.keys() - costs.keys():
            costs[name] = self._cost(name, request)
        return [(min(counts, key=costs.__getitem__), request.gpus)]

    def _could_have(self, name: NodeName, request: Request) -> int:
        """GPUs of a node that it could be given; 0 where cores or RAM would not suffice."""
        state, room, coming = self.state, self.room, self.yard.coming
        node = state.nodes[name]
        if room.free_cpus(node) + coming.get((name, CPUS), 0) < (request.cpus or 0):
            return 0
        if room.free_memory(node) + coming.get((name, MEMORY), 0) < (request.memory_bytes or 0):
            return 0
        return len(room.fitting(name, request)) + sum(coming.get(p, 0) for p in pools_for(state, name, request))

    def _still_needed(self, name: NodeName, request: Request, count: int, *, leads: bool) -> Parts:
        """What a job that gets so many GPUs of a node lacks there, of what is to come."""
        state, room, coming = self.state, self.room, self.yard.coming
        lacking = max(0, count - len(room.fitting(name, request)))
        gpus: list[tuple[Pool, int]] = []
        for pool in sorted(pools_for(state, name, request)):
            some = min(lacking, coming.get(pool, 0))
            gpus.append((pool, some))
            lacking -= some
        if not leads:
            return Parts(gpus)
        node = state.nodes[name]
        cpus = max(0, (request.cpus or 0) - room.free_cpus(node))
        memory = max(0, (request.memory_bytes or 0) - room.free_memory(node))
        return Parts(gpus, [((name, CPUS), cpus), ((name, MEMORY), memory)])

    def _cost(self, name: NodeName, request: Request) -> Cost:
        """What giving way there costs."""
        state, coming = self.state, self.yard.coming
        pools = pools_on(state, name)
        left = Yard({pool: coming.get(pool, 0) for pool in (*pools, (name, CPUS), (name, MEMORY))})
        left.add(self._still_needed(name, request, request.gpus, leads=True), -1)
        best, lost, stopped = float("inf"), 0.0, 0
        for job_id, (rank, here) in self.on_node[name].items():
            if left.covers(here):
                left.add(here, -1)
                continue
            job = state.jobs[job_id]
            since = job.granted_at if job.granted_at is not None else self.now
            best = min(best, rank[0] if rank else 0.0)
            lost += job.spec.request.gpus * (1.0 + self.now - since)
            stopped += 1
        over = sum(left.coming[pool] for pool in pools)
        return (-best, lost, stopped, over + len(self.room.free.get(name, ())))

    def stops(self) -> list[Action]:
        """Orders for those who give way, the worst-ranked first."""
        actions: list[Action] = []
        for _rank, _since, job_id, _parts in reversed(self.gone):
            job = self.state.jobs[job_id]
            held = job.allocation
            if held is None:
                continue
            whom = next((self.for_whom[n] for n in held.nodes if n in self.for_whom), None)
            detail = f"for job {whom.id} ({whom.spec.name}, {whom.spec.user})" if whom else ""
            if may_freeze(self.state, job, self.order):
                actions.append(Suspend(job=job.id, attempt=job.attempt, detail=detail))
            else:
                stop = Stop(
                    job=job.id, attempt=job.attempt, reason=Reason.PREEMPTED, then=JobState.PENDING, detail=detail
                )
                actions.append(stop)
        return actions


def may_freeze(state: State, job: Job, order: Policy) -> bool:
    """Is it set to be frozen instead of stopped, and does it run on CPU slots alone? (GPU memory cannot be frozen.)"""
    held = job.allocation
    if order.settings.get("preempt_by") != "suspend" or held is None or job.state is not JobState.RUNNING:
        return False
    return all(g in state.gpus and state.gpus[g].kind is GpuKind.CPU_SLOT for g in held.gpus)
