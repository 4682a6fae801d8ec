"""First output of a warm cell: from the front end's request to the printed text on IOPub."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

from benchmarks.costs import Cost
from benchmarks.figure import Figure, median, spread
from benchmarks.floors import Forks
from benchmarks.notebook import Notebook, interleaved
from benchmarks.stage import Stage
from jupysched import spool
from jupysched.wire.requests import SpecRecord

PRINT = "print('hello')"
TORCH = "import torch\nprint(torch.ones(3).sum().item())"
FLUSHED = "import sys\nsys.stdout.flush()\n"
#: between two rounds, so that a pair is forked ahead as it is when people type
PAUSE_S = 0.15


def measure(*, quick: bool) -> Iterator[Figure]:
    """Trivial cells in a light notebook, in one that has imported torch, and a cell that uses it."""
    rounds = 5 if quick else 30
    with Stage() as stage, Notebook() as notebook:
        notebook.run("%load_ext jupysched")
        warm(stage, notebook, preload=())
        with Forks() as fork, Forks(ahead=True) as ahead:
            yield from _notebook_figure("first_output_light_notebook", PRINT, stage, notebook, (fork, ahead), rounds)
        notebook.run("import torch")
        warm(stage, notebook, preload=("torch",))
        with Forks("torch") as fork, Forks("torch", ahead=True) as ahead:
            yield from _notebook_figure("first_output", PRINT, stage, notebook, (fork, ahead), rounds)
            yield from _notebook_figure("first_output_torch", TORCH, stage, notebook, (fork, ahead), rounds)
            yield _client_figure(stage, fork, ahead, rounds)


def _notebook_figure(
    name: str, cell: str, stage: Stage, notebook: Notebook, forks: tuple[Forks, Forks], rounds: int
) -> Iterator[Figure]:
    fork, ahead = forks

    def job() -> float:
        took = notebook.first_output_s(f"%%gpujob\n{cell}", is_job=True)
        time.sleep(PAUSE_S)
        return took

    def resting(first_output_s: float) -> float:
        time.sleep(PAUSE_S)
        return first_output_s

    job()
    with Cost(stage, rounds, notebook=notebook) as cost:
        cpu = fork.cpu_s()
        took = interleaved(
            rounds,
            job=job,
            fork=lambda: fork.first_output_s(cell + "\n" + FLUSHED),
            ahead=lambda: resting(ahead.first_output_s(cell + "\n" + FLUSHED)),
            plain=lambda: notebook.first_output_s(cell, is_job=False),
        )
        fork_cpu = (fork.cpu_s() - cpu) * 1e3 / rounds
    floor = median(took["fork"])
    yield Figure(
        name=name,
        value=median(took["job"]),
        unit="ms",
        floor=floor,
        target=2 * floor,
        note=f"{spread(took['job'])}; forked ahead {median(took['ahead']):.3g}, plain cell {median(took['plain']):.3g}; "
        f"{cost.words()} with the plain cell's, bare fork {fork_cpu:.1f}",
    )


def warm(stage: Stage, notebook: Notebook, *, preload: tuple[str, ...]) -> None:
    """Run jobs from this notebook until a zygote with these modules serves them."""
    deadline = time.monotonic() + 90
    # A job is given a zygote with what its own cell uses.
    uses = "".join(f"import {module}\n" for module in preload)
    while time.monotonic() < deadline:
        notebook.first_output_s(f"%%gpujob\n{uses}{PRINT}", is_job=True)
        answer = stage.launcher("ping") or {"zygotes": []}
        if any(z["ready"] and set(preload) <= set(z["preload"]) for z in answer["zygotes"]):
            notebook.first_output_s(f"%%gpujob\n{PRINT}", is_job=True)
            time.sleep(0.5)
            return
        time.sleep(0.1)
    raise TimeoutError(f"no zygote with {preload} came up")


def _client_figure(stage: Stage, fork: Forks, ahead: Forks, rounds: int) -> Figure:
    """Without a notebook: from the submit call to the first frame that the shim sends."""
    stage.warm("torch")
    specs = [stage.spec(PRINT, preload=("torch",)) for _ in range(rounds)]

    def client() -> float:
        spec = specs.pop()
        began = time.perf_counter()
        job = stage.client.submit(spec)[0]
        first_frame(spec)
        took = time.perf_counter() - began
        stage.wait_ended(job)
        time.sleep(PAUSE_S)
        return took

    with Cost(stage, rounds) as cost:
        took = interleaved(rounds, job=client, fork=lambda: fork.first_output_s(PRINT + "\n" + FLUSHED))
    floor = median(took["fork"])
    return Figure(
        name="first_output_without_notebook",
        value=median(took["job"]),
        unit="ms",
        floor=floor,
        target=2 * floor,
        note=f"{spread(took['job'])}; client.submit to the first frame; {cost.words()}",
    )


def first_frame(spec: SpecRecord) -> None:
    """Return when the shim of the first attempt has sent the first frame of output."""
    path = spool.attempt_path(spec.directory, 1)
    while True:
        try:
            with spool.connect_control(path) as connection:
                connection.sendall(json.dumps({"op": "read", "from": 0}).encode() + b"\n")
                if connection.recv(1 << 16):
                    return
        except OSError:  # not there yet, or just gone
            pass
        if os.path.exists(os.path.join(path, spool.EXIT)):
            return
        time.sleep(0.0003)
