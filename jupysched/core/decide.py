"""What to do next: decide(state, now) -> Plan. Reads the state, changes nothing, asks no clock."""

from __future__ import annotations

from collections import deque

from jupysched.core.actions import Action, End, Plan, Stop
from jupysched.core.cycle import Cycle
from jupysched.core.job import JobId
from jupysched.core.limits import time_limit_of
from jupysched.core.state import State
from jupysched.core.states import ENDED, JobState, Reason
from jupysched.core.times import earliest


def decide(state: State, *, now: float) -> Plan:
    """Return what should be done now, and when time alone will change the answer."""
    actions: list[Action] = []
    wake_at: float | None = None
    if state.deadlines:
        stops, wake_at = _overdue(state, now)
        actions += stops
    if state.hopeless:
        actions += _hopeless(state)
    if state.lanes and state.order is not None:
        cycle = Cycle(state, state.order, now)
        actions += cycle.run()
        wake_at = earliest(wake_at, cycle.wake_at)
    return Plan(actions=tuple(actions), wake_at=wake_at)


def _overdue(state: State, now: float) -> tuple[list[Stop], float | None]:
    """Attempts past their limit, and when the next one will be."""
    stops: list[Stop] = []
    for end, job_id in state.deadlines:
        if end > now:
            return stops, float(end)
        job = state.jobs[job_id]
        limit = time_limit_of(state, job)
        whose = "its --time" if limit == job.spec.request.time_limit_s else "a job of its user, group or class"
        stops.append(
            Stop(
                job=job.id,
                attempt=job.attempt,
                reason=Reason.TIME_LIMIT,
                then=JobState.FAILED,
                detail=f"ran {limit:g} s, the limit of {whose}",
            )
        )
    return stops, None


def _hopeless(state: State) -> list[End]:
    """Blocked jobs whose dependency ended without success, and those that wait for them in turn."""
    ends: dict[JobId, End] = {}
    todo = deque(sorted(state.hopeless))
    while todo:
        job_id = todo.popleft()
        for other_id in state.jobs[job_id].spec.after:
            other = state.jobs.get(other_id)
            if other is None or job_id in ends:
                continue
            if other_id in ends or (other.state in ENDED and other.state is not JobState.SUCCEEDED):
                how = words_of(ends[other_id].state if other_id in ends else other.state)
                detail = f"job {other_id} ({other.spec.name}), which it waited for, {how}"
                ends[job_id] = End(job=job_id, state=JobState.CANCELLED, reason=Reason.DEPENDENCY, detail=detail)
                todo += sorted(j for j in state.dependents.get(job_id, ()) if j in state.blocked)
    return list(ends.values())


def words_of(state: JobState) -> str:
    """How a job ended, in a sentence."""
    return "was cancelled" if state is JobState.CANCELLED else state.value
