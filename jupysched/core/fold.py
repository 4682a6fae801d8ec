"""The one door: fold(state, event) is the only function that changes the state.

An event that the table of states does not allow for the job's state, or that speaks of an attempt that is not the
newest (a fenced voice), changes nothing."""

from __future__ import annotations

from typing import assert_never, cast

from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.fragmentation import want_of
from jupysched.core.indexes import (
    rebuild_deadlines,
    rebuild_lanes,
    reindex_gpu,
    reindex_job,
    remove_job,
    remove_node,
)
from jupysched.core.job import Job, Moved, kinds_of
from jupysched.core.outcome import after_end
from jupysched.core.policies import make_policy
from jupysched.core.resources import Allocation
from jupysched.core.rules import Reservation, Share
from jupysched.core.state import State
from jupysched.core.states import ENDED, TRANSITIONS, JobState, Reason

S = JobState
EVENT_NAMES: dict[type, str] = {
    ev.Granted: "granted",
    ev.AttemptStarted: "attempt_started",
    ev.AttemptEnded: "attempt_ended",
    ev.StopOrdered: "stop_ordered",
    ev.HoldAsked: "hold_asked",
    ev.ReleaseAsked: "release_asked",
    ev.CancelAsked: "cancel_asked",
    ev.RequeueAsked: "requeue_asked",
    ev.PriorityChanged: "priority_changed",
    ev.MovedToFront: "moved_to_front",
    ev.GaveWay: "gave_way",
    ev.AttemptRefused: "attempt_refused",
    ev.AttemptLost: "attempt_lost",
    ev.Suspended: "suspended",
    ev.Resumed: "resumed",
    ev.JobEnded: "job_ended",
}
OtherEvent = ev.NodeEvent | ev.RuleEvent | ev.Forgotten
#: speak of one attempt, and are heard only if it is the newest
_OF_ATTEMPT = (
    ev.AttemptStarted, ev.AttemptEnded, ev.StopOrdered, ev.AttemptRefused, ev.AttemptLost, ev.Suspended, ev.Resumed
)  # fmt: skip


def fold(state: State, event: ev.Event) -> State:
    """Apply one fact to the state, in place, and return it."""
    state.version += 1
    # The clock may have been set back between two events; the state's own time never is.
    state.now = max(state.now, event.at)
    if state.order is None:
        state.order = make_policy(state.policy, state.policy_settings)
    if isinstance(event, ev.Submitted):
        _submitted(state, event)
    elif type(event) in EVENT_NAMES:
        event = cast(ev.JobEvent, event)
        job = state.jobs.get(event.job)
        if job is not None and is_heard(job, event):
            new = changed(job, event)
            if isinstance(event, ev.AttemptEnded | ev.AttemptLost):
                new = _learnt(state, job, new, event)
            reindex_job(state, job, new)
    else:
        _other(state, cast(OtherEvent, event))
    return state


def is_heard(job: Job, event: ev.JobEvent) -> bool:
    """Does the event speak of the newest attempt, and does the table of states know it?"""
    if isinstance(event, ev.Granted):
        if event.attempt != job.attempt + 1:
            return False
    elif isinstance(event, _OF_ATTEMPT) and event.attempt != job.attempt:
        return False
    return (job.state, EVENT_NAMES[type(event)]) in TRANSITIONS


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
        since=event.at,
        queued_at=event.at,
    )
    state.siblings.came(job)
    if (sent := event.spec.submission) is not None:
        state.submissions[event.spec.uid, sent.key] = range(event.job, event.job + sent.jobs)
    request = event.spec.request
    state.mix.came(want_of(request, 0 if request.nodes else state.widest_node()))
    reindex_job(state, None, job)


def changed(job: Job, event: ev.JobEvent) -> Job:
    """The job after an event that it heard."""
    match event:
        case ev.Granted():
            return _granted(job, event.at, event.attempt, event.allocation)
        case ev.AttemptStarted():
            return replace(job, state=S.RUNNING, started_at=event.at)
        case ev.AttemptEnded() | ev.AttemptRefused() | ev.AttemptLost():
            return after_end(job, event)
        case ev.StopOrdered():
            return _stopping(job, event)
        case ev.Suspended() | ev.Resumed():
            return _frozen_or_thawed(job, event)
        case ev.JobEnded():
            return replace(job, state=event.state, reason=event.reason, detail=event.detail, ended_at=event.at)
        case _:
            return _asked(job, event)


Asked = (
    ev.HoldAsked
    | ev.ReleaseAsked
    | ev.CancelAsked
    | ev.RequeueAsked
    | ev.PriorityChanged
    | ev.MovedToFront
    | ev.GaveWay
)


def _asked(job: Job, event: Asked) -> Job:
    """The job after what a person asked of it."""
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
                job, state=S.PENDING, reason=None, detail="", queued_at=event.at, since=event.at, ended_at=None,
                started_at=None, granted_at=None, exit=None, failures=0, moved=None,
            )  # fmt: skip
        case ev.PriorityChanged():
            return replace(job, priority=event.priority)
        case ev.MovedToFront():
            return replace(job, since=event.since, moved=Moved(by=event.by, at=event.at, place=event.place))
        case ev.GaveWay():
            return replace(job, since=event.since)
        case _:
            assert_never(event)


