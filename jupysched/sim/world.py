"""Virtual time: plays a trace through fold and decide, and says what became of each job.

What the real world does between a decision and its outcome is all that is invented here: attempts start at once (one
that ran before after `overhead_s`), stops take no time, progress is kept. Completions of an instant come before its
submissions, and one cycle follows both."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from jupysched.core import events as ev
from jupysched.core.actions import Grant, Plan, Resume, Stop, Suspend
from jupysched.core.decide import decide
from jupysched.core.fold import fold
from jupysched.core.job import Exit, JobId, JobSpec, Priority, UserName
from jupysched.core.resources import Gpu, GpuId, Node, NodeName, Request
from jupysched.core.state import State
from jupysched.core.states import JobState
from jupysched.sim.trace import TraceJob

#: all traces begin here, so that days and weeks mean something: a Monday, midnight UTC
EPOCH_S = 4 * 86400.0
_OK = Exit(code=0, outcome="ok")
_STOPPED = Exit(signal=15)
#: what may happen at one instant, in the order in which it is taken
_ENDS, _STARTS, _SUBMITS, _WAKES = range(4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The machine and the rules of a run."""

    gpus: int
    node_size: int = 8
    #: count: GPUs are all alike and anywhere; pack: nodes of node_size
    placement: str = "count"
    overhead_s: float = 0.0
    #: tell the core how long each job will run, as its time limit (EASY backfill with exact lengths)
    exact_lengths: bool = False
    #: of each GPU; as much as the most that a job asks for, if that is more
    gpu_memory_bytes: int = 80 << 30


@dataclass(slots=True)
class Run:
    """What became of a trace."""

    jobs: list[TraceJob]
    #: when each first started and when it ended, seconds from the beginning of the trace
    starts: list[float]
    ends: list[float]
    dropped: int = 0
    #: GPUs that the widest job asks for, dropped or not
    widest: int = 0
    preemptions: int = 0
    #: events folded and cycles decided
    events: int = 0
    cycles: int = 0
    gpus: int = 0
    #: (time, GPUs held, jobs waiting) at each change, if asked for
    load: list[tuple[float, int, int]] = field(default_factory=list)


Watch = Callable[[State, float], None]


