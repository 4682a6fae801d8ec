"""A cluster under test, with what it said; for twins and real ones alike."""

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupysched import spool
from jupysched.adapters.launcher_client import LauncherClient
from jupysched.core.events import Event, NodeJoined
from jupysched.core.job import Exit
from jupysched.core.resources import Gpu
from jupysched.ports import Heard, StartOrder
from jupysched.testing.cluster import ENDED_WELL, FakeCluster
from tests.adapters.job_directories import FOREVER, an_order, job_directory, printed
from tests.adapters.machines import run_directory
from tests.waiting import eventually_async

GRACE = (30.0, 30.0)
#: what a job does -> the cell that does it
CELLS = {
    "ends": "print('hello')",
    "fails": "print('hello')\nraise ValueError('no such layer')",
    "goes on": FOREVER,
    "ignores interrupts": "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('up', flush=True)\ntime.sleep(600)",
}
#: ... and what the twin makes of it
OUTCOMES: dict[str, Exit | None] = {
    "ends": ENDED_WELL,
    "fails": Exit(code=1, outcome="error", error="ValueError: no such layer", sentence="ValueError: no such layer"),
    "goes on": None,
    "ignores interrupts": None,
}
numbers = itertools.count(1)


@dataclass
class Subject:
    """A cluster under test, with what it said."""

    cluster: Any
    home: Path
    heard: list[Heard] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)

    @property
    def is_twin(self) -> bool:
        return isinstance(self.cluster, FakeCluster)

    async def open(self) -> "Subject":
        await self.cluster.start(heard=self.heard.append, node=self.events.extend)
        return self

    @property
    def gpus(self) -> tuple[Gpu, ...]:
        return next(event.gpus for event in self.events if isinstance(event, NodeJoined))

    def order(self, does: str, gpus: Sequence[Gpu] = (), **more: Any) -> StartOrder:
        number, gpus = next(numbers), gpus or self.gpus[:1]
        if self.is_twin:
            return an_order(Path("/nowhere", does), gpus, job=number)
        directory = job_directory(
            self.home, f"{number} {does if does in CELLS else 'a cell'}", CELLS.get(does, does), **more
        )
        return an_order(directory, gpus, job=number)

    async def start(self, does: str, gpus: Sequence[Gpu] = (), **more: Any) -> StartOrder:
        order = self.order(does, gpus, **more)
        self.cluster.order_start(order)
        return order

    async def until(self, order: StartOrder, kind: str) -> Heard:
        """Wait until the cluster says this of the attempt."""
        return await eventually_async(
            lambda: next(
                (h for h in self.heard if (h.job, h.attempt, h.kind) == (order.job, order.attempt, kind)), None
            ),
            within_s=90,
            what=f"job {order.job} {kind}; so far {self.heard}",
        )

    async def until_up(self, order: StartOrder) -> None:
        """Wait until the cell itself is under way."""
        await self.until(order, "running")
        if self.is_twin:
            if "ignores" in order.name:
                self.cluster.harden(order)
        else:
            await eventually_async(lambda: "up" in printed(Path(order.directory)))

    async def until_frozen(self, order: StartOrder, frozen: bool) -> None:
        """Wait until the attempt's own process stands still, or moves again."""
        if self.is_twin:
            assert frozen == self.cluster.machine.attempts[order.job, order.attempt].is_frozen
            return
        shim = spool.read_json(os.path.join(spool.attempt_path(order.directory, order.attempt), spool.SHIM))
        assert shim is not None
        status = Path(f"/proc/{shim['job_pid']}/stat")
        await eventually_async(lambda: (status.read_text().rpartition(")")[2].split()[0] == "T") is frozen)

    def kinds(self, order: StartOrder) -> list[str]:
        return [h.kind for h in self.heard if (h.job, h.attempt) == (order.job, order.attempt)]


async def end_launcher(home: Path) -> None:
    """Let the launcher of a home end, and be gone."""
    await end_launcher_in(run_directory(home))


async def end_launcher_in(run_dir: Path) -> None:
    """Let the launcher of a run directory end, started if need be, and be gone."""
    launcher = LauncherClient(str(run_dir))
    answers: list[Any] = []
    await launcher.start()
    launcher.request({"op": "ping"}, answers.append)
    launcher.request({"op": "quit"}, answers.append)
    await eventually_async(lambda: len(answers) == 2)
    await eventually_async(lambda: is_gone(answers[0]["pid"]))
    await launcher.close()


def is_gone(pid: int) -> bool:
    try:
        if os.waitpid(pid, os.WNOHANG)[0]:
            return True
    except ChildProcessError:
        pass
    return not Path(f"/proc/{pid}").exists()
