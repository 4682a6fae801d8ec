"""Why a job waits, and when it should start, in one plain sentence. From the same state that decide reads."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from jupysched.core.job import Job, JobId
from jupysched.core.placement import could_ever_fit
from jupysched.core.state import State
from jupysched.core.states import REASONS, JobState, Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What to tell the person who waits."""

    reason: Reason | None
    sentence: str
    position: int | None = None
    #: unix time; None where nobody ahead has stated a length
    expected_start_at: float | None = None


def explain(state: State, job_id: JobId, *, now: float) -> Explanation:
    """Return the reason and one sentence for a job in any state."""
    job = state.jobs[job_id]
    if job.state is JobState.PENDING:
        return _pending(state, job, now)
    if job.reason is None:
        return Explanation(reason=None, sentence="")
    base = REASONS[job.reason]
    return Explanation(reason=job.reason, sentence=job.detail if _is_sentence(job.detail) else base)


def _is_sentence(detail: str) -> bool:
    return " " in detail


def _pending(state: State, job: Job, now: float) -> Explanation:
    if job.id in state.blocked:
        names = [
            f"job {o} ({state.jobs[o].spec.name})"
            for o in job.spec.after
            if o in state.jobs and state.jobs[o].state is not JobState.SUCCEEDED
        ]
        return Explanation(reason=Reason.DEPENDENCY, sentence=f"waits for {', '.join(names)} to succeed")
    position = state.position(job.id)
    wanted = job.spec.request.gpus
    unit = _unit(state, wanted)
    if not state.nodes:
        return Explanation(reason=Reason.NODE_DRAINED, position=position, sentence="no node has joined yet")
    if not could_ever_fit(state, job.spec.request):
        return Explanation(
            reason=Reason.GANG_TOO_WIDE,
            position=position,
            sentence=f"needs {unit} on one node; the largest node has {state.widest_node()}",
        )
    free = max((len(f) for f in state.free.values()), default=0)
    sentence = f"needs {unit} on one node; {free or 'none'} {'is' if free <= 1 else 'are'} free"
    if position is not None and position > 1:
        ahead = position - 1
        sentence += f"; {ahead} job{'s' if ahead > 1 else ''} ahead of it"
    ending = _next_end(state)
    if ending is not None:
        sentence += f"; {ending}"
    usable = sum(1 for g in state.gpus.values() if g.is_usable)
    reason = Reason.PRIORITY if position and position > 1 else Reason.RESOURCES
    if usable < wanted:
        reason = Reason.NODE_DRAINED
        sentence = f"needs {unit}; only {usable} of {len(state.gpus)} are usable now ({_drained(state)})"
    start = _expected_start(state, job, now)
    return Explanation(reason=reason, sentence=sentence, position=position, expected_start_at=start)


def _unit(state: State, wanted: int) -> str:
    slots = any(g.kind.value == "cpu_slot" for g in state.gpus.values())
    return f"{wanted} {'CPU slot' if slots else 'GPU'}{'s' if wanted != 1 else ''}"


def _drained(state: State) -> str:
    said = [s for g in state.gpus.values() for s in (*g.drains.values(), *g.foreign)]
    return said[0] if said else "drained"


def _next_end(state: State) -> str | None:
    running = [state.jobs[j] for j in state.holding]
    if not running:
        return None
    if len(running) == 1:
        return f"job {running[0].id} ({running[0].spec.name}, {running[0].spec.user}) is running"
    return f"{len(running)} jobs are running"


def _expected_start(state: State, job: Job, now: float) -> float | None:
    """When enough GPUs come free if every job ahead runs to its --time; None if one of them has not stated any."""
    frees: list[tuple[float, int]] = [(now, state.free_gpus())]
    for holder_id in state.holding:
        holder = state.jobs[holder_id]
        limit = holder.spec.request.time_limit_s
        if limit is None:
            return None
        frees.append(((holder.started_at or now) + limit, holder.spec.request.gpus))
    heapq.heapify(frees)
    have, at = 0, now
    for ahead in state.queue():
        need = ahead.spec.request.gpus
        while have < need:
            if not frees:
                return None
            at_free, count = heapq.heappop(frees)
            at, have = max(at, at_free), have + count
        if ahead.id == job.id:
            return at
        have -= need
        limit = ahead.spec.request.time_limit_s
        if limit is None:
            return None
        heapq.heappush(frees, (at + limit, need))
    return None
