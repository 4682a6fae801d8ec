"""A cluster that does what the test says, and a daemon's loop around it, without processes or real time."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from jupysched.adapters.sample_store import SampleStore
from jupysched.core import events as ev
from jupysched.core.events import Event
from jupysched.core.invariants import check
from jupysched.core.job import Exit, JobId
from jupysched.core.resources import Gpu, GpuId, GpuKind, Node, NodeName
from jupysched.daemon.api import Api
from jupysched.daemon.auth import Person
from jupysched.daemon.loop import Loop
from jupysched.daemon.recording import Recorder
from jupysched.daemon.rollup import METRICS
from jupysched.daemon.settings import Settings
from jupysched.ports import Grace, Heard, OnHeard, OnNode, StartOrder
from jupysched.testing.clock import FakeClock
from jupysched.testing.journal import MemoryJournal

NODE = NodeName("n1")
ANN = Person(uid=1001, name="ann", is_admin=False)
BOB = Person(uid=1002, name="bob", is_admin=False)
ADMIN = Person(uid=54321, name="admin", is_admin=True)


@dataclass
class ScriptedCluster:
    """ports.Cluster: keeps every order; the test speaks for the agents."""

    gpus: int = 2
    slots: bool = False
    started: list[StartOrder] = field(default_factory=list)
    stopped: list[StartOrder] = field(default_factory=list)
    graces: list[Grace] = field(default_factory=list)
    nths: list[int] = field(default_factory=list)
    adopted: list[StartOrder] = field(default_factory=list)
    frozen: list[StartOrder] = field(default_factory=list)
    thawed: list[StartOrder] = field(default_factory=list)
    heard: OnHeard = lambda word: None
    node: OnNode = lambda events: None

    async def start(self, *, heard: OnHeard, node: OnNode) -> None:
        self.heard, self.node = heard, node
        gpus = tuple(_gpu(i, slots=self.slots) for i in range(self.gpus))
        node(
            [
                ev.NodeJoined(
                    at=0.0,
                    node=Node(name=NODE, cpus=8, memory_bytes=1 << 36, gpus=tuple(g.id for g in gpus)),
                    gpus=gpus,
                )
            ]
        )

    def order_start(self, order: StartOrder) -> None:
        self.started.append(order)

    def order_stop(self, order: StartOrder, *, grace_s: Grace, nth: int) -> None:
        self.stopped.append(order)
        self.graces.append(grace_s)
        self.nths.append(nth)

    def adopt(self, order: StartOrder) -> None:
        self.adopted.append(order)

    def order_freeze(self, order: StartOrder) -> None:
        self.frozen.append(order)

    def order_thaw(self, order: StartOrder) -> None:
        self.thawed.append(order)

    async def close(self) -> None:
        pass


def _gpu(index: int, *, slots: bool) -> Gpu:
    if slots:
        return Gpu(id=GpuId(f"S{index}"), node=NODE, index=index, name=f"CPU slot {index}", kind=GpuKind.CPU_SLOT)
    return Gpu(id=GpuId(f"G{index}"), node=NODE, index=index, name="H100", memory_bytes=80 << 30)


class House:
    """A loop on twins, with an API on top."""

    def __init__(self, journal: MemoryJournal | None = None, gpus: int = 2, *, slots: bool = False) -> None:
        self.journal = journal or MemoryJournal()
        self.clock = FakeClock()
        self.cluster = ScriptedCluster(gpus=gpus, slots=slots)
        self.loop = Loop(journal=self.journal, cluster=self.cluster, clock=self.clock, grace_s=(5.0, 5.0, 60.0))
        self.told: list[Event] = []
        self.store = SampleStore(":memory:", width=len(METRICS))
        self.recorder = Recorder(loop=self.loop, store=self.store, boot="this boot")
        self.loop.on_change(self._changed)
        self.ended = False
        self.api = Api(
            loop=self.loop,
            settings=Settings(),
            home="/h",
            samples=dict,
            recorder=self.recorder,
            shutdown=self._end,
        )

    def _changed(self, events: Sequence[Event]) -> None:
        self.told.extend(events)
        self.recorder.changed(events)

    def _end(self) -> None:
        self.ended = True

    async def open(self) -> "House":
        self.loop.recover()
        self.recorder.open()
        await self.cluster.start(heard=self.loop.heard, node=self.loop.node)
        self.loop.cycle()
        return self

    def cycle(self) -> None:
        self.loop.cycle()
        check(self.loop.state)

    def say(
        self,
        job: int,
        kind: str,
        *,
        attempt: int = 1,
        exit_: Exit | None = None,
        sentence: str = "",
        at: float | None = None,
    ) -> None:
        when = self.clock.now() if at is None else at
        self.cluster.heard(Heard(job=JobId(job), attempt=attempt, kind=kind, at=when, exit=exit_, sentence=sentence))
        self.cycle()

    def succeed(self, job: int, *, attempt: int = 1) -> None:
        self.say(job, "running", attempt=attempt)
        self.say(job, "ended", attempt=attempt, exit_=Exit(code=0, outcome="ok"))

    def state_of(self, job: int) -> str:
        return self.loop.state.jobs[JobId(job)].state.value

    def orders(self) -> Sequence[tuple[int, int]]:
        return [(o.job, o.attempt) for o in self.cluster.started]
