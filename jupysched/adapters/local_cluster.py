"""CPU slots: one agent in the daemon's own loop. Knows how slots are announced; knows nothing of Dask.

No Dask here, since its scheduler alone idles at 0.8 CPU-seconds a minute and takes seconds to start, and there is nothing for
it to carry: the agent stands in the same process."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

from jupysched.adapters.agent import Agent
from jupysched.adapters.cpu_slots import cpu_slots, physical_cores, this_node
from jupysched.core.events import NodeJoined
from jupysched.core.resources import NodeName
from jupysched.ports import Grace, Heard, OnHeard, OnNode, StartOrder


class LocalCluster:
    """A ports.Cluster whose only agent lives here."""

    def __init__(
        self,
        run_dir: str,
        *,
        slots: int | None = None,
        node: str | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._node = NodeName(node or socket.gethostname())
        self._slots = slots or physical_cores()
        self._clock = clock
        self._on_heard: OnHeard | None = None
        self._agent = Agent(run_dir, name="local", heard=self._heard, clock=clock)

    async def start(self, *, heard: OnHeard, node: OnNode) -> None:
        """Have the launcher ready and announce the slots."""
        self._on_heard = heard
        await self._agent.start()
        gpus = cpu_slots(self._node, self._slots)
        node([NodeJoined(at=self._clock(), node=this_node(self._node, gpus), gpus=gpus)])

    def order_start(self, order: StartOrder) -> None:
        self._agent.order_start(order)

    def order_stop(self, order: StartOrder, *, grace_s: Grace, nth: int) -> None:
        self._agent.order_stop(order, grace_s=grace_s, nth=nth)

    def order_freeze(self, order: StartOrder) -> None:
        self._agent.order_freeze(order)

    def order_thaw(self, order: StartOrder) -> None:
        self._agent.order_thaw(order)

    def adopt(self, order: StartOrder) -> None:
        self._agent.adopt(order)

    def shims(self) -> frozenset[int]:
        """The pids of the shims of the live attempts."""
        return self._agent.shims()

    async def close(self) -> None:
        await self._agent.close()

    def _heard(self, heard: Heard) -> None:
        if self._on_heard is not None:
            self._on_heard(heard)
