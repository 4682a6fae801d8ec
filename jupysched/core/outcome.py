"""What an attempt's end makes of its job. Knows exits and retries; knows nothing of GPUs or of other jobs."""

from __future__ import annotations

from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.job import Exit, Job
from jupysched.core.states import JobState, Reason

S = JobState


def after_end(job: Job, event: ev.AttemptRefused | ev.AttemptEnded | ev.AttemptLost) -> Job:
    """The job once its newest attempt has ended, was refused, or was lost."""
    at = event.at
    ran = max(0.0, at - job.started_at) if job.started_at is not None else job.frozen_s
    attained = job.attained_s + ran
    if isinstance(event, ev.AttemptEnded):
        exit_ = event.exit
        if job.state is S.STOPPING and job.after_stop is not None:
            return _after_stop(job, at, exit_, attained)
        if exit_.outcome == "ok" and exit_.signal is None and not exit_.code:
            return _ended(job, at, S.SUCCEEDED, None, "", attained, exit_)
        return _failed(job, at, reason_of(exit_), exit_.sentence, attained, exit_)
    if isinstance(event, ev.AttemptLost):
        state = S.CANCELLED if job.after_stop is S.CANCELLED else S.FAILED
        reason = job.reason if state is S.CANCELLED else Reason.LEASE_EXPIRED
        return _ended(job, at, state, reason, event.sentence or job.detail, attained, None)
    if job.state is S.STOPPING and job.after_stop is not None:
        return _after_stop(job, at, None, attained)
    return _failed(job, at, Reason.RUNNER_MISSING, event.sentence, attained, None)


def _after_stop(job: Job, at: float, exit_: Exit | None, attained: float) -> Job:
    then = job.after_stop or S.CANCELLED
    # What ended well by itself before the stop reached it has ended well, unless its user no longer wants it.
    if exit_ is not None and exit_.outcome == "ok" and exit_.signal is None and then is not S.CANCELLED:
        return _ended(job, at, S.SUCCEEDED, None, "", attained, exit_)
    if then is S.PENDING or then is S.HELD:
        reason = job.reason if then is S.HELD else None
        waiting = _waiting_again(job, at, then, reason, attained, exit_)
        return replace(waiting, preemptions=job.preemptions + 1) if job.reason is Reason.PREEMPTED else waiting
    return _ended(job, at, then, job.reason, job.detail, attained, exit_)


def _failed(job: Job, at: float, reason: Reason, detail: str, attained: float, exit_: Exit | None) -> Job:
    if job.failures < job.spec.retries:
        waiting = _waiting_again(job, at, S.PENDING, None, attained, exit_)
        return replace(waiting, failures=job.failures + 1)
    return _ended(job, at, S.FAILED, reason, detail, attained, exit_)


def _waiting_again(
    job: Job, at: float, state: JobState, reason: Reason | None, attained: float, exit_: Exit | None
) -> Job:
    return replace(
        job, state=state, reason=reason, detail="", queued_at=at, started_at=None, granted_at=None, after_stop=None,
        allocation=None, attained_s=attained, frozen_s=0.0, exit=exit_,
    )  # fmt: skip


def _ended(
    job: Job, at: float, state: JobState, reason: Reason | None, detail: str, attained: float, exit_: Exit | None
) -> Job:
    return replace(
        job, state=state, reason=reason, detail=detail, ended_at=at, after_stop=None, allocation=None,
        attained_s=attained, frozen_s=0.0, exit=exit_,
    )  # fmt: skip


def reason_of(exit_: Exit) -> Reason:
    """Why an attempt failed, from how it ended."""
    if exit_.out_of_memory:
        return Reason.OUT_OF_MEMORY
    if exit_.error == "NotPicklable":
        return Reason.NOT_PICKLABLE
    if exit_.outcome in ("error", "interrupted"):
        return Reason.EXCEPTION
    return Reason.EXIT_CODE
