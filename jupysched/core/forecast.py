"""When those that wait should start, as a range. Knows order, room and lengths; promises nothing.

The queue is played forward on the nodes, once with the lengths that most jobs do not reach (soon) and once with those
that few exceed (late): limits where there are any, else what like jobs took. Preemption and late-comers are left out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from jupysched.core.backfill import AT_LEAST, LATE, SOON, Amount, amount_of
from jupysched.core.job import Job, JobId, kinds_of
from jupysched.core.limits import time_limit_of
from jupysched.core.placement import Room
from jupysched.core.resources import GpuId, NodeName
from jupysched.core.state import State
from jupysched.core.states import JobState
from jupysched.core.yard import ANY, Pool, parts_in_pools, pool_of, pools_for

#: of a long queue only so many are told; beyond them a time would be a guess
FIRST = 200


@dataclass(slots=True)
class Place:
    """The GPUs of one kind on one node as they come free, with the node's cores and RAM."""

    free: Amount
    ends: list[tuple[float, Amount]] = field(default_factory=list)

    def when(self, need: Amount, at: float) -> float:
        """The earliest time from `at` on with so much free."""
        free = self.free
        if free.covers(need):
            return at
        for end, given in sorted(self.ends):
            free = free.more(given)
            if free.covers(need):
                return max(at, end)
        return math.inf

    def take(self, need: Amount, at: float, until: float) -> None:
        """A job starts here at `at`."""
        for end, given in [e for e in self.ends if e[0] <= at]:
            self.free = self.free.more(given)
            self.ends.remove((end, given))
        self.free = self.free.less(need)
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
    places = _places(state, now, share)
    starts: dict[JobId, float] = {}
    at = now
    for number, job in enumerate(state.queue(now)):
        if number >= FIRST:
            break
        request = job.spec.request
        need = amount_of(request)
        able = (pool for name in state.nodes for pool in sorted(pools_for(state, name, request)))
        best: tuple[float, Pool] | None = min(((places[pool].when(need, at), pool) for pool in able), default=None)
        if best is None or request.nodes != 1 or math.isinf(best[0]):
            starts[job.id] = math.inf
            continue
        starts[job.id] = at = best[0]
        places[best[1]].take(need, at, at + length(state, job, share))
    return starts


def _places(state: State, now: float, share: float) -> dict[Pool, Place]:
    room = Room(state)
    places: dict[Pool, Place] = {}
    pools: dict[NodeName, set[Pool]] = {}
    for name, node in state.nodes.items():
        free = Counter(pool_of(state, state.gpus[g]) for g in room.free.get(name, ()))
        # A node without GPUs has cores to give all the same.
        pools[name] = {pool_of(state, state.gpus[g]) for g in node.gpus if g in state.gpus} or {(name, ANY)}
        for pool in pools[name]:
            places[pool] = Place(Amount(free[pool], room.free_cpus(node), room.free_memory(node)))
    #: a GPU that is shared is free when the last of its jobs has ended
    shared: dict[GpuId, float] = {}
    for job in state.holding.values():
        held = job.allocation
        if held is None:
            continue
        ran = now - job.started_at if job.started_at is not None else 0.0
        end = now if job.state is JobState.STOPPING else now + length(state, job, share, ran)
        is_share = held.gpu_memory_bytes is not None
        for gpu_id in held.gpus if is_share else ():
            shared[gpu_id] = max(end, shared.get(gpu_id, now))
        counts = {} if is_share else dict(parts_in_pools(state, held).gpus)
        for number, name in enumerate(held.nodes):
            cpus, memory = (held.cpus, held.memory_bytes) if number == 0 else (0, 0)
            for pool in pools.get(name, ()):
                places[pool].ends.append((end, Amount(counts.get(pool, 0), cpus, memory)))
    for gpu_id, end in shared.items():
        gpu = state.gpus.get(gpu_id)
        if gpu is not None and gpu.node in pools:
            places[pool_of(state, gpu)].ends.append((end, Amount(1, 0, 0)))
    return places
