"""GPUs: a dask-cuda worker for each, reached through our scheduler plugin. Knows how they are brought up and kept up.

Dask carries and we decide: its own placement, stealing and retries never come into play."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import importlib.util
import logging
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

from jupysched.adapters.cpu_slots import this_node
from jupysched.adapters.dask_dispatch import What
from jupysched.adapters.launcher_client import LauncherClient
from jupysched.core.events import Event, GpuDrained, NodeJoined
from jupysched.core.resources import Gpu, NodeName
from jupysched.ports import GpuProbe, Grace, Heard, OnHeard, OnNode, StartOrder

log = logging.getLogger("jupysched.daemon")
LOOK_EVERY_S = 1.0
#: after a failure to bring up a cluster or a worker
RETRY_S = 10.0
CAUSE = "agent"

for _module in ("dask_cuda", "distributed"):
    # Said at import, at no cost: the import itself takes a second and waits until the cluster is brought up.
    if importlib.util.find_spec(_module) is None:
        raise ImportError(f"No module named {_module!r}", name=_module)


class DaskCluster:
    """A ports.Cluster on the GPUs that the probe finds."""

    def __init__(self, run_dir: str, *, probe: GpuProbe, clock: Callable[[], float] = time.time) -> None:
        self._run_dir, self._probe, self._clock = run_dir, probe, clock
        self._plugin: Any = None
        self._cluster: Any = None
        self._node: OnNode | None = None
        self._heard: OnHeard | None = None
        self._life: asyncio.Task[None] | None = None
        self._launcher = LauncherClient(run_dir)
        #: what was asked before Dask was imported
        self._early: list[Callable[[], None]] = []
        self._gpus: tuple[Gpu, ...] = ()

    async def start(self, *, heard: OnHeard, node: OnNode) -> None:
        """Announce the GPUs, each drained until its agent is there, and bring the agents up in the background."""
        self._heard, self._node = heard, node
        self._gpus = tuple(await asyncio.to_thread(self._probe.inventory))
        name = self._gpus[0].node if self._gpus else NodeName(socket.gethostname())
        here = this_node(name, self._gpus, self._probe.links())
        self._tell([NodeJoined(at=self._clock(), node=here, gpus=self._gpus)])
        self._drain("Its agent (a Dask worker) is starting.")
        self._life = asyncio.create_task(self._live(), name="dask cluster")

    def order_start(self, order: StartOrder) -> None:
        self._when_up(lambda: self._plugin.order_start(order))

    def order_stop(self, order: StartOrder, *, grace_s: Grace, nth: int) -> None:
        self._when_up(lambda: self._plugin.order_stop(order, grace_s=grace_s, nth=nth))

    def order_freeze(self, order: StartOrder) -> None:
        self._when_up(lambda: self._plugin.tell_agent(order, What.FREEZE))

    def order_thaw(self, order: StartOrder) -> None:
        self._when_up(lambda: self._plugin.tell_agent(order, What.THAW))

    def adopt(self, order: StartOrder) -> None:
        self._when_up(lambda: self._plugin.adopt(order))

    def shims(self) -> frozenset[int]:
        """The pids of the shims of the live attempts."""
        return self._plugin.shims() if self._plugin is not None else frozenset()

    async def close(self) -> None:
        """End the workers; attempts go on."""
        if self._life is not None:
            self._life.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._life
        if self._cluster is not None:
            await self._cluster.close()
        await self._launcher.close()

    # --- bringing it up and keeping it up ------------------------------------------------------------------------------

    def _when_up(self, act: Callable[[], None]) -> None:
        if self._plugin is not None:
            act()
        else:
            self._early.append(act)

    async def _live(self) -> None:
        """Writes: whatever Dask keeps in the run directory."""
        # The launcher is ours to start: one that a worker started would hold what the worker holds.
        await self._launcher.start()
        while failure := await self._bring_up():
            self._drain(f"Its agent (a Dask worker) could not be started: {failure}.")
            await asyncio.sleep(RETRY_S)
        if failure := await self._cluster.grow():
            self._drain(f"Its agent (a Dask worker) could not be started: {failure}.")
        mend_at = 0.0
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            self._plugin.look()
            if time.monotonic() >= mend_at and (failure := await self._cluster.mend()):
                mend_at = time.monotonic() + RETRY_S
                self._drain(f"Its agent (a Dask worker) could not be started: {failure}.")

    async def _bring_up(self) -> str:
        """Start scheduler and workers; return why that failed, or ""."""
        try:
            # A second of CPU: in a thread, so that the daemon answers meanwhile.
            await asyncio.to_thread(importlib.import_module, "jupysched.adapters.dask_gpus")
            from jupysched.adapters.dask_gpus import new_cluster
            from jupysched.adapters.dask_plugin import JupyschedPlugin

            self._plugin = JupyschedPlugin(self._gpus, heard=self._hear, node=self._tell, clock=self._clock)
            names = [str(gpu.id) for gpu in self._gpus]
            self._cluster = new_cluster(names, run_dir=self._run_dir, plugin=self._plugin)
            early, self._early = self._early, []
            for act in early:
                act()
            await self._cluster
        except Exception as error:
            if self._cluster is not None and self._cluster.scheduler is not None:
                # The scheduler stands, a worker does not: that is for mending.
                return ""
            log.exception("dask cluster not started", extra={"cause": type(error).__name__})
            return f"{type(error).__name__}: {error}"
        return ""

    # --- telling -------------------------------------------------------------------------------------------------------

    def _drain(self, sentence: str) -> None:
        """Drain the GPUs whose agent is not there."""
        there = self._plugin.connected() if self._plugin is not None else frozenset()
        at = self._clock()
        missing = [gpu.id for gpu in self._gpus if str(gpu.id) not in there]
        self._tell([GpuDrained(at=at, gpu=gpu, cause=CAUSE, sentence=sentence) for gpu in missing])

    def _tell(self, events: Sequence[Event]) -> None:
        if self._node is not None and events:
            self._node(events)

    def _hear(self, heard: Heard) -> None:
        if self._heard is not None:
            self._heard(heard)
