"""The one door: fold(state, event) is the only function that changes the state.

An event that the table of states does not allow for the job's state, or that speaks of an attempt that is not the
newest (a fenced voice), changes nothing."""

from __future__ import annotations

from dataclasses import replace

from jupysched.core import events as ev
from jupysched.core.indexes import reindex_gpu, reindex_job, remove_job, remove_node
from jupysched.core.job import Job
from jupysched.core.outcome import after_end
from jupysched.core.resources import Allocation
from jupysched.core.state import State
from jupysched.core.states import ENDED, JobState, Reason, may_change

S = JobState
EVENT_NAMES: dict[type, str] = {
    ev.HoldAsked: "hold_asked",
    ev.ReleaseAsked: "release_asked",
    ev.CancelAsked: "cancel_asked",
    ev.RequeueAsked: "requeue_asked",
    ev.PriorityChanged: "priority_changed",
    ev.Granted: "granted",
    ev.AttemptStarted: "attempt_started",
    ev.AttemptRefused: "attempt_refused",
    ev.StopOrdered: "stop_ordered",
    ev.AttemptEnded: "attempt_ended",
    ev.AttemptLost: "attempt_lost",
    ev.JobEnded: "job_ended",
}


def fold(state: State, event: ev.Event) -> State:
    """Apply one fact to the state, in place, and return it."""
    state.version += 1
    if isinstance(event, ev.Submitted):
        _submitted(state, event)
    elif isinstance(event, ev.NodeEvent):
        _node(state, event)
    elif isinstance(event, ev.PolicySet):
        state.policy, state.policy_settings = event.name, dict(event.settings)
    elif isinstance(event, ev.Forgotten):
        for job_id in event.jobs:
            state.next_id = max(state.next_id, job_id + 1)  # an id is never handed out again
            if job_id in state.jobs and state.jobs[job_id].state in ENDED:
                remove_job(state, job_id)
    else:
        job = state.jobs.get(event.job)
        if job is not None and is_heard(job, event):
            reindex_job(state, job, changed(job, event))
    return state


def is_heard(job: Job, event: ev.JobEvent) -> bool:
    """Does the event speak of the newest attempt, and does the table of states know it?"""
    if isinstance(event, ev.Granted):
        if event.attempt != job.attempt + 1:
            return False
    elif isinstance(event, ev.AttemptStarted | ev.AttemptRefused | ev.StopOrdered | ev.AttemptEnded | ev.AttemptLost):
        if event.attempt != job.attempt:
            return False
    return may_change(job.state, EVENT_NAMES[type(event)])


def _submitted(state: State, event: ev.Submitted) -> None:
    if event.job in state.jobs:
        return
    state.next_id = max(state.next_id, event.job + 1)
    job = Job(
        id=event.job,
        spec=event.spec,
        state=S.PENDING,
        priority=event.spec.priority,
        submitted_at=event.at,
        queued_at=event.at,
    )
    reindex_job(state, None, job)


def changed(job: Job, event: ev.JobEvent) -> Job:
    """The job after an event that it heard."""
    match event:
        case ev.HoldAsked():
            reason = Reason.HELD_BY_ADMIN if event.admin else Reason.HELD_BY_USER
            return replace(job, state=S.HELD, reason=reason, detail=event.by)
        case ev.ReleaseAsked():
            return replace(job, state=S.PENDING, reason=None, detail="")
        case ev.CancelAsked():
            reason = Reason.CANCELLED_BY_ADMIN if event.admin else Reason.CANCELLED_BY_USER
            return replace(job, state=S.CANCELLED, reason=reason, detail=event.by, ended_at=event.at)
        case ev.RequeueAsked():
            return replace(
                job, state=S.PENDING, reason=None, detail="", queued_at=event.at, ended_at=None, started_at=None,
                granted_at=None, exit=None, failures=0,
            )
        case ev.PriorityChanged():
            return replace(job, priority=event.priority)
        case ev.Granted():
            return _granted(job, event.at, event.attempt, event.allocation)
        case ev.AttemptStarted():
            return replace(job, state=S.RUNNING, started_at=event.at)
        case ev.StopOrdered():
            # A cancel outranks what the attempt was being stopped for before (a preemption, a requeue).
            then = S.CANCELLED if job.after_stop is S.CANCELLED else event.then
            keep = job.state is S.STOPPING and job.after_stop is S.CANCELLED
            return replace(
                job, state=S.STOPPING, after_stop=then,
                reason=job.reason if keep else event.reason, detail=job.detail if keep else event.detail,
            )
        case ev.AttemptRefused() | ev.AttemptEnded() | ev.AttemptLost():
            return after_end(job, event)
        case ev.JobEnded():
            return replace(job, state=event.state, reason=event.reason, detail=event.detail, ended_at=event.at)


def _granted(job: Job, at: float, attempt: int, allocation: Allocation) -> Job:
    return replace(
        job, state=S.STARTING, reason=None, detail="", attempt=attempt, allocation=allocation, ran_on=allocation,
        granted_at=at, started_at=None, exit=None, waited_s=job.waited_s + max(0.0, at - job.queued_at),
    )


def _node(state: State, event: ev.NodeEvent) -> None:
    match event:
        case ev.NodeJoined():
            state.nodes[event.node.name] = event.node
            for gpu in event.gpus:
                known = state.gpus.get(gpu.id)
                # An admin's drain outlives a rejoin; what the probe found before is found again if it still stands.
                kept = {c: s for c, s in known.drains.items() if c == "admin"} if known else {}
                reindex_gpu(state, replace(gpu, drains={**gpu.drains, **kept}))
        case ev.NodeLost():
            remove_node(state, event.node)
        case ev.GpuDrained() | ev.GpuRestored() | ev.GpuForeign():
            gpu_now = state.gpus.get(event.gpu)
            if gpu_now is None:
                return
            if isinstance(event, ev.GpuForeign):
                reindex_gpu(state, replace(gpu_now, foreign=event.sentences))
            elif isinstance(event, ev.GpuDrained):
                reindex_gpu(state, replace(gpu_now, drains={**gpu_now.drains, event.cause: event.sentence}))
            else:
                drains = {c: s for c, s in gpu_now.drains.items() if c != event.cause}
                reindex_gpu(state, replace(gpu_now, drains=drains))
