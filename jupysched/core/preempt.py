"""Who gives way to whom. Knows ranks, and the GPUs that running jobs would give back; knows nothing of how they stop.

The contest walks all live jobs, running or not, from the best rank on. Each takes GPUs of one node while there are any:
a running job keeps its own if they are not promised to somebody ahead of it, else it gives way; a waiting one takes
free GPUs, else those of jobs ranked behind it. So nobody is stopped whose GPUs are not needed by a better-ranked job,
and a cycle after the stops were ordered orders no more of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from jupysched.core.actions import Action, Stop, Suspend
from jupysched.core.job import Job, JobId
from jupysched.core.lanes import Rank
from jupysched.core.placement import Room, fits_type, is_plain, parts_of, split_gang
from jupysched.core.resources import GpuKind, NodeName, Request
from jupysched.core.runners import Place
from jupysched.core.state import Policy, State
from jupysched.core.states import JobState, Reason

Parts = list[tuple[NodeName, int]]
#: (rank, since, job, its GPUs by node)
Running = tuple[Rank, float, JobId, Parts]


@dataclass(slots=True)
class Yard:
    """GPUs of each node that are not free yet and would be: of jobs that are stopping, and of jobs not walked past."""

    coming: dict[NodeName, int] = field(default_factory=dict)
    total: int = 0

    def add(self, parts: Parts, sign: int = 1) -> None:
        """Count GPUs in, or out."""
        for name, count in parts:
            self.coming[name] = self.coming.get(name, 0) + sign * count
            self.total += sign * count


class Contest:
    """One walk. Started by the cycle when the head of the queue finds no free GPUs."""

    def __init__(self, state: State, order: Policy, room: Room, now: float, head: Place) -> None:
        self.state, self.order, self.room, self.now = state, order, room, now
        self.yard = Yard()
        #: running jobs that may have to give way, best rank first
        self.running: list[Running] = []
        #: for whom the GPUs of a node were promised last
        self.for_whom: dict[NodeName, Job] = {}
        #: those who do
        self.gone: list[Running] = []
        self._line_up(head)

    def _line_up(self, head: Place) -> None:
        """Those that rank behind the head of the queue; all others keep what they have."""
        state, now, may_stop = self.state, self.now, self.order.may_stop
        runners = state.look_at_runners(now)
        for job in runners.stopping.values():
            if job.allocation is not None:
                self.yard.add(parts_of(state, job.allocation))
        for rank, since, job_id in runners.behind(head):
            job = state.holding[job_id]
            if job.allocation is not None and may_stop(state, job, now):
                parts = parts_of(state, job.allocation)
                self.running.append((rank, since, job_id, parts))
                self.yard.add(parts)

    def settle_until(self, rank: Rank, since: float, job_id: JobId) -> None:
        """Running jobs that rank ahead of this one keep their GPUs, or give way to those ahead of them."""
        number = 0
        for entry in self.running:
            if entry[:3] > (rank, since, job_id):
                break
            number += 1
            self._settle(entry)
        del self.running[:number]

    def _settle(self, entry: Running) -> None:
        coming = self.yard.coming
        parts = entry[3]
        if all(coming.get(name, 0) >= count for name, count in parts):
            self.yard.add(parts, -1)
        else:
            self.gone.append(entry)

    def settle_rest(self) -> None:
        """Nobody who waits is left to look at."""
        for entry in self.running:
            self._settle(entry)
        self.running.clear()

    @property
    def reach(self) -> int:
        """GPUs that could still be given to anybody."""
        return self.room.total + self.yard.total

    def promise(self, job: Job) -> bool:
        """Keep GPUs for a job that finds too few free ones: those that are free there, and some that will be."""
        request = job.spec.request
        if not self.yard.coming:
            return False
        parts = self._choose(request)
        if parts is None:
            return False
        for name, count in parts:
            free = len(self.room.free.get(name, ()))
            self.room.withhold(name, min(free, count))
            self.yard.add([(name, max(0, count - free))], -1)
            self.for_whom[name] = job
        return True

    def _choose(self, request: Request) -> list[tuple[NodeName, int]] | None:
        """The nodes where it costs least."""
        state, room, coming = self.state, self.room, self.yard.coming
        # Cards of several kinds on one node are not told apart here: such a job waits until there are some free.
        is_any = is_plain(request) and (request.gpus == 1 or not state.has_mig())
        counts = {
            name: found
            for name, node in state.nodes.items()
            if (found := len(room.free.get(name, ())) + coming.get(name, 0)) > 0
            and (is_any or all(g in state.gpus and fits_type(state.gpus[g], request) for g in node.gpus))
            and room.has_cpus(node, request)
        }
        if request.gpu_memory_bytes is not None or not request.gpus:
            return None
        if request.nodes != 1:
            return split_gang(state, request, counts)
        able = [name for name, count in counts.items() if count >= request.gpus]
        if not able:
            return None
        if len(able) == 1:
            return [(able[0], request.gpus)]
        return [(min(able, key=lambda name: self._cost(name, request.gpus)), request.gpus)]

    def _cost(self, name: NodeName, need: int) -> tuple[float, float, int, int]:
        """What giving way there costs: the best rank that is stopped, GPU-seconds lost, jobs stopped, GPUs left over."""
        state = self.state
        free = len(self.room.free.get(name, ()))
        left = self.yard.coming.get(name, 0) - max(0, need - free)
        best, lost, stopped = float("inf"), 0.0, 0
        for rank, _since, job_id, parts in self.running:
            count = dict(parts).get(name, 0)
            if not count:
                continue
            if left >= count:
                left -= count
                continue
            job = state.jobs[job_id]
            since = job.granted_at if job.granted_at is not None else self.now
            best = min(best, rank[0] if rank else 0.0)
            lost += job.spec.request.gpus * (1.0 + self.now - since)
            stopped += 1
        return (-best, lost, stopped, left + free)

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
