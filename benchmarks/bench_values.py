"""A value there and back, and the first cell of the day."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.bench_first import PAUSE_S, PRINT, warm
from benchmarks.costs import Cost
from benchmarks.figure import Figure, median, spread
from benchmarks.floors import Forks
from benchmarks.notebook import Notebook, interleaved
from benchmarks.stage import Stage

COLD_TARGET_MS = 3000.0


def measure(*, quick: bool) -> Iterator[Figure]:
    """Round trip, and cold starts."""
    yield _round_trip(5 if quick else 25)
    yield from _cold(1 if quick else 3)


def _round_trip(rounds: int) -> Figure:
    value = {"y": 0}
    with Stage() as stage, Notebook() as notebook, Forks("torch") as fork:
        notebook.run("%load_ext jupysched\nimport torch\ny = 0")
        warm(stage, notebook, preload=("torch",))

        def job() -> float:
            took = notebook.run("%%gpujob --wait\ny = y + 1")
            time.sleep(PAUSE_S)
            return took

        def forked() -> float:
            took, came = fork.round_trip_s("y = y + 1", value, ["y"])
            value.update(came)
            return took

        with Cost(stage, rounds, notebook=notebook) as cost:
            took = interleaved(rounds, job=job, fork=forked)
        if notebook.value("y") != rounds or value["y"] != rounds:
            raise AssertionError(f"a value was lost: {notebook.value('y')} of {rounds}")
    floor = median(took["fork"])
    return Figure(
        name="round_trip",
        value=median(took["job"]),
        unit="ms",
        floor=floor,
        target=3 * floor,
        note=f"{spread(took['job'])}; the cell is sent, its reply is back and the value landed; {cost.words()}",
    )


def _cold(rounds: int) -> Iterator[Figure]:
    first: list[float] = []
    whole: list[float] = []
    plain: list[float] = []
    for _ in range(rounds):
        with Stage():
            began = time.perf_counter()
            with Notebook() as notebook:
                notebook.run(PRINT)
                plain.append((time.perf_counter() - began) * 1e3)
        with Stage():
            began = time.perf_counter()
            with Notebook() as notebook:
                notebook.run("%load_ext jupysched")
                first.append(notebook.first_output_s(f"%%gpujob\n{PRINT}", is_job=True) * 1e3)
        with Stage():
            began = time.perf_counter()
            with Notebook() as notebook:
                notebook.run("%load_ext jupysched")
                before = (time.perf_counter() - began) * 1e3
                whole.append(before + notebook.first_output_s(f"%%gpujob\n{PRINT}", is_job=True) * 1e3)
    yield Figure(
        name="cold_start",
        value=median(first),
        unit="ms",
        floor=median(plain),
        target=COLD_TARGET_MS,
        note=f"n {rounds}; live kernel, no daemon, no launcher, no zygote; floor: a plain kernel's start to its first output",
    )
    yield Figure(
        name="cold_start_with_kernel",
        value=median(whole),
        unit="ms",
        floor=median(plain),
        target=COLD_TARGET_MS,
        note=f"n {rounds}; the same with the kernel's own start",
    )
