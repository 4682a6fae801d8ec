"""What it costs to be there: CPU seconds a minute and memory while nothing happens."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from benchmarks import processes
from benchmarks.figure import Figure
from benchmarks.stage import Stage


def measure(*, quick: bool) -> Iterator[Figure]:
    """A personal daemon on CPU slots; a daemon with eight Dask workers on GPUs that are not there."""
    seconds = 5.0 if quick else 30.0
    with Stage(slots=2) as stage:
        stage.warm()
        yield from _figures("idle_cpu_slots", stage, seconds, target=0.3)
    try:
        from tests.fakenvml.machine import FakeMachine
    except ImportError:
        return
    machine = FakeMachine(8)
    try:
        more = {name: value for name, value in machine.environ.items() if os.environ.get(name) != value}
        with Stage(slots=None, more=more) as stage:
            if len(stage.client.gpus()) != 8:
                raise RuntimeError(f"expected 8 GPUs, found {len(stage.client.gpus())}")
            _settle(stage)
            yield from _figures("idle_8_gpus", stage, seconds, target=3.0)
    finally:
        machine.close()


def _settle(stage: Stage, *, patience_s: float = 90.0) -> None:
    """Return when what has just come up is busy no more: all eight are there, and two seconds cost nearly nothing."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        pids = stage.pids()["daemon"]
        before = sum(map(processes.fine_cpu_s, pids))
        time.sleep(2.0)
        if len(pids) > 8 and sum(map(processes.fine_cpu_s, pids)) - before < 0.3:
            return
    raise TimeoutError(f"the GPUs' workers have not come to rest within {patience_s:g} s")


def _figures(name: str, stage: Stage, seconds: float, *, target: float) -> Iterator[Figure]:
    time.sleep(1.0)
    pids = stage.pids()
    before = {part: sum(map(processes.fine_cpu_s, found)) for part, found in pids.items()}
    time.sleep(seconds)
    spent = {
        part: (sum(map(processes.fine_cpu_s, found)) - before[part]) * 60 / seconds for part, found in pids.items()
    }
    weights = {part: sum(map(processes.pss_bytes, found)) / 1e6 for part, found in pids.items()}
    many = {part: len(found) for part, found in pids.items()}
    yield Figure(
        name=name,
        value=sum(spent.values()),
        unit="CPU s/min",
        floor=0.0,
        target=target,
        note=_words(spent, many, "{:.3f}"),
    )
    yield Figure(
        name=f"{name}_memory",
        value=sum(weights.values()),
        unit="MB PSS",
        floor=None,
        target=None,
        note=_words(weights, many, "{:.0f}"),
    )


def _words(parts: dict[str, float], many: dict[str, int], shape: str) -> str:
    return ", ".join(f"{part} ({many[part]}) {shape.format(value)}" for part, value in parts.items())
