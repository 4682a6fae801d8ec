"""What to do next: decide(state, now) -> Plan. Reads the state, changes nothing, asks no clock."""

from __future__ import annotations

from jupysched.core.actions import Action, End, Grant, Plan, Stop
from jupysched.core.job import Job
from jupysched.core.placement import place
from jupysched.core.resources import GpuId, NodeName
from jupysched.core.state import State
from jupysched.core.states import ENDED, JobState, Reason


def decide(state: State, *, now: float) -> Plan:
    """Return what should be done now, and when time alone will change the answer."""
    stops, wake_at = _overdue(state, now)
    actions: list[Action] = [*stops, *_hopeless(state), *_grants(state)]
    return Plan(actions=tuple(actions), wake_at=wake_at)


def _overdue(state: State, now: float) -> tuple[list[Stop], float | None]:
    """Attempts past their --time, and when the next one will be."""
    stops: list[Stop] = []
    wake_at: float | None = None
    for job_id in state.holding:
        job = state.jobs[job_id]
        limit = job.spec.request.time_limit_s
        if limit is None or job.state is not JobState.RUNNING or job.started_at is None:
            continue
        end = job.started_at + limit
        if end <= now:
            stops.append(
                Stop(job=job.id, attempt=job.attempt, reason=Reason.TIME_LIMIT, then=JobState.FAILED,
                     detail=f"ran {limit:g} s, the limit of its --time")
            )
        elif wake_at is None or end < wake_at:
            wake_at = end
    return stops, wake_at


def _hopeless(state: State) -> list[End]:
    """Blocked jobs whose dependency ended without success."""
    ends: list[End] = []
    for job_id in sorted(state.blocked):
        for other_id in state.jobs[job_id].spec.after:
            other = state.jobs.get(other_id)
            if other is not None and other.state in ENDED and other.state is not JobState.SUCCEEDED:
                detail = f"job {other_id} ({other.spec.name}), which it waited for, {other.state.value}"
                ends.append(End(job=job_id, state=JobState.CANCELLED, reason=Reason.DEPENDENCY, detail=detail))
                break
    return ends


def _grants(state: State) -> list[Grant]:
    """Grants in the order of the queue, up to the first job that does not fit: what is ahead is never passed."""
    free: dict[NodeName, list[GpuId]] = {n: list(f) for n, f in state.free.items() if f}
    grants: list[Grant] = []
    if not free:
        return grants
    for job in state.queue():
        grant = _grant(state, job, free)
        if grant is None:
            break
        grants.append(grant)
        for gpu in grant.allocation.gpus:
            free[state.gpus[gpu].node].remove(gpu)
        if not any(free.values()):
            break
    return grants


def _grant(state: State, job: Job, free: dict[NodeName, list[GpuId]]) -> Grant | None:
    allocation = place(state, job.spec.request, free)
    return None if allocation is None else Grant(job=job.id, attempt=job.attempt + 1, allocation=allocation)
