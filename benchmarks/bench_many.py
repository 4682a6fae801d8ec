"""Many trivial jobs on two slots, each a process of its own, journalled."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator

from benchmarks.costs import Cost
from benchmarks.figure import Figure
from benchmarks.floors import Forks
from benchmarks.stage import Stage

CELL = "print(1)"
TARGET = 75.0


def measure(*, quick: bool) -> Iterator[Figure]:
    """With torch in the zygote, and without."""
    count = 100 if quick else 1000
    yield _figure("trivial_jobs", count, ("torch",))
    yield _figure("trivial_jobs_light", count, ())


def _figure(name: str, count: int, preload: tuple[str, ...]) -> Figure:
    with Stage(slots=2) as stage, Forks(*preload) as fork:
        stage.warm(*preload)
        specs = [stage.spec(CELL, preload=preload) for _ in range(count)]
        before, before_cpu = _forked(fork, count // 4), fork.cpu_s()
        with Cost(stage, count) as cost:
            began = time.perf_counter()
            stage.client.submit(*specs)
            stage.wait_empty()
            rate = count / (time.perf_counter() - began)
        failed = sum(1 for job in stage.client.jobs(limit=count + 10).jobs if job.state != "succeeded")
        if failed:
            raise AssertionError(f"{failed} of {count} jobs did not succeed")
        after = _forked(fork, count // 4)
        fork_cpu = (fork.cpu_s() - before_cpu) * 1e3 / (count // 4)
    floor = (before + after) / 2
    return Figure(
        name=name,
        value=rate,
        unit="jobs/s",
        floor=floor,
        target=TARGET,
        more=True,
        note=f"{count} jobs; {cost.words()} a job, bare fork {fork_cpu:.1f}; floor before {before:.0f}, after {after:.0f}",
    )


def _forked(fork: Forks, count: int) -> float:
    """Bare forks a second, two at a time."""
    began = time.perf_counter()
    running: set[int] = set()
    begun = 0
    while begun < count or running:
        while len(running) < 2 and begun < count:
            running.add(fork.begin(CELL))
            begun += 1
        ready, _, _ = select.select(list(running), [], [])
        for pipe in ready:
            if not os.read(pipe, 1 << 16):
                os.close(pipe)
                running.discard(pipe)
    return count / (time.perf_counter() - began)