def _granted(job: Job, at: float, attempt: int, allocation: Allocation) -> Job:
    return replace(
        job, state=S.STARTING, reason=None, detail="", attempt=attempt, allocation=allocation, ran_on=allocation,
        granted_at=at, started_at=None, exit=None, stops=0, moved=None, waited_s=job.waited_s + max(0.0, at - job.queued_at),
    )  # fmt: skip


def _stopping(job: Job, event: ev.StopOrdered) -> Job:
    # A cancel outranks what the attempt was being stopped for before (a preemption, a requeue).
    if job.state is S.STOPPING and job.after_stop is S.CANCELLED:
        return replace(job, stops=job.stops + 1)
    return replace(
        job, state=S.STOPPING, after_stop=event.then, reason=event.reason, detail=event.detail, stops=job.stops + 1
    )


def _frozen_or_thawed(job: Job, event: ev.Suspended | ev.Resumed) -> Job:
    if isinstance(event, ev.Suspended):
        ran = max(0.0, event.at - job.started_at) if job.started_at is not None else 0.0
        return replace(
            job, state=S.SUSPENDED, allocation=None, frozen_s=ran, started_at=None, queued_at=event.at,
            reason=Reason.PREEMPTED, detail=event.detail, preemptions=job.preemptions + 1,
        )  # fmt: skip
    return replace(
        job, state=S.RUNNING, allocation=event.allocation, ran_on=event.allocation, reason=None, detail="",
        started_at=event.at - job.frozen_s, frozen_s=0.0, waited_s=job.waited_s + max(0.0, event.at - job.queued_at),
    )  # fmt: skip


def _learnt(state: State, old: Job, new: Job, event: ev.AttemptEnded | ev.AttemptLost) -> Job:
    """What the state makes of an attempt's end: a lesson about lengths, and whether its node went with it."""
    if isinstance(event, ev.AttemptEnded):
        if new.state is S.SUCCEEDED or new.state is S.FAILED:
            state.history.turned_around(event.at - new.since)
            state.history.learn(kinds_of(new.spec), old.attained_s, new.attained_s, is_end=True)
            state.siblings.ran(new, is_end=True)
        elif new.state is S.PENDING:
            state.history.learn(kinds_of(new.spec), old.attained_s, new.attained_s, is_end=False)
            state.siblings.ran(new, is_end=False)
    elif new.reason is Reason.LEASE_EXPIRED:
        gone = new.ran_on is not None and any(n not in state.nodes for n in new.ran_on.nodes)
        return replace(new, reason=Reason.NODE_LOST) if gone else new
    return new


def _other(state: State, event: OtherEvent) -> None:
    if isinstance(event, ev.Forgotten):
        for job_id in event.jobs:
            if job_id in state.jobs and state.jobs[job_id].state in ENDED:
                remove_job(state, job_id)
    elif isinstance(event, ev.NodeJoined | ev.NodeLost | ev.GpuDrained | ev.GpuRestored | ev.GpuForeign):
        _node(state, event)
    else:
        _rule(state, event)


def _rule(state: State, event: ev.RuleEvent) -> None:
    rules = state.rules
    match event:
        case ev.PolicySet():
            state.policy, state.policy_settings = event.name, dict(event.settings)
            state.order = make_policy(event.name, event.settings)
            if "half_life_s" in state.order.settings:
                state.ledger.half_life_s = float(state.order.settings["half_life_s"])
        case ev.LimitsSet():
            rules.limits.pop(event.scope, None)
            if event.limits:
                rules.limits[event.scope] = dict(event.limits)
            rebuild_deadlines(state)
        case ev.ShareSet():
            rules.shares.pop(event.scope, None)
            if event.share > 0:
                rules.shares[event.scope] = Share(share=event.share, parent=event.parent)
        case ev.ReservationMade():
            rules.reservations[event.name] = Reservation(
                name=event.name, scope=event.scope, gpus=event.gpus, starts_at=event.starts_at, ends_at=event.ends_at
            )
        case ev.ReservationEnded():
            rules.reservations.pop(event.name, None)
    rebuild_lanes(state)


def _node(state: State, event: ev.NodeEvent) -> None:
    match event:
        case ev.NodeJoined():
            remove_node(state, event.node.name, keep=event.gpus)
            state.nodes[event.node.name] = event.node
            for gpu in event.gpus:
                # An admin's drain outlives a rejoin; what the probe found before is found again if it still stands.
                kept = {"admin": state.admin_drains[gpu.id]} if gpu.id in state.admin_drains else {}
                reindex_gpu(state, replace(gpu, drains={**gpu.drains, **kept}))
        case ev.NodeLost():
            remove_node(state, event.node)
        case ev.GpuDrained() | ev.GpuRestored() | ev.GpuForeign():
            if isinstance(event, ev.GpuDrained) and event.cause == "admin":
                state.admin_drains[event.gpu] = event.sentence
            elif isinstance(event, ev.GpuRestored) and event.cause == "admin":
                state.admin_drains.pop(event.gpu, None)
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
