"""Reads the GPUs once a second and tells the loop what changed about them. Decides nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping

from jupysched import spool
from jupysched.adapters.gpu_watch import Watch, changes
from jupysched.adapters.nvml_probe import NvmlProbe
from jupysched.adapters.processes import Whose, descends_from, describe_process
from jupysched.core.resources import GpuId
from jupysched.daemon.loop import Loop
from jupysched.ports import GpuSample

PERIOD_S = 1.0


class Sampling:
    """The probe reads in a thread of its own, so a card that hangs does not hang the daemon."""

    def __init__(self, *, probe: NvmlProbe, loop: Loop, sampled: Callable[[], None]) -> None:
        self._probe = probe
        self._loop = loop
        self._sampled = sampled
        self._watch: Watch = {}
        self._latest: dict[GpuId, GpuSample] = {}
        self._timer: asyncio.TimerHandle | None = None

    def latest(self) -> Mapping[GpuId, GpuSample]:
        """The newest reading of each GPU."""
        return self._latest

    def look(self) -> None:
        """One reading, and the next one in a second."""
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
        if events:
            self._loop.node(events)
        self._sampled()
        self._timer = asyncio.get_running_loop().call_later(PERIOD_S, self.look)

    def _describe(self, pid: int) -> Whose:
        return describe_process(pid, otherwise=self._probe.process_name)

    def _roots(self) -> set[int]:
        """Our own process and the shims of the attempts that hold GPUs: what runs below them is ours."""
        found = {os.getpid()}
        for job_id in self._loop.state.holding:
            job = self._loop.state.jobs[job_id]
            shim = spool.read_json(os.path.join(spool.attempt_path(job.spec.directory, job.attempt), spool.SHIM))
            if shim is not None:
                found.add(int(shim["pid"]))
        return found

    def close(self) -> None:
        """Stop reading."""
        if self._timer is not None:
            self._timer.cancel()
        self._probe.close()
