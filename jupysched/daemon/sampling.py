"""Reads the GPUs once a second and tells the loop what changed about them; on CPU slots, what their jobs use. Decides nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

from jupysched import spool
from jupysched.adapters.gpu_watch import Watch, changes
from jupysched.adapters.nvml_probe import NvmlProbe
from jupysched.adapters.processes import Whose, descends_from, describe_process
from jupysched.adapters.slot_meter import SlotMeter, Tree
from jupysched.core.job import Job, JobId
from jupysched.core.resources import GpuId
from jupysched.daemon.loop import Loop
from jupysched.ports import GpuSample

PERIOD_S = 1.0
Take = Callable[[Sequence[GpuSample]], None]


class Shims:
    """The pid of each running attempt's shim, below which all of its processes are. Read from the spool once an attempt."""

    def __init__(self) -> None:
        self._known: dict[tuple[JobId, int], int] = {}

    def of(self, job: Job) -> int | None:
        """None while it has none."""
        key = (job.id, job.attempt)
        if key not in self._known:
            shim = spool.read_json(os.path.join(spool.attempt_path(job.spec.directory, job.attempt), spool.SHIM))
            if shim is None:
                return None
            self._known[key] = int(shim["pid"])
        return self._known[key]

    def forget_all_but(self, jobs: Sequence[Job]) -> None:
        """Attempts that are over."""
        keys = {(job.id, job.attempt) for job in jobs}
        self._known = {key: pid for key, pid in self._known.items() if key in keys}


class Sampling:
    """The probe reads in a thread of its own, so a card that hangs does not hang the daemon."""

    def __init__(self, *, probe: NvmlProbe, loop: Loop, take: Take, sampled: Callable[[], None]) -> None:
        """`take` gets every reading, `sampled` is told that there is one."""
        self._probe = probe
        self._loop = loop
        self._take, self._sampled = take, sampled
        self._watch: Watch = {}
        self._latest: dict[GpuId, GpuSample] = {}
        self._shims = Shims()
        self._timer: asyncio.TimerHandle | None = None

    def latest(self) -> Mapping[GpuId, GpuSample]:
        """The newest reading of each GPU."""
        return self._latest

    def start(self) -> None:
        """Read from now on, for as long as the daemon lives: a GPU may be lost, or taken by others, at any time."""
        self.look()

    def look(self) -> None:
        """One reading, and the next one in a second, whatever comes of this one."""
        self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self.look)
        samples = self._probe.sample()
        self._latest = {s.gpu: s for s in samples}
        roots = self._roots()
        self._watch, events = changes(
            self._watch,
            samples,
            lambda pid: descends_from(pid, roots),
            self._describe,
            held=self._loop.state.holders.keys(),
        )
        # Whose job it was is asked before the loop hears of it.
        self._take(samples)
        if events:
            self._loop.node(events)
        self._sampled()

    def _describe(self, pid: int) -> Whose:
        return describe_process(pid, otherwise=self._probe.process_name)

    def _roots(self) -> set[int]:
        """Our own process and the shims of the attempts that hold GPUs: what runs below them is ours."""
        jobs = [self._loop.state.jobs[job] for job in self._loop.state.holding]
        self._shims.forget_all_but(jobs)
        return {os.getpid(), *(pid for job in jobs if (pid := self._shims.of(job)) is not None)}

    def close(self) -> None:
        """Stop reading."""
        if self._timer is not None:
            self._timer.cancel()
        self._probe.close()


class SlotSampling:
    """Reads /proc while jobs hold CPU slots, in a thread; does nothing at all while none does."""

    def __init__(self, *, loop: Loop, take: Take, sampled: Callable[[], None]) -> None:
        self._loop, self._take, self._sampled = loop, take, sampled
        self._meter, self._shims = SlotMeter(), Shims()
        self._latest: dict[GpuId, GpuSample] = {}
        self._task: asyncio.Task[None] | None = None

    def latest(self) -> Mapping[GpuId, GpuSample]:
        """The newest reading of each slot that is held."""
        return self._latest

    def start(self) -> None:
        """Read for as long as jobs hold slots; to be called again when one begins to."""
        if self._loop.state.holding and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def _run(self) -> None:
        # First a pause: what lasts less than that has its machine for itself.
        while await asyncio.sleep(PERIOD_S, self._loop.state.holding):
            samples = await asyncio.to_thread(self._meter.read, self._trees(), at=self._loop.now())
            held = self._loop.state.holders
            self._latest = {s.gpu: s for s in samples if s.gpu in held}
            self._take(list(self._latest.values()))
            self._sampled()
        self._latest = {}

    def _trees(self) -> list[Tree]:
        state = self._loop.state
        jobs = [state.jobs[job] for job in state.holding]
        self._shims.forget_all_but(jobs)
        found: list[Tree] = []
        for job in jobs:
            root = self._shims.of(job)
            if root is not None and job.allocation is not None:
                found.append(Tree(root, tuple(state.gpus[g] for g in job.allocation.gpus if g in state.gpus)))
        return found

    def close(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
