"""A cluster without processes: attempts are entries in a table that outlives the cluster, as directories outlive a daemon.

The twin of adapters.local_cluster and adapters.dask_cluster; it passes the same contract tests."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from jupysched.core.events import Event, GpuDrained, GpuRestored, NodeJoined
from jupysched.core.job import Exit
from jupysched.core.resources import Gpu, GpuId, GpuKind, Node, NodeName
from jupysched.ports import Grace, Heard, OnHeard, OnNode, StartOrder

ENDED_WELL = Exit(code=0, outcome="ok")
INTERRUPTED = Exit(code=130, outcome="interrupted", error="KeyboardInterrupt", sentence="The cell was interrupted.")
STOPPED = Exit(signal=int(signal.SIGKILL), sentence="Its process was ended by signal 9 (SIGKILL), as ordered.")
#: what becomes of an attempt at once: an exit, a sentence it is refused with, or None if it runs until it is told otherwise
Script = Callable[[StartOrder], Exit | str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeAttempt:
    """One attempt in the table."""

    order: StartOrder
    exit: Exit | None = None
    is_lost: bool = False
    stops: int = 0
    is_frozen: bool = False
    ignores_interrupt: bool = False


@dataclass(slots=True)
class FakeMachine:
    """What goes on while clusters come and go."""

    attempts: dict[tuple[int, int], FakeAttempt] = field(default_factory=dict)
    #: every order that led to a start, in order; none is there twice
    started: list[StartOrder] = field(default_factory=list)


def fake_gpus(count: int, *, node: str = "node0", memory_bytes: int = 80 << 30) -> tuple[Gpu, ...]:
    """Return GPUs that are not there."""
    return tuple(
        Gpu(
            id=GpuId(f"GPU-{node}-{index}"),
            node=NodeName(node),
            index=index,
            name="Fake GPU",
            kind=GpuKind.GPU,
            memory_bytes=memory_bytes,
        )
        for index in range(count)
    )


class FakeCluster:
    """A ports.Cluster whose attempts end when the test says so, or as the script says."""

    def __init__(
        self,
        gpus: Sequence[Gpu] | None = None,
        *,
        script: Script = lambda order: ENDED_WELL,
        machine: FakeMachine | None = None,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.gpus = tuple(fake_gpus(2) if gpus is None else gpus)
        self.machine = machine or FakeMachine()
        self.orders: list[tuple[str, StartOrder]] = []
        self._script, self._clock = script, clock
        self._on_heard: OnHeard | None = None
        self._on_node: OnNode | None = None
        self._soon: set[asyncio.Handle] = set()

    async def start(self, *, heard: OnHeard, node: OnNode) -> None:
        """Announce the GPUs, node by node."""
        self._on_heard, self._on_node = heard, node
        for name in dict.fromkeys(gpu.node for gpu in self.gpus):
            gpus = tuple(gpu for gpu in self.gpus if gpu.node == name)
            here = Node(name=name, cpus=8, memory_bytes=64 << 30, gpus=tuple(gpu.id for gpu in gpus))
            node([NodeJoined(at=self._clock(), node=here, gpus=gpus)])

    async def close(self) -> None:
        """Say no more; attempts go on."""
        self._on_heard = self._on_node = None
        for handle in self._soon:
            handle.cancel()
        self._soon.clear()

    # --- orders --------------------------------------------------------------------------------------------------------

    def order_start(self, order: StartOrder) -> None:
        self.orders.append(("start", order))
        if (order.job, order.attempt) in self.machine.attempts:
            self._say(order)
            return
        said = self._script(order)
        if isinstance(said, str):
            self._tell(order, "refused", sentence=said)
            return
        self.machine.attempts[order.job, order.attempt] = FakeAttempt(order=order)
        self.machine.started.append(order)
        self._say(order)
        if said is not None:
            self.end(order, said)

    def order_freeze(self, order: StartOrder) -> None:
        self.orders.append(("freeze", order))
        self._change(order, is_frozen=True)

    def order_thaw(self, order: StartOrder) -> None:
        self.orders.append(("thaw", order))
        self._change(order, is_frozen=False)

    def adopt(self, order: StartOrder) -> None:
        self.orders.append(("adopt", order))
        if (order.job, order.attempt) in self.machine.attempts:
            self._say(order)
        else:
            self.order_start(order)

    def order_stop(self, order: StartOrder, *, grace_s: Grace, nth: int) -> None:
        self.orders.append(("stop", order))
        attempt = self.machine.attempts.get((order.job, order.attempt))
        if attempt is None:
            self._tell(order, "refused", sentence="It was stopped before it started.")
        elif attempt.exit is None and not attempt.is_lost:
            if nth <= attempt.stops:
                return
            attempt = self._change(order, stops=nth)
            if not attempt.ignores_interrupt:
                self.end(order, INTERRUPTED)
            elif attempt.stops > 1:
                self.end(order, STOPPED)
        else:
            self._say(order)

    # --- what a test makes happen --------------------------------------------------------------------------------------

    def end(self, order: StartOrder, exit_: Exit = ENDED_WELL) -> None:
        """Let an attempt end."""
        self._change(order, exit=exit_)
        self._say(order)

    def lose(self, order: StartOrder) -> None:
        """Let the shim of an attempt die."""
        self._change(order, is_lost=True)
        self._say(order)

    def harden(self, order: StartOrder) -> None:
        """Let an attempt ignore interrupts from now on."""
        self._change(order, ignores_interrupt=True)

    def drain(self, gpu: GpuId, sentence: str, *, cause: str = "agent") -> None:
        """Let a GPU be lost."""
        self._tell_node(GpuDrained(at=self._clock(), gpu=gpu, cause=cause, sentence=sentence))

    def restore(self, gpu: GpuId, *, cause: str = "agent") -> None:
        """Let a GPU come back."""
        self._tell_node(GpuRestored(at=self._clock(), gpu=gpu, cause=cause))

    # --- telling: never from within a call, as no real cluster does ------------------------------------------------------

    def _change(self, order: StartOrder, **changes: object) -> FakeAttempt:
        key = (order.job, order.attempt)
        changed = replace(self.machine.attempts[key], **changes)  # type: ignore[arg-type]
        self.machine.attempts[key] = changed
        return changed

    def _say(self, order: StartOrder) -> None:
        attempt = self.machine.attempts[order.job, order.attempt]
        if attempt.is_lost:
            self._tell(order, "lost", sentence="Its supervisor ended without a word.")
        elif attempt.exit is not None:
            self._tell(order, "ended", exit_=attempt.exit, sentence=attempt.exit.sentence)
        else:
            self._tell(order, "running")

    def _tell(self, order: StartOrder, kind: str, *, exit_: Exit | None = None, sentence: str = "") -> None:
        heard = Heard(job=order.job, attempt=order.attempt, kind=kind, at=self._clock(), exit=exit_, sentence=sentence)
        self._call_soon(lambda: self._on_heard(heard) if self._on_heard is not None else None)

    def _tell_node(self, event: Event) -> None:
        self._call_soon(lambda: self._on_node([event]) if self._on_node is not None else None)

    def _call_soon(self, act: Callable[[], None]) -> None:
        def now() -> None:
            self._soon.discard(handle)
            act()

        handle = asyncio.get_running_loop().call_soon(now)
        self._soon.add(handle)