class World:
    """One trace under one policy."""

    def __init__(
        self, jobs: Sequence[TraceJob], policy: str, setup: Setup, settings: Mapping[str, str] | None = None,
        *, keep_load: bool = False, watch: Watch | None = None,
    ) -> None:  # fmt: skip
        self.setup, self.watch, self.keep_load = setup, watch, keep_load
        self.state = State()
        self.kept = [j for j in jobs if j.gpus <= setup.gpus]
        count = len(self.kept)
        self.run_ = Run(jobs=self.kept, starts=[0.0] * count, ends=[0.0] * count, gpus=setup.gpus)
        self.run_.dropped = len(jobs) - count
        self.run_.widest = max((j.gpus for j in jobs), default=0)
        #: (time, kind, job, attempt)
        self.agenda: list[tuple[float, int, int, int]] = []
        self.wake_at: float | None = None
        self._say(ev.PolicySet(at=EPOCH_S, by="simulate", name=policy, settings=dict(settings or {})))
        self._join_nodes()

    def _say(self, event: ev.Event) -> None:
        fold(self.state, event)

    def _join_nodes(self) -> None:
        size = self.setup.gpus if self.setup.placement == "count" else self.setup.node_size
        memory = max([self.setup.gpu_memory_bytes, *(job.gpu_memory_bytes or 0 for job in self.kept)])
        for number, first in enumerate(range(0, self.setup.gpus, size)):
            name = NodeName(f"n{number:04d}")
            here = min(size, self.setup.gpus - first)
            gpus = tuple(
                Gpu(id=GpuId(f"{name}-{i}"), node=name, index=i, name="GPU", memory_bytes=memory) for i in range(here)
            )
            node = Node(name=name, cpus=1 << 20, memory_bytes=1 << 50, gpus=tuple(g.id for g in gpus))
            self._say(ev.NodeJoined(at=EPOCH_S, node=node, gpus=gpus))

    def play(self) -> Run:
        """Run to the end of the trace and of its last job."""
        agenda, run = self.agenda, self.run_
        submits = [j.submit_s + EPOCH_S for j in self.kept]
        number, count = 0, len(submits)
        while number < count or agenda:
            now = submits[number] if number < count else agenda[0][0]
            if agenda and agenda[0][0] < now:
                now = agenda[0][0]
            while agenda and agenda[0][0] <= now:
                self._happens(heapq.heappop(agenda), now)
            while number < count and submits[number] <= now:
                self._submit(number, now)
                number += 1
            self._decide(now)
        run.events = self.state.version
        if self.state.lanes or self.state.holding:
            raise RuntimeError(f"{len(self.state.standing)} jobs never started")
        return run

    def _submit(self, number: int, now: float) -> None:
        job, setup = self.kept[number], self.setup
        limit = job.duration_s if setup.exact_lengths else job.time_limit_s
        if limit is not None and limit < job.duration_s:
            limit = job.duration_s  # it was stopped late, or not at all: what is to be played is what was
        wide = setup.placement != "count" and job.gpus > setup.node_size
        spec = JobSpec(
            name=job.name,
            user=UserName(job.user),
            uid=0,
            request=Request(
                gpus=job.gpus, time_limit_s=limit, gpu_memory_bytes=job.gpu_memory_bytes, nodes=0 if wide else 1
            ),
            priority=_PRIORITIES[job.priority],
            origin={"cell_digest": job.cell} if job.cell else {},
            groups=job.groups,
        )
        self._say(ev.Submitted(at=now, job=JobId(number + 1), spec=spec))

    def _happens(self, what: tuple[float, int, int, int], now: float) -> None:
        _at, kind, number, attempt = what
        if kind == _WAKES:
            self.wake_at = None
            return
        job = self.state.jobs[JobId(number)]
        if job.attempt != attempt:
            return
        if kind == _STARTS and job.state is JobState.STARTING:
            self._started(job.id, attempt, now)
        elif kind == _ENDS and job.state is JobState.RUNNING:
            self._say(ev.AttemptEnded(at=now, job=job.id, attempt=attempt, exit=_OK))
            self.run_.ends[number - 1] = now - EPOCH_S

    def _started(self, job_id: JobId, attempt: int, now: float) -> None:
        self._say(ev.AttemptStarted(at=now, job=job_id, attempt=attempt))
        left = self.kept[job_id - 1].duration_s - self.state.jobs[job_id].attained_s
        heapq.heappush(self.agenda, (now + left, _ENDS, job_id, attempt))

    def _decide(self, now: float) -> None:
        while True:
            plan = decide(self.state, now=now)
            self.run_.cycles += 1
            if not self._stop(plan, now):
                break
        for action in plan.actions:
            if isinstance(action, Grant):
                self._grant(action, now)
            elif isinstance(action, Resume):
                raise TypeError("suspension is not simulated; set preempt_by=stop")
        wake = plan.wake_at
        if plan.actions and self.state.lanes and self.state.order is not None:
            # The daemon decides again after a plan with actions; here it is enough to ask when time will matter.
            wake = self.state.order.next_change(self.state, now)
        if wake is not None and wake > now and (self.wake_at is None or wake < self.wake_at) and not self._idle():
            self.wake_at = wake
            heapq.heappush(self.agenda, (wake, _WAKES, 0, 0))
        if self.keep_load:
            held = sum(len(j.allocation.gpus) for j in self.state.holding.values() if j.allocation)
            self.run_.load.append((now - EPOCH_S, held, len(self.state.standing)))
        if self.watch is not None:
            self.watch(self.state, now)

    def _idle(self) -> bool:
        """Nothing waits and nothing runs: time alone will not change that."""
        return not self.state.lanes and not self.state.holding

    def _stop(self, plan: Plan, now: float) -> bool:
        """Stops come first, take no time, and may change who is granted: then it must be decided again."""
        stopped = False
        for action in plan.actions:
            if isinstance(action, Stop | Suspend):
                stopped = True
                job, attempt = action.job, action.attempt
                if isinstance(action, Suspend):
                    raise TypeError("suspension is not simulated; set preempt_by=stop")
                if action.then is not JobState.PENDING:
                    # A limit that is the exact length: the end of the same instant was taken first.
                    raise RuntimeError(f"job {job} ran into its limit: {action.detail}")
                self.run_.preemptions += 1
                self._say(
                    ev.StopOrdered(at=now, job=job, attempt=attempt, reason=action.reason, then=action.then)
                )  # fmt: skip
                self._say(ev.AttemptEnded(at=now, job=job, attempt=attempt, exit=_STOPPED))
        return stopped

    def _grant(self, grant: Grant, now: float) -> None:
        job_id, attempt = grant.job, grant.attempt
        self._say(ev.Granted(at=now, job=job_id, attempt=attempt, allocation=grant.allocation))
        if attempt == 1:
            self.run_.starts[job_id - 1] = now - EPOCH_S
        if attempt > 1 and self.setup.overhead_s:
            heapq.heappush(self.agenda, (now + self.setup.overhead_s, _STARTS, job_id, attempt))
        else:
            self._started(job_id, attempt, now)


_PRIORITIES = {p.value: p for p in Priority}
