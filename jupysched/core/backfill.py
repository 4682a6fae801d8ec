"""Who may start past the head of the queue: only those who cannot delay it. Knows lengths and room, not order."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from jupysched.core.job import Job, kinds_of
from jupysched.core.limits import time_limit_of
from jupysched.core.placement import Room, could_ever_fit, parts_of
from jupysched.core.resources import Allocation, NodeName, Request
from jupysched.core.state import State
from jupysched.core.states import JobState

#: a job that would pass is taken to end by the length that this share of its like did not exceed ...
LATE = 0.95
#: ... and one that runs by the length that this share did not: so the head's start is promised rather too early than
#: too late, and a job that passes is rather too long than too short
SOON = 0.25
#: seen at least so often, else nothing is known
AT_LEAST = 5


@dataclass(slots=True)
class Reserved:
    """The promised start of the head job: where, when, and how many GPUs there it will leave over."""

    at: float
    node: NodeName
    spare: int


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
    """The earliest time and node at which the head job has its GPUs, if all goes as stated.

    `started`: jobs that this cycle has granted, which the state does not know yet.
    None, and then nobody passes it, if it spreads over nodes or if nothing is known of when those ahead will end."""
    request = job.spec.request
    if request.nodes != 1:
        return None
    ends: dict[NodeName, list[tuple[float, int]]] = {}
    holders = [(holder, holder.allocation) for holder in state.holding.values()]
    for holder, held in (*holders, *started):
        if held is None or held.gpu_memory_bytes is not None:
            continue
        end = now if holder.state is JobState.STOPPING else end_of(state, holder, now)
        for name, count in parts_of(state, held):
            ends.setdefault(name, []).append((end, count))
    best: Reserved | None = None
    for name in state.nodes:
        found = _earliest(len(room.free.get(name, ())), sorted(ends.get(name, ())), request.gpus, now)
        if found is not None and (best is None or found[0] < best.at) and _could(state, name, request):
            best = Reserved(at=found[0], node=name, spare=found[1])
    return None if best is None or best.at == math.inf else best


def _could(state: State, name: NodeName, request: Request) -> bool:
    return len(state.nodes) == 1 or could_ever_fit(state, request, usable=True, only=name)


def _earliest(free: int, ends: list[tuple[float, int]], need: int, now: float) -> tuple[float, int] | None:
    """(when, GPUs over) as GPUs of one node come free; None if they never suffice."""
    if free >= need:
        return (now, free - need)
    for number, (end, count) in enumerate(ends):
        free += count
        if free >= need:
            # What ends at the same moment is free then too.
            later = sum(c for e, c in ends[number + 1 :] if e == end)
            return (end, free + later - need)
    return None


def place_around(state: State, room: Room, job: Job, reserved: Reserved, now: float) -> Allocation | None:
    """GPUs for a job behind the head, if it ends before the head's promised start or leaves its GPUs alone."""
    if now + length_of(state, job) <= reserved.at:
        return room.place(job.spec.request)
    allocation = room.place(job.spec.request, cap=(reserved.node, reserved.spare))
    if allocation is not None and reserved.node in allocation.nodes and allocation.gpu_memory_bytes is None:
        reserved.spare -= len(allocation.gpus)
    return allocation
