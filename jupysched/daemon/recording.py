"""Keeps the past: what was read of each GPU, which job held it, what that came to, and errors on whose job they fell.

Knows the loop's state, the tiers and the store. Decides nothing: the queue does the same with and without it."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jupysched.adapters import nvml_xids
from jupysched.adapters.gpu_watch import XID_CAUSE, xid_drain
from jupysched.adapters.sample_store import HoldRow, Row, SampleStore
from jupysched.core import events as ev
from jupysched.core.events import Event
from jupysched.core.job import Job, JobId
from jupysched.core.resources import GpuId
from jupysched.core.states import HOLDING, JobState
from jupysched.daemon.loop import Loop
from jupysched.daemon.metering import Meter, by_day, day_of
from jupysched.daemon.rollup import METRICS, TIERS, Rollup
from jupysched.ports import GpuSample

#: what is written is in the file after so long
COMMIT_S = 10.0
FORGET_EVERY_S = 900.0
#: a program's error is read when the program may have ended already
BLAME_S = 5.0


@dataclass(slots=True)
class _Held:
    """A hold that goes on."""

    row: HoldRow
    meter: Meter
    #: until when its seconds are in the store's sums
    counted: float
    #: memory of the GPU, as last told
    capacity: float | None = None


class Recorder:
    """One per daemon. Nothing runs while nothing happens."""

    def __init__(self, *, loop: Loop, store: SampleStore, boot: str) -> None:
        """`boot`: errors of the hardware stand until the machine is started anew."""
        self._loop, self._store, self._boot = loop, store, boot
        self._remarked: Callable[[Sequence[JobId]], None] = lambda jobs: None
        self._rollups: dict[GpuId, Rollup] = defaultdict(Rollup)
        self._held: dict[tuple[str, int], _Held] = {}
        self._left: dict[str, deque[tuple[int, float]]] = defaultdict(lambda: deque(maxlen=8))
        self._read_at: dict[GpuId, float] = {}
        self._standing: set[tuple[str, int, str]] = set()
        #: what befell a job's GPUs while it held them, as one or more sentences
        self.remarks: dict[JobId, str] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._forgot_at = 0.0

    def on_remark(self, remarked: Callable[[Sequence[JobId]], None]) -> None:
        """Who is told of jobs that have a new remark."""
        self._remarked = remarked

    def open(self) -> None:
        """Take up what was written before: jobs that ended meanwhile let go, the others go on."""
        for row in self._store.open_holds():
            self._held[row.gpu, row.job] = _Held(row, Meter(), row.counted)
        state = self._loop.state
        for job_id in {*state.holding, *(JobId(job) for _, job in self._held)}:
            self._follow(job_id)
        for job, label, xid in self._store.errors_of_jobs():
            self._remark(JobId(job), label, xid)
        self._standing = set(self._store.standing_errors(boot=self._boot))

    # --- as things happen ----------------------------------------------------------------------------------------------

    def changed(self, events: Sequence[Event]) -> None:
        """Events were folded."""
        for event in events:
            if isinstance(event, ev.Forgotten):
                for job in event.jobs:
                    self.remarks.pop(job, None)
            elif isinstance(event, ev.GpuRestored):
                if event.cause.startswith(XID_CAUSE):
                    self._store.lift(event.gpu)
                    self._standing = {s for s in self._standing if s[0] != event.gpu}
            elif not isinstance(event, ev.NodeEvent | ev.RuleEvent):
                self._follow(event.job)

    def _follow(self, job_id: JobId) -> None:
        """Begin and end holds of one job, as the state has it."""
        job = self._loop.state.jobs.get(job_id)
        now = self._loop.now()
        holding: tuple[GpuId, ...] = ()
        if job is not None and job.state in HOLDING and job.allocation is not None:
            holding = job.allocation.gpus
        for key in [key for key in self._held if key[1] == job_id and key[0] not in holding]:
            self._let_go(self._held.pop(key), job, now)
        for gpu in holding:
            if job is not None and (gpu, job_id) not in self._held:
                self._take_hold(job, gpu, now)
        if job is not None and job.state is JobState.FAILED:
            self._store.failed(job_id)

    def _take_hold(self, job: Job, gpu: GpuId, now: float) -> None:
        assert job.allocation is not None
        weight = job.allocation.weight or 1.0
        # A shared GPU counts by its share; of a gang each GPU counts as one.
        weight = min(1.0, weight) if job.allocation.gpu_memory_bytes is not None else 1.0
        start = job.granted_at if job.granted_at is not None and job.frozen_s == 0 else now
        row = HoldRow(gpu, job.id, min(start, now), None, job.spec.name, job.spec.user, weight, min(start, now))
        self._held[gpu, job.id] = _Held(row, Meter(), row.counted)
        self._store.hold(row)
        self._wake_later()

    def _let_go(self, held: _Held, job: Job | None, now: float) -> None:
        ended = job.ended_at if job is not None and job.ended_at is not None else now
        end = max(held.row.start, min(ended, now))
        self._settle_meter(held)
        self._count(held, end)
        self._store.update(held.row, end=end, counted=end)
        self._left[held.row.gpu].append((held.row.job, end))
        self._wake_later()

    def _count(self, held: _Held, until: float) -> None:
        """Bring the sums of a hold up to date."""
        for day, seconds in by_day(held.counted, until):
            self._store.count(day, held.row, {"held": seconds * held.row.weight})
        held.counted = max(held.counted, until)

    # --- as GPUs are read ----------------------------------------------------------------------------------------------

    def take(self, samples: Sequence[GpuSample]) -> None:
        """A reading of all GPUs."""
        now = self._loop.now()
        for sample in samples:
            if sample.at <= self._read_at.get(sample.gpu, float("-inf")):
                continue
            self._read_at[sample.gpu] = sample.at
            values = tuple(_number(getattr(sample, name)) for name in METRICS.values())
            # Of a GPU that tells nothing nothing is kept: a gap.
            if any(v is not None for v in values):
                closed = self._rollups[sample.gpu].add(now, values)
                self._store.add(Row(c.tier, sample.gpu, *c.stretch) for c in closed)
                self._meter(sample)
            for xid in sample.xids:
                self._erred(sample, xid, now)
        self._stand_by()
        self._wake_later()

    def _meter(self, sample: GpuSample) -> None:
        gpu = self._loop.state.gpus.get(sample.gpu)
        capacity = sample.memory_total_bytes or (gpu.memory_bytes if gpu is not None else None)
        for (held_gpu, _), held in self._held.items():
            if held_gpu == sample.gpu:
                # Of a shared GPU the memory is not one job's.
                memory = _number(sample.memory_used_bytes) if held.row.weight >= 1.0 else None
                held.meter.add(utilization=sample.utilization_percent, memory=memory)
                held.capacity = capacity
                if held.meter.is_due:
                    self._settle_meter(held)

    def _settle_meter(self, held: _Held) -> None:
        came = held.meter.settle(weight=held.row.weight, capacity=held.capacity)
        if came.sums:
            day = day_of(self._loop.now())
            self._store.count(day, held.row, came.sums, peak=came.peak, capacity=held.capacity)

    def _erred(self, sample: GpuSample, xid: int, now: float) -> None:
        label = sample.label or sample.gpu
        holding = [job for gpu, job in self._held if gpu == sample.gpu]
        blamed = holding or [job for job, end in self._left[sample.gpu] if now - end <= BLAME_S][-1:]
        stands = nvml_xids.is_hardware(xid)
        whose: list[int | None] = [*blamed] or [None]
        for job in whose:
            self._store.note_error(
                at=now, gpu=sample.gpu, xid=xid, label=label, job=job, boot=self._boot, stands=stands
            )
        if stands:
            self._standing.add((sample.gpu, xid, label))
        for job in blamed:
            self._remark(JobId(job), label, xid)
        self._remarked([JobId(job) for job in blamed])

    def _remark(self, job: JobId, label: str, xid: int) -> None:
        said = f"{nvml_xids.sentence(label, xid)}."
        before = self.remarks.get(job, "")
        if said not in before:
            self.remarks[job] = f"{before} {said}".strip()

    def _stand_by(self) -> None:
        """An error of the hardware outlives the daemon: its GPU joins anew without it, and is drained again."""
        gpus = self._loop.state.gpus
        again = [
            xid_drain(GpuId(gpu), xid, label=label, at=self._loop.now())
            for gpu, xid, label in sorted(self._standing)
            if gpu in gpus and f"{XID_CAUSE}{xid}" not in gpus[GpuId(gpu)].drains
        ]
        if again:
            self._loop.node(again)

    # --- keeping it ----------------------------------------------------------------------------------------------------

    def _wake_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(COMMIT_S, self._settle)

    def _settle(self) -> None:
        self._timer = None
        now = self._loop.now()
        self._count_all(now)
        self._store.commit()
        if now - self._forgot_at >= FORGET_EVERY_S:
            self._forgot_at = now
            self._store.forget(now=now, kept_s=[tier.kept_s for tier in TIERS])

    def _count_all(self, now: float) -> None:
        for held in self._held.values():
            self._settle_meter(held)
            self._count(held, now)
            self._store.update(held.row, end=None, counted=held.counted)

    def close(self) -> None:
        """Write what is not written; jobs go on holding what they hold."""
        if self._timer is not None:
            self._timer.cancel()
        for gpu, rollup in self._rollups.items():
            self._store.add(Row(c.tier, gpu, *c.stretch) for c in rollup.end())
        self._count_all(self._loop.now())
        self._store.close()

    # --- for those who tell it -----------------------------------------------------------------------------------------

    def up_to_date(self) -> SampleStore:
        """The store, with the use of what is held now counted until now."""
        self._count_all(self._loop.now())
        return self._store

    def idle(self) -> list[tuple[HoldRow, float]]:
        """Holds that are idle now, and for how long; the longest first."""
        found = [(held.row, held.meter.idle_s) for held in self._held.values() if held.meter.idle_s]
        return sorted(found, key=lambda pair: -pair[1])


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)
