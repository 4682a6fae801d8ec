"""What would start now if it were submitted: the question is put to the very cycle that decides."""

from __future__ import annotations

from msgspec.structs import replace

from jupysched.core.actions import Grant
from jupysched.core.cycle import Cycle
from jupysched.core.indexes import join_lane, leave_lane, return_to_lane
from jupysched.core.job import Job, JobId, JobSpec
from jupysched.core.resources import Request
from jupysched.core.state import State
from jupysched.core.states import JobState


def would_start(state: State, spec: JobSpec, now: float, *, instead: Job) -> bool:
    """Would a job of this spec, submitted now instead of one that waits, be granted GPUs in the next cycle?

    The state is left as it was."""
    if state.order is None:
        return False
    number = JobId(state.next_id)
    job = Job(
        id=number, spec=spec, state=JobState.PENDING, priority=spec.priority, submitted_at=now, since=now, queued_at=now
    )
    stood = state.standing.get(instead.id)
    leave_lane(state, instead)
    state.jobs[number] = job
    try:
        join_lane(state, job)
        actions = Cycle(state, state.order, now).run()
    finally:
        leave_lane(state, job)
        del state.jobs[number]
        if stood is not None:
            return_to_lane(state, instead, *stood)
    return any(isinstance(a, Grant) and a.job == number for a in actions)


def smaller(state: State, job: Job, now: float) -> int | None:
    """The most GPUs, fewer than it asks, with which a job like it would start now."""
    asked = job.spec.request.gpus
    if job.spec.request.nodes != 1:
        return None
    most = max((len(f) for f in state.free.values()), default=0)
    for gpus in range(min(asked - 1, most), 0, -1):
        if would_start(state, _with(job.spec, replace(job.spec.request, gpus=gpus)), now, instead=job):
            return gpus
    return None


def shorter(state: State, job: Job, now: float) -> float | None:
    """The longest --time, of those that people ask for, with which a job like it would start now."""
    limit = job.spec.request.time_limit_s
    for seconds in (4 * 3600.0, 3600.0, 1200.0, 300.0):
        if limit is not None and seconds >= limit:
            continue
        if would_start(state, _with(job.spec, replace(job.spec.request, time_limit_s=seconds)), now, instead=job):
            return seconds
    return None


def _with(spec: JobSpec, request: Request) -> JobSpec:
    return replace(spec, request=request, after=())
