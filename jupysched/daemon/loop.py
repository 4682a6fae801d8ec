"""The single writer: journal before fold, fold before effect, and a cycle of decide after every change.

Knows the ports; knows nothing of connections or records. Nothing in here waits, so the event loop is the lock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import assert_never

from jupysched.core import events as ev
from jupysched.core.actions import Action, End, Grant, Resume, Stop, Suspend
from jupysched.core.decide import decide
from jupysched.core.errors import DiskFull
from jupysched.core.events import Event
from jupysched.core.fold import fold, is_heard
from jupysched.core.invariants import broken
from jupysched.core.job import Job, JobId
from jupysched.core.resources import GpuId
from jupysched.core.state import State
from jupysched.core.states import ENDED, JobState
from jupysched.ports import Clock, Cluster, Heard, Journal, StartOrder

log = logging.getLogger("jupysched.daemon")
RETRY_S = 2.0
#: cycles in a row before the loop lets others speak
MOST_CYCLES = 50


class Loop:
    """Owns the state. `record` is the only way to change it."""

    def __init__(
        self, *, journal: Journal, cluster: Cluster, clock: Clock, grace_s: tuple[float, float, float]
    ) -> None:
        self.state = State()
        self.notices: list[str] = []
        self._journal = journal
        self._cluster = cluster
        self._clock = clock
        self._grace_s = grace_s
        self._changed: Callable[[Sequence[Event]], None] = lambda events: None
        self._measured: Callable[[Heard], None] = lambda word: None
        self._cycle_due = False
        self._wake: asyncio.TimerHandle | None = None
        #: facts that happened and could not be written yet (disk full); nothing is folded before it is durable
        self._unwritten: list[Event] = []

    def on_metrics(self, measured: Callable[[Heard], None]) -> None:
        """Who is told of a job's last values. They are no facts of the journal: the spool has them."""
        self._measured = measured

    def on_change(self, changed: Callable[[Sequence[Event]], None]) -> None:
        """Who is told of events after they were folded."""
        self._changed = changed

    def recover(self) -> None:
        """Rebuild the state from the journal. What held GPUs goes on holding them until it is heard of."""
        for event in self._journal.read():
            try:
                fold(self.state, event)
            except Exception:  # one event that we fail to understand must not take the whole queue with it
                log.exception("%r could not be applied", event)
                self._notice(
                    f"a fault of jupysched: {type(event).__name__} in the journal was passed over (see the log)"
                )
        problems = broken(self.state)
        if problems:
            self.notices.append("the journal tells a story that cannot be: " + "; ".join(problems[:5]))
        lost = [ev.NodeLost(at=self.now(), node=name) for name in self.state.nodes]
        if lost:
            self.record(*lost)

    def story(self) -> Iterable[Event]:
        """Every event that is kept, oldest first."""
        return self._journal.read()

    def now(self) -> float:
        """Unix seconds."""
        return self._clock.now()

    def record(self, *events: Event) -> None:
        """Make facts durable, then true, then tell everybody. Raises DiskFull, and then nothing happened."""
        if not events:
            return
        self._journal.append(events)
        for event in events:
            fold(self.state, event)
        self._changed(events)
        self.schedule_cycle()

    def record_surely(self, *events: Event) -> None:
        """As `record`, for facts that cannot be refused: kept in memory and written as soon as the disk allows."""
        due, self._unwritten = [*self._unwritten, *events], []
        try:
            self.record(*due)
        except DiskFull as error:
            self._unwritten = due
            self._notice(f"{error}")
            asyncio.get_running_loop().call_later(RETRY_S, self._retry)

    def _retry(self) -> None:
        if self._unwritten:
            self.record_surely()
        else:
            self.schedule_cycle()

    def _notice(self, sentence: str) -> None:
        log.warning(sentence)
        if sentence not in self.notices:
            self.notices.append(sentence)

    def schedule_cycle(self) -> None:
        """One cycle soon, however often it is asked for."""
        if not self._cycle_due:
            self._cycle_due = True
            asyncio.get_running_loop().call_soon(self.cycle)

    def cycle(self) -> None:
        """Decide and do, until there is nothing left to do."""
        self._cycle_due = False
        if self._wake is not None:
            self._wake.cancel()
            self._wake = None
        for _ in range(MOST_CYCLES):
            plan = decide(self.state, now=self.now())
            if not plan.actions:
                self._wake_at(plan.wake_at)
                return
            facts = [fact for action in plan.actions if (fact := self._verified(action)) is not None]
            if not facts:
                return
            try:
                self.record(*facts)
            except DiskFull as error:
                self._notice(f"{error}")
                asyncio.get_running_loop().call_later(RETRY_S, self._retry)
                return
            for fact in facts:
                self._effect(fact)
        self.schedule_cycle()

    def _wake_at(self, at: float | None) -> None:
        if at is not None:
            # Wall clocks jump: look again within a minute whatever the plan says.
            delay = min(max(0.0, at - self.now()) + 0.001, 60.0)
            self._wake = asyncio.get_running_loop().call_later(delay, self.cycle)

    def _verified(self, action: Action) -> Event | None:
        """The action as a fact, or None (and a notice) if the table of states does not allow it: a plan is verified before it is
        written, so that a fault in deciding cannot fill the journal or touch an attempt."""
        fact, job = self._fact(action), self.state.jobs.get(action.job)
        if job is None or not is_heard(job, fact):
            self._notice(
                f"bug: decide wants {action!r}, and job {action.job} is {job.state.value if job else 'unknown'}"
            )
            return None
        return fact

    def _fact(self, action: Action) -> ev.JobEvent:
        at, job = self.now(), action.job
        match action:
            case Grant():
                return ev.Granted(at=at, job=job, attempt=action.attempt, allocation=action.allocation)
            case Stop():
                return ev.StopOrdered(
                    at=at, job=job, attempt=action.attempt, reason=action.reason, then=action.then, detail=action.detail
                )
            case Suspend():
                return ev.Suspended(at=at, job=job, attempt=action.attempt, detail=action.detail)
            case Resume():
                return ev.Resumed(at=at, job=job, attempt=action.attempt, allocation=action.allocation)
            case End():
                return ev.JobEnded(at=at, job=job, state=action.state, reason=action.reason, detail=action.detail)
            case _:
                assert_never(action)

    def _effect(self, fact: Event) -> None:
        if isinstance(fact, ev.Granted):
            job = self.state.jobs[fact.job]
            log.info("granted", extra={"job": job.id, "attempt": job.attempt})
            self._cluster.order_start(self.order(job))
        elif isinstance(fact, ev.StopOrdered):
            self.stop(self.state.jobs[fact.job])
        elif isinstance(fact, ev.Suspended):
            self._cluster.order_freeze(self.order(self.state.jobs[fact.job]))
        elif isinstance(fact, ev.Resumed):
            self._cluster.order_thaw(self.order(self.state.jobs[fact.job]))

    def stop(self, job: Job) -> None:
        """Send the newest stop order of an attempt, whose StopOrdered was recorded: a second one escalates, the same one
        sent again changes nothing.

        What is to go on later is given notice, so that it can keep what it has for its next attempt."""
        goes_on = job.after_stop is JobState.PENDING
        self._cluster.order_stop(
            self.order(job), grace_s=self._grace_s if goes_on else self._grace_s[:2], nth=job.stops
        )

    def order(self, job: Job) -> StartOrder:
        """What its agent needs to know."""
        allocation = job.allocation
        gpus = tuple(self.state.gpus[g] for g in allocation.gpus if g in self.state.gpus) if allocation else ()
        return StartOrder(
            job=job.id,
            attempt=job.attempt,
            directory=job.spec.directory,
            uid=job.spec.uid,
            gpus=gpus,
            name=job.spec.name,
            user=job.spec.user,
        )

    def heard(self, word: Heard) -> None:
        """An agent's word becomes a fact."""
        job = self.state.jobs.get(word.job)
        if job is None or job.attempt != word.attempt or job.state in ENDED:
            return
        at, key = self._plausible(job, word.at), {"job": word.job, "attempt": word.attempt}
        if word.kind == "metrics":
            self._measured(word)
            return
        log.info("attempt %s", word.kind, extra=key)
        if word.kind == "running":
            if job.state is JobState.STARTING:
                self.record_surely(ev.AttemptStarted(at=at, job=word.job, attempt=word.attempt))
        elif word.kind == "ended" and word.exit is not None:
            self.record_surely(ev.AttemptEnded(at=at, job=word.job, attempt=word.attempt, exit=word.exit))
        elif word.kind == "refused":
            self.record_surely(ev.AttemptRefused(at=at, job=word.job, attempt=word.attempt, sentence=word.sentence))
        elif word.kind == "lost":
            self.record_surely(ev.AttemptLost(at=at, job=word.job, attempt=word.attempt, sentence=word.sentence))

    def _plausible(self, job: Job, at: float) -> float:
        """When it happened: as the agent says, if that lies between the grant and now. Its clock is another one, and may have been
        set since."""
        now = self.now()
        return at if (job.started_at or job.granted_at or now) <= at <= now else now

    def node(self, events: Sequence[Event]) -> None:
        """Nodes and GPUs came, went or changed. Attempts that were running there before us are adopted."""
        self.record_surely(*events)
        joined = {g.id for e in events if isinstance(e, ev.NodeJoined) for g in e.gpus}
        if joined:
            self._adopt(joined)

    def _adopt(self, gpus: set[GpuId]) -> None:
        for job_id in tuple(self.state.holding):
            job = self.state.jobs[job_id]
            if job.allocation is None or not any(g in gpus for g in job.allocation.gpus):
                continue
            order = self.order(job)
            if job.state is JobState.STARTING:
                # Journalled but perhaps never sent. Safe: an attempt's directory can be made only once.
                self._cluster.order_start(order)
            else:
                self._cluster.adopt(order)
                if job.state is JobState.STOPPING:
                    self.stop(job)

    def forget(self, jobs: Sequence[JobId]) -> None:
        """Ended jobs leave the list."""
        if jobs:
            self.record(ev.Forgotten(at=self.now(), jobs=tuple(jobs)))
