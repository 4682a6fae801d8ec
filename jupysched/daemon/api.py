"""The verbs: from a request of an identified person to facts in the loop and records in the answer."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from jupysched import __version__
from jupysched.adapters.gpu_watch import XID_CAUSE
from jupysched.core import events as ev
from jupysched.core import front
from jupysched.core.errors import BadRequest, NotYours, UserError, WrongState
from jupysched.core.events import Event
from jupysched.core.job import Job, JobId, Priority, Submission
from jupysched.core.resources import Gpu, GpuId, GpuKind
from jupysched.core.state import State
from jupysched.core.states import ENDED, HOLDING, JobState, Reason
from jupysched.daemon import governing, past, submission
from jupysched.daemon.auth import Person, find, find_own, may_change
from jupysched.daemon.loop import Loop
from jupysched.daemon.recording import Recorder
from jupysched.daemon.settings import Settings
from jupysched.daemon.views import gpu_records, in_order, iso, job_record
from jupysched.ports import GpuSample
from jupysched.wire import requests as ask
from jupysched.wire.messages import JobsPage
from jupysched.wire.records import DaemonRecord, GpuRecord, JobRecord

Change = ask.Cancel | ask.Hold | ask.Release | ask.Requeue | ask.SetPriority | ask.Front


class Api:
    """One method a verb. Errors are raised; the connection turns them into ErrorRecords."""

    def __init__(
        self,
        *,
        loop: Loop,
        settings: Settings,
        home: str,
        samples: Callable[[], Mapping[GpuId, GpuSample]],
        recorder: Recorder,
        shutdown: Callable[[], None],
    ) -> None:
        self.loop = loop
        self._recorder = recorder
        self.settings = settings
        self.metrics: dict[JobId, dict[str, float | str]] = {}
        self._home = home
        self._samples = samples
        self._shutdown = shutdown
        self._started_at = loop.now()

    def serve(self, person: Person, request: ask.Request) -> Any:
        """The value of the answer. Raises JupyschedError."""
        match request:
            case ask.Hello():
                return self._hello()
            case ask.Submit():
                return self._submit(person, request)
            case ask.DryRun():
                return self._dry_run(person, request)
            case ask.Show():
                return self.record(person, find(self.loop.state, request.job))
            case ask.Jobs():
                return self._jobs(person, request)
            case ask.Gpus():
                return self.gpus()
            case ask.Cancel() | ask.Hold() | ask.Release() | ask.Requeue() | ask.SetPriority() | ask.Front():
                return self._change(person, request)
            case ask.Watch():
                return self._present(person, request)
            case ask.Drain():
                return self._drain(person, request)
            case ask.Policy():
                return governing.policy(self.loop, person, request)
            case ask.Limit():
                return governing.set_limits(self.loop, person, request)
            case ask.Share():
                return governing.set_share(self.loop, person, request)
            case ask.Reserve():
                return governing.reserve(self.loop, person, request)
            case ask.Reservations():
                return governing.reservations(self.loop)
            case ask.Usage():
                return governing.usage(self.loop)
            case ask.Samples():
                return past.samples(self._recorder, self.loop.state, request, now=self.loop.now())
            case ask.UsageReport():
                return past.usage(self._recorder, self.loop.state, request, now=self.loop.now())
            case ask.History():
                return governing.history(self.loop, person)
            case ask.Shutdown():
                if not person.is_admin:
                    raise NotYours("Only an admin can end the daemon.")
                self._shutdown()
                return True

    def record(self, person: Person, job: Job) -> JobRecord:
        """A job as this person may see it."""
        return job_record(
            self.loop.state,
            job,
            now=self.loop.now(),
            mine=may_change(person, job),
            metrics=self.metrics.get(job.id),
            remark=self._recorder.remarks.get(job.id, ""),
        )

    def gpus(self) -> list[GpuRecord]:
        """Every GPU."""
        return gpu_records(self.loop.state, self._samples())

    def _hello(self) -> DaemonRecord:
        state = self.loop.state
        kinds = {g.kind for g in state.gpus.values()}
        counts = Counter(j.state for j in state.jobs.values())
        return DaemonRecord(
            version=__version__,
            pid=os.getpid(),
            mode="personal",
            home=self._home,
            policy=state.policy,
            started_at=iso(self._started_at) or "",
            gpus=len(state.gpus),
            kind="cpu_slot" if kinds == {GpuKind.CPU_SLOT} else "gpu",
            running=len(state.holding),
            pending=counts[JobState.PENDING],
            held=counts[JobState.HELD],
            notices=list(self.loop.notices),
        )

    def _submit(self, person: Person, request: ask.Submit) -> list[int]:
        state, at = self.loop.state, self.loop.now()
        if known := submission.taken(state, person, request):
            return known
        events: list[Event] = []
        first = state.next_id
        # Of the first job alone: it is durable with all of them or not at all, and forgotten with it.
        sent = Submission(key=request.key, jobs=len(request.jobs)) if request.key else None
        submission.check_count(state, person, len(request.jobs), self.settings.most_pending_per_user)
        for offset, spec in enumerate(request.jobs):
            job_id = JobId(first + offset)
            accepted = submission.accept(state, person, spec, sent if job_id == first else None)
            events.append(ev.Submitted(at=at, job=job_id, spec=accepted))
            if spec.hold:
                events.append(ev.HoldAsked(at=at, job=job_id, by=person.name))
        self.loop.record(*events)
        return list(range(first, first + len(request.jobs)))

    def _dry_run(self, person: Person, request: ask.DryRun) -> JobRecord:
        return submission.dry_run(self.loop.state, person, request.job, now=self.loop.now())

    def _jobs(self, person: Person, request: ask.Jobs) -> JobsPage:
        state = self.loop.state
        if request.limit < 0 or request.offset < 0:
            raise BadRequest("A page of jobs begins at 0 or later and holds 0 jobs or more.")

        def is_wanted(job: Job) -> bool:
            return (request.users is None or job.spec.user in request.users) and (
                request.states is None or job.state.value in request.states
            )

        total = sum(map(is_wanted, state.jobs.values()))
        # The queue is put in order only as far as the page goes: the first 100 of 10,000 cost what 100 cost.
        end = min(request.offset + request.limit, total)
        page = islice(filter(is_wanted, in_order(state)), min(request.offset, end), end)
        return JobsPage(jobs=[self.record(person, job) for job in page], total=total)

    def _present(self, person: Person, request: ask.Watch) -> list[JobRecord]:
        state = self.loop.state
        if request.jobs is None:
            return self._jobs(person, ask.Jobs(limit=1000)).jobs
        return [self.record(person, state.jobs[JobId(j)]) for j in request.jobs if j in state.jobs]

    def _change(self, person: Person, request: Change) -> list[JobRecord]:
        """All jobs that are named change, or none."""
        with _all_or_none(request.jobs):
            jobs = [find_own(self.loop.state, person, j) for j in dict.fromkeys(request.jobs)]
            facts = [fact for job in jobs for fact in self._facts(person, request, job)]
            if isinstance(request, ask.Front):
                move = front.ahead_of_all if person.is_admin else front.ahead_of_own
                facts += move(self.loop.state, jobs, by=person.name, at=self.loop.now())
        self.loop.record(*facts)
        for fact in facts:
            if isinstance(fact, ev.StopOrdered):
                self.loop.stop(self.loop.state.jobs[fact.job])
        return [self.record(person, self.loop.state.jobs[j.id]) for j in jobs]

    def _facts(self, person: Person, request: Change, job: Job) -> list[Event]:
        """What the request makes true of one job by itself. Raises WrongState, NotYours, BadRequest."""
        match request:
            case ask.Cancel():
                return self._cancel(person, job, again=request.again)
            case ask.Hold():
                return self._hold(person, job)
            case ask.Release():
                return self._release(person, job, again=request.again)
            case ask.Requeue():
                return self._requeue(person, job)
            case ask.SetPriority():
                return self._set_priority(person, job, request.priority)
            case ask.Front():
                if job.state is not JobState.PENDING:
                    raise WrongState(f"Job {job.id} {_stands(job)}; only a pending job can be moved to the front.")
                return []

    def _cancel(self, person: Person, job: Job, *, again: bool) -> list[Event]:
        by_admin = person.uid != job.spec.uid
        if again and job.state is JobState.STOPPING and job.after_stop is JobState.CANCELLED:
            return []
        if job.state in HOLDING:
            reason = Reason.CANCELLED_BY_ADMIN if by_admin else Reason.CANCELLED_BY_USER
            return [self._stop(job, reason, then=JobState.CANCELLED, detail=person.name)]
        if job.state in ENDED:
            return []
        return [ev.CancelAsked(at=self.loop.now(), job=job.id, by=person.name, admin=by_admin)]

    def _stop(self, job: Job, reason: Reason, *, then: JobState, detail: str) -> ev.StopOrdered:
        return ev.StopOrdered(
            at=self.loop.now(), job=job.id, attempt=job.attempt, reason=reason, then=then, detail=detail
        )

    def _hold(self, person: Person, job: Job) -> list[Event]:
        if job.state is JobState.HELD:
            return []
        if job.state is not JobState.PENDING:
            raise WrongState(f"Job {job.id} {_stands(job)}; only a pending job can be held.")
        return [ev.HoldAsked(at=self.loop.now(), job=job.id, by=person.name, admin=person.uid != job.spec.uid)]

    def _release(self, person: Person, job: Job, *, again: bool) -> list[Event]:
        if again and job.state is not JobState.HELD:
            return []
        if job.state is not JobState.HELD:
            raise WrongState(f"Job {job.id} {_stands(job)}; only a held job can be released.")
        if job.reason is Reason.HELD_BY_ADMIN and not person.is_admin:
            raise NotYours(f"Job {job.id} was held by an admin ({job.detail}).", hint="Ask them to release it.")
        return [ev.ReleaseAsked(at=self.loop.now(), job=job.id, by=person.name)]

    def _requeue(self, person: Person, job: Job) -> list[Event]:
        if job.state in HOLDING:
            return [self._stop(job, Reason.PRIORITY, then=JobState.PENDING, detail=f"requeued by {person.name}")]
        if job.state not in ENDED:
            raise WrongState(f"Job {job.id} is {job.state.value}; it waits already.")
        return [ev.RequeueAsked(at=self.loop.now(), job=job.id, by=person.name)]

    def _set_priority(self, person: Person, job: Job, priority: str) -> list[Event]:
        chosen = submission.priority(priority)
        if job.state not in (JobState.PENDING, JobState.HELD):
            raise WrongState(f"Job {job.id} {_stands(job)}; only a waiting job's priority can be changed.")
        if chosen is job.priority:
            return []
        return [ev.PriorityChanged(at=self.loop.now(), job=job.id, priority=Priority(chosen), by=person.name)]

    def _drain(self, person: Person, request: ask.Drain) -> list[GpuRecord]:
        if not person.is_admin:
            raise NotYours("Only an admin can drain GPUs.")
        state = self.loop.state
        found: list[Event] = []
        with _all_or_none(request.gpus):
            chosen = [gpu for word in request.gpus for gpu in _gpus_of(state, word)]
        for gpu in chosen:
            if request.restore:
                # An error of the hardware (XID) stands until somebody says that it was seen to.
                causes = ["admin", *(cause for cause in gpu.drains if cause.startswith(XID_CAUSE))]
                found += [ev.GpuRestored(at=self.loop.now(), gpu=gpu.id, cause=cause) for cause in causes]
            else:
                why = request.why or f"drained by {person.name}"
                found.append(ev.GpuDrained(at=self.loop.now(), gpu=gpu.id, cause="admin", sentence=why))
        self.loop.record(*found)
        return self.gpus()


@contextmanager
def _all_or_none(named: Sequence[object]) -> Iterator[None]:
    """Checks go in here, before anything changes: who named several is told that none of them did."""
    try:
        yield
    except UserError as error:
        if len(named) > 1:
            raise type(error)(f"{error.sentence} None of these {len(named)} was changed.", hint=error.hint) from None
        raise


def _gpus_of(state: State, word: str) -> list[Gpu]:
    """The GPUs of this index, label, id or node. Raises BadRequest."""
    gpus = [g for g in state.gpus.values() if word in (g.id, g.node, str(g.index), g.label)]
    if not gpus:
        raise BadRequest(f"There is no GPU {word!r}.", hint="`jupysched top` lists them.")
    return gpus


def _stands(job: Job) -> str:
    """`is running`, `has ended already (succeeded)`."""
    return f"has ended already ({job.state.value})" if job.state in ENDED else f"is {job.state.value}"
