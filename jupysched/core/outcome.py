"""What an attempt's end makes of its job. Knows exits and retries; knows nothing of GPUs or of other jobs."""

from __future__ import annotations

from dataclasses import replace

from jupysched.core import events as ev
from jupysched.core.job import Exit, Job
from jupysched.core.states import JobState, Reason

S = JobState


def after_end(job: Job, event: ev.AttemptRefused | ev.AttemptEnded | ev.AttemptLost) -> Job:
    """The job once its newest attempt has ended, was refused, or was lost."""
    at = event.at
    ran = max(0.0, at - job.started_at) if job.started_at is not None else 0.0
    job = replace(job, allocation=None, attained_s=job.attained_s + ran)
    if isinstance(event, ev.AttemptLost):
        state = S.CANCELLED if job.after_stop is S.CANCELLED else S.FAILED
        reason = job.reason if state is S.CANCELLED else Reason.LEASE_EXPIRED
        return _ended(job, at, state, reason, event.sentence or job.detail)
    if job.state is S.STOPPING and job.after_stop is not None:
        return _after_stop(job, event)
    if isinstance(event, ev.AttemptRefused):
        return _failed(job, at, Reason.RUNNER_MISSING, event.sentence)
    job = replace(job, exit=event.exit)
    if event.exit.outcome == "ok" and event.exit.signal is None and not event.exit.code:
        return _ended(job, at, S.SUCCEEDED, None, "")
    return _failed(job, at, reason_of(event.exit), event.exit.sentence)


def _after_stop(job: Job, event: ev.AttemptRefused | ev.AttemptEnded) -> Job:
    exit_ = event.exit if isinstance(event, ev.AttemptEnded) else None
    job = replace(job, exit=exit_)
    then = job.after_stop or S.CANCELLED
    if then is S.PENDING or then is S.HELD:
        reason = job.reason if then is S.HELD else None
        return _waiting_again(job, event.at, then, reason)
    succeeded = exit_ is not None and exit_.outcome == "ok" and exit_.signal is None
    if succeeded and job.reason is Reason.TIME_LIMIT:
        return _ended(job, event.at, S.SUCCEEDED, None, "")
    return _ended(job, event.at, then, job.reason, job.detail)


def _failed(job: Job, at: float, reason: Reason, detail: str) -> Job:
    if job.failures < job.spec.retries:
        return _waiting_again(replace(job, failures=job.failures + 1), at, S.PENDING, None)
    return _ended(job, at, S.FAILED, reason, detail)


def _waiting_again(job: Job, at: float, state: JobState, reason: Reason | None) -> Job:
    return replace(
        job, state=state, reason=reason, detail="", queued_at=at, started_at=None, granted_at=None, after_stop=None
    )


def _ended(job: Job, at: float, state: JobState, reason: Reason | None, detail: str) -> Job:
    return replace(job, state=state, reason=reason, detail=detail, ended_at=at, after_stop=None)


def reason_of(exit_: Exit) -> Reason:
    """Why an attempt failed, from how it ended."""
    if exit_.out_of_memory:
        return Reason.OUT_OF_MEMORY
    if exit_.outcome in ("error", "interrupted"):
        return Reason.EXCEPTION
    return Reason.EXIT_CODE
