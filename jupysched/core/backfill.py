"""Who may start past the head of the queue: only those who cannot delay it. Knows lengths and room, not order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from jupysched.core.job import Job, kinds_of
from jupysched.core.limits import time_limit_of
from jupysched.core.placement import Room, could_ever_fit, fits_type, is_plain, parts_of
from jupysched.core.resources import Allocation, GpuId, NodeName, Request
from jupysched.core.state import State
from jupysched.core.states import JobState

#: a job that would pass is taken to end by the length that this share of its like did not exceed ...
LATE = 0.95
#: ... and one that runs by the length that this share did not: so the head's start is promised rather too early than
#: too late, and a job that passes is rather too long than too short
SOON = 0.25
#: seen at least so often, else nothing is known
AT_LEAST = 5


class Amount(NamedTuple):
    """Of one node: GPUs, cores, and bytes of RAM."""

    gpus: int
    cpus: int
    memory_bytes: int

    def covers(self, need: Amount) -> bool:
        """Is there as much of everything?"""
        return self.gpus >= need.gpus and self.cpus >= need.cpus and self.memory_bytes >= need.memory_bytes

    def more(self, other: Amount) -> Amount:
        """Both together."""
        return Amount(self.gpus + other.gpus, self.cpus + other.cpus, self.memory_bytes + other.memory_bytes)

    def less(self, other: Amount) -> Amount:
        """What is left."""
        return Amount(self.gpus - other.gpus, self.cpus - other.cpus, self.memory_bytes - other.memory_bytes)


def amount_of(request: Request) -> Amount:
    """What a request needs of the node that it gets."""
    return Amount(request.gpus, request.cpus or (0 if request.gpus else 1), request.memory_bytes or 0)


@dataclass(slots=True)
class Reserved:
    """The promised start of the head job: where, when, and what it will leave over of the node."""

    head: Request
    at: float
    node: NodeName
    spare: Amount


def length_of(state: State, job: Job) -> float:
    """Seconds that it runs at most, as far as can be said before it starts; infinite if nothing is known."""
    limit = time_limit_of(state, job)
    if limit is not None:
        return limit
    lengths = state.history.best(kinds_of(job.spec), at_least=AT_LEAST)
    found = None if lengths is None else lengths.quantile(LATE, beyond_s=job.attained_s)
    return math.inf if found is None else found - job.attained_s


def end_of(state: State, job: Job, now: float) -> float:
    """When a job that holds GPUs gives them back; infinite if nothing is known."""
    started = job.started_at if job.started_at is not None else now
    limit = time_limit_of(state, job)
    if limit is not None:
        return max(now, started + limit)
    lengths = state.history.best(kinds_of(job.spec), at_least=AT_LEAST)
    before = job.attained_s + now - started
    found = None if lengths is None else lengths.quantile(SOON, beyond_s=before)
    return math.inf if found is None else max(now, now + found - before)


def reserve_for(
    state: State, room: Room, job: Job, now: float, started: Iterable[tuple[Job, Allocation]] = ()
) -> Reserved | None:
    """The earliest time and node at which the head job has what it asks for, if all goes as stated.

    `started`: jobs that this cycle has granted, which the state does not know yet.
    None, and then nobody passes it, if it spreads over nodes or if nothing is known of when those ahead will end."""
    request = job.spec.request
    if request.nodes != 1:
        return None
    ends = _endings(state, request, now, started)
    best: Reserved | None = None
    for name, node in state.nodes.items():
        free = sum(1 for g in room.free.get(name, ()) if fits_type(state.gpus[g], request))
        found = _earliest(
            Amount(free, room.free_cpus(node), room.free_memory(node)),
            sorted(ends.get(name, ())),
            amount_of(request),
            now,
        )
        if found is not None and (best is None or found[0] < best.at) and _could(state, name, request):
            best = Reserved(head=request, at=found[0], node=name, spare=found[1])
    return None if best is None or best.at == math.inf else best


def _endings(
    state: State, request: Request, now: float, started: Iterable[tuple[Job, Allocation]]
) -> dict[NodeName, list[tuple[float, Amount]]]:
    """When each node gets how much back of what a request could use."""
    ends: dict[NodeName, list[tuple[float, Amount]]] = {}
    #: a GPU that is shared is free when the last of its jobs has ended
    shared: dict[GpuId, float] = {}
    is_any = is_plain(request) and not state.has_mig()
    for holder, held in (*((h, h.allocation) for h in state.holding.values()), *started):
        if held is None:
            continue
        end = now if holder.state is JobState.STOPPING else end_of(state, holder, now)
        if held.gpu_memory_bytes is not None:
            for gpu in held.gpus:
                shared[gpu] = max(end, shared.get(gpu, now))
            parts: Iterable[tuple[NodeName, int]] = [(held.nodes[0], 0)]
        elif is_any:
            parts = parts_of(state, held)
        else:
            fitting = [state.gpus[g].node for g in held.gpus if g in state.gpus and fits_type(state.gpus[g], request)]
            parts = [(name, fitting.count(name)) for name in held.nodes]
        for place, (name, count) in enumerate(parts):
            leads = place == 0
            given = Amount(count, held.cpus if leads else 0, held.memory_bytes if leads else 0)
            ends.setdefault(name, []).append((end, given))
    for gpu_id, end in shared.items():
        known = state.gpus.get(gpu_id)
        if known is not None and fits_type(known, request):
            ends.setdefault(known.node, []).append((end, Amount(1, 0, 0)))
    return ends


def _could(state: State, name: NodeName, request: Request) -> bool:
    return len(state.nodes) == 1 or could_ever_fit(state, request, usable=True, only=name)


def _earliest(free: Amount, ends: list[tuple[float, Amount]], need: Amount, now: float) -> tuple[float, Amount] | None:
    """(when, what is over) as one node gets back what was granted; None if it never suffices."""
    if free.covers(need):
        return (now, free.less(need))
    for number, (end, given) in enumerate(ends):
        free = free.more(given)
        if free.covers(need):
            # What ends at the same moment is free then too.
            for _, later in (e for e in ends[number + 1 :] if e[0] == end):
                free = free.more(later)
            return (end, free.less(need))
    return None


def place_around(
    state: State, room: Room, job: Job, reserved: Reserved, now: float, *, only: Iterable[NodeName] | None = None
) -> Allocation | None:
    """Room for a job behind the head, if it ends before the head's promised start or leaves alone what the head needs."""
    request = job.spec.request
    allocation = room.place(request, only=only)
    if allocation is None or now + length_of(state, job) <= reserved.at:
        return allocation
    taken = _taken(state, room, allocation, reserved)
    if not reserved.spare.covers(taken):
        return room.place(request, only=only, but_not=reserved.node)
    reserved.spare = reserved.spare.less(taken)
    return allocation


def _taken(state: State, room: Room, allocation: Allocation, reserved: Reserved) -> Amount:
    """What it takes of what the head could use. A share of a GPU that is shared already takes no GPU."""
    free = room.free.get(reserved.node, ())
    gpus = sum(1 for g in allocation.gpus if g in free and fits_type(state.gpus[g], reserved.head))
    if allocation.nodes[0] != reserved.node:
        return Amount(gpus, 0, 0)
    return Amount(gpus, allocation.cpus, allocation.memory_bytes)
