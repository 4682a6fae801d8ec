"""Our part of the Dask scheduler: joins and losses of workers become events, orders go out on worker streams, words come in.

Knows distributed's hooks; which order is where is dask_dispatch's. Dask logs and swallows what a hook raises, so each catches
for itself and tells it as an event."""

from __future__ import annotations

import functools
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec

import msgspec
from distributed import SchedulerPlugin
from distributed.comm import CommClosedError

from jupysched.adapters.dask_agent import ORDER, WORD
from jupysched.adapters.dask_dispatch import Dispatch, What
from jupysched.core.events import GpuDrained, GpuRestored
from jupysched.core.resources import Gpu, GpuId
from jupysched.ports import Grace, Heard, OnHeard, OnNode, StartOrder

log = logging.getLogger("jupysched.daemon")
P = ParamSpec("P")
#: the cause under which a GPU without its agent is drained, and that under which a fault of our own is told
CAUSE, BUG = "agent", "agent-fault"


def _guarded(hook: Callable[P, None]) -> Callable[P, None]:
    @functools.wraps(hook)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            hook(*args, **kwargs)
        except Exception as error:
            plugin = args[0]
            assert isinstance(plugin, JupyschedPlugin)
            plugin.report(f"jupysched's part of the Dask scheduler failed in {hook.__name__}: {error!r}.")

    return guarded


class JupyschedPlugin(SchedulerPlugin):  # type: ignore[misc]
    """A worker's name is its GPU's UUID: that is its identity, its address changes with every restart."""

    name = "jupysched"

    def __init__(
        self,
        gpus: Sequence[Gpu],
        *,
        heard: OnHeard,
        node: OnNode,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._gpus: Mapping[str, Gpu] = {str(gpu.id): gpu for gpu in gpus}
        self._node, self._clock, self._monotonic = node, clock, monotonic
        self._scheduler: Any = None
        self._addresses: dict[str, str] = {}
        self._hung: set[str] = set()
        self._dispatch = Dispatch({name: gpu.node for name, gpu in self._gpus.items()}, send=self._send, heard=heard)

    # --- orders --------------------------------------------------------------------------------------------------------

    def order_start(self, order: StartOrder) -> None:
        self._dispatch.start(order, now=self._monotonic())

    def adopt(self, order: StartOrder) -> None:
        self._dispatch.start(order, now=self._monotonic(), what=What.ADOPT)

    def order_stop(self, order: StartOrder, *, grace_s: Grace, nth: int) -> None:
        self._dispatch.stop(order, grace_s=grace_s, nth=nth, now=self._monotonic())

    def tell_agent(self, order: StartOrder, what: What) -> None:
        """Send an order for a live attempt to the agent that has it."""
        self._dispatch.tell(order, what)

    def shims(self) -> frozenset[int]:
        return self._dispatch.shims()

    def connected(self) -> frozenset[str]:
        """Names of the workers that are there."""
        return frozenset(self._addresses)

    @_guarded
    def look(self) -> None:
        """Find agents that do not answer; called every second or so."""
        hung = self._dispatch.hung(now=self._monotonic())
        for name in hung - self._hung:
            self._drain(name, "Its agent has not confirmed an order for 10 seconds.")
        self._hung |= hung

    # --- Dask's hooks --------------------------------------------------------------------------------------------------

    async def start(self, scheduler: Any) -> None:
        self._scheduler = scheduler
        scheduler.stream_handlers[WORD] = self._word

    @_guarded
    def add_worker(self, scheduler: Any, worker: str) -> None:
        name = str(scheduler.workers[worker].name)
        if name not in self._gpus:
            self.report(f"A Dask worker of an unknown name ({name}) has joined; it is given nothing.")
            return
        self._addresses[name] = worker
        self._hung.discard(name)
        self._node([GpuRestored(at=self._clock(), gpu=GpuId(name), cause=CAUSE)])
        self._dispatch.joined(name, now=self._monotonic())

    @_guarded
    def remove_worker(self, scheduler: Any, worker: str, *, stimulus_id: str, **_: Any) -> None:
        for name, address in tuple(self._addresses.items()):
            if address == worker:
                del self._addresses[name]
                self._dispatch.left(name, now=self._monotonic())
                self._drain(name, "Its agent (a Dask worker) has ended and is being started again.")

    @_guarded
    def _word(self, kind: str = "", worker: str = "", **message: Any) -> None:
        """A word of an agent. Any Dask worker could send one; there are none but ours."""
        name = next((name for name, address in self._addresses.items() if address == worker), "")
        if name in self._hung:
            self._hung.discard(name)
            self._node([GpuRestored(at=self._clock(), gpu=GpuId(name), cause=CAUSE)])
        if kind == "ack":
            self._dispatch.acked(message["job"], message["attempt"])
        elif kind == "heard":
            self._dispatch.told(msgspec.convert(message["heard"], Heard), message.get("shim"))
        elif kind == "fault":
            self.report(message["sentence"])

    # --- telling -------------------------------------------------------------------------------------------------------

    def report(self, sentence: str) -> None:
        """Tell a fault of our own: a line in the log, and a drain of the first GPU that is taken back at once, for the journal."""
        log.error("dask part failed", extra={"cause": sentence})
        at, gpu = self._clock(), GpuId(next(iter(self._gpus)))
        self._node([GpuDrained(at=at, gpu=gpu, cause=BUG, sentence=sentence), GpuRestored(at=at, gpu=gpu, cause=BUG)])

    def _drain(self, name: str, sentence: str) -> None:
        self._node([GpuDrained(at=self._clock(), gpu=GpuId(name), cause=CAUSE, sentence=sentence)])

    def _send(self, name: str, message: dict[str, Any]) -> bool:
        stream = self._scheduler.stream_comms.get(self._addresses.get(name, ""))
        if stream is None:
            return False
        try:
            stream.send({"op": ORDER, **message})
        except CommClosedError:
            return False
        return True
