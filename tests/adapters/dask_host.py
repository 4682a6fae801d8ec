"""A process that runs a DaskCluster as a daemon would, told and asked in JSON lines; and, on the other side, its proxy.

The process has to be another one: it must be started with the fake NVML on its LD_LIBRARY_PATH."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.resources import Gpu, GpuId
from jupysched.ports import Heard, OnHeard, OnNode, StartOrder
from tests.waiting import eventually, eventually_async

ROOT = Path(__file__).parents[2]
EVENTS = {kind.__name__: kind for kind in (ev.NodeJoined, ev.NodeLost, ev.GpuDrained, ev.GpuRestored, ev.GpuForeign)}


class DaskHost:
    """The proxy: a ports.Cluster whose cluster lives in a process of its own. It can be stopped at the worst moment."""

    def __init__(self, run_dir: Path, environ: dict[str, str], *, watch_gpus: bool = False) -> None:
        self._command = [
            sys.executable,
            "-m",
            "tests.adapters.dask_host",
            str(run_dir),
            *(["--watch"] if watch_gpus else []),
        ]
        self._environ = {**os.environ, **environ, "PYTHONPATH": str(ROOT)}
        self.run_dir = run_dir
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._answers: list[Any] = []
        self.events: list[ev.Event] = []
        self.drains: dict[GpuId, dict[str, str]] = {}
        self.foreign: dict[GpuId, tuple[str, ...]] = {}
        self.gpus: tuple[Gpu, ...] = ()
        self.on_heard: OnHeard = lambda heard: None
        self.on_node: OnNode = lambda events: None

    # --- ports.Cluster ---

    async def start(self, *, heard: OnHeard, node: OnNode) -> None:
        self.on_heard, self.on_node = heard, node
        if self._process is None:
            self.open()
        await eventually_async(lambda: self.gpus, within_s=60, what="the host's node")
        node(self.events)

    def order_start(self, order: StartOrder) -> None:
        self._tell("order_start", order)

    def order_stop(self, order: StartOrder, *, grace_s: tuple[float, float], nth: int) -> None:
        self._tell("order_stop", order, list(grace_s), nth)

    def order_freeze(self, order: StartOrder) -> None:
        self._tell("order_freeze", order)

    def order_thaw(self, order: StartOrder) -> None:
        self._tell("order_thaw", order)

    def adopt(self, order: StartOrder) -> None:
        self._tell("adopt", order)

    async def close(self) -> None:
        self.on_heard, self.on_node = (lambda heard: None), (lambda events: None)

    # --- the process ---

    @property
    def is_open(self) -> bool:
        return self._process is not None

    def open(self) -> None:
        """Start it."""
        with open(self.run_dir / "host.log", "ab") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environ,
                cwd=ROOT,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._reader = threading.Thread(target=self._read, args=(self._process,), name="dask host", daemon=True)
        self._reader.start()

    def all_usable(self) -> bool:
        """Is no GPU drained or used by others?"""
        return bool(self.gpus) and not any(self.drains.values()) and not any(self.foreign.values())

    def ask(self, what: str, *arguments: Any) -> Any:
        """Return the answer of the process to a question."""
        self._answers.clear()
        self._tell(what, *arguments)
        return eventually(lambda: self._answers and self._answers[0], within_s=20, what=what)[0]

    def end(self, *, strength: int = signal.SIGTERM) -> None:
        """Stop the process; attempts go on."""
        assert self._process is not None
        assert self._reader is not None
        self._process.send_signal(strength)
        self._process.wait(30)
        self._reader.join(10)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process = None
        self.gpus, self.events = (), []
        self.drains.clear()

    def _tell(self, what: str, *arguments: Any) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([what, *(msgspec.to_builtins(argument) for argument in arguments)]) + "\n")
        self._process.stdin.flush()

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            kind, value = json.loads(line)
            if kind == "heard":
                self.on_heard(msgspec.convert(value, Heard))
            elif kind == "answer":
                self._answers.append([value])
            else:
                self._believe(msgspec.convert(value, EVENTS[kind], strict=False))

    def _believe(self, event: Any) -> None:
        self.events.append(event)
        if isinstance(event, ev.GpuDrained):
            self.drains.setdefault(event.gpu, {})[event.cause] = event.sentence
        elif isinstance(event, ev.GpuRestored):
            self.drains.get(event.gpu, {}).pop(event.cause, None)
        elif isinstance(event, ev.GpuForeign):
            self.foreign[event.gpu] = event.sentences
        elif isinstance(event, ev.NodeJoined):
            self.gpus = event.gpus
        self.on_node([event])


# --- in the process --------------------------------------------------------------------------------------------------------


def say(kind: str, value: Any) -> None:
    if isinstance(value, ev.NodeJoined):
        # JSON has no tuples as keys, and nobody asks this side for links.
        value = replace(value, node=replace(value.node, links={}))
    sys.stdout.write(json.dumps([kind, msgspec.to_builtins(value)]) + "\n")
    sys.stdout.flush()


async def host(run_dir: str, *, watch: bool) -> None:
    from jupysched.adapters.dask_cluster import DaskCluster
    from jupysched.adapters.gpu_watch import GpuWatch
    from jupysched.adapters.nvml_probe import NvmlProbe

    probe = NvmlProbe(node="node0")
    cluster = DaskCluster(run_dir, probe=probe)
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    lines = asyncio.StreamReader(limit=1 << 20)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)

    def tell(events: Any) -> None:
        for event in events:
            say(type(event).__name__, event)

    await cluster.start(heard=lambda heard: say("heard", heard), node=tell)
    gpu_watch = GpuWatch(shims=cluster.shims, name=probe.process_name)

    async def sampling() -> None:
        while watch:
            tell(gpu_watch.changes(probe.sample()))
            await asyncio.sleep(0.1)

    async def reading() -> None:
        while line := await lines.readline():
            what, *arguments = json.loads(line)
            obey(cluster, what, arguments)

    jobs = [asyncio.create_task(sampling()), asyncio.create_task(reading())]
    await ended.wait()
    for job in jobs:
        job.cancel()
    await asyncio.gather(*jobs, return_exceptions=True)
    await cluster.close()
    probe.close()
    transport.close()


def obey(cluster: Any, what: str, arguments: list[Any]) -> None:
    questions: dict[str, Callable[..., Any]] = {
        "pids": lambda: {name: nanny.pid for name, nanny in cluster._cluster.workers.items()},
        "shims": lambda: sorted(cluster.shims()),
        "import_path": lambda: sys.path,
        "close_nanny": lambda name: asyncio.ensure_future(cluster._cluster.workers[name].close()) and True,
        "break_plugin": lambda: cluster._plugin._word(kind="heard", worker="nobody") or True,
    }
    if what in questions:
        say("answer", questions[what](*arguments))
        return
    order = msgspec.convert(arguments[0], StartOrder)
    if what == "order_stop":
        cluster.order_stop(order, grace_s=tuple(arguments[1]), nth=arguments[2])
    else:
        getattr(cluster, what)(order)


if __name__ == "__main__":
    asyncio.run(host(sys.argv[1], watch="--watch" in sys.argv))
