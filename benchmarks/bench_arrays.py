"""A large array into a job and out of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from benchmarks.bench_first import warm
from benchmarks.figure import Figure, median
from benchmarks.floors import copy_s, write_s
from benchmarks.notebook import Notebook
from benchmarks.stage import Stage

#: of issue and notes: twice Ray's shared memory with the sum, and a third of Dask's
IN_TARGET_S, AGAIN_TARGET_S, OUT_TARGET_S = 0.54, 0.15, 0.6


def measure(*, quick: bool) -> Iterator[Figure]:
    """In for the first time, again unchanged, again after a change in place, and out; each net of the work itself."""
    megabytes, rounds = (64, 1) if quick else (512, 3)
    share = megabytes / 512
    source = np.random.default_rng(1).random(megabytes << 17)
    with Stage() as stage, Notebook() as notebook:
        notebook.run("%load_ext jupysched\nimport numpy as np\nrng = np.random.default_rng(1)")
        warm(stage, notebook, preload=("numpy",))
        took: dict[str, list[float]] = {}
        for number in range(rounds):
            os.sync()
            took.setdefault("write", []).append(write_s(source, stage.home))
            for name, seconds in _round(notebook, megabytes, number).items():
                took.setdefault(name, []).append(seconds)
            took.setdefault("copy", []).append(copy_s(source))
    medians = {name: median(seconds) for name, seconds in took.items()}
    floors = f"copy in memory {medians['copy']:.3g} s, write to a file {min(took['write']):.3g} to {max(took['write']):.3g} s"
    trivial = medians["trivial"]
    what = f"{megabytes} MB; net of the work ({medians['work']:.3g} s); a trivial round trip is {trivial:.3g} s of it"
    yield Figure(
        name="array_in",
        value=medians["first"],
        unit="s",
        floor=medians["write"],
        target=IN_TARGET_S * share,
        note=f"{what}; {floors}; {_first_of_all(took['first'])}",
    )
    yield Figure(
        name="array_in_unchanged",
        value=medians["again"],
        unit="s",
        floor=medians["copy"],
        target=AGAIN_TARGET_S * share if megabytes == 512 else AGAIN_TARGET_S,
        note="noticed by itself",
    )
    yield Figure(
        name="array_in_changed",
        value=medians["changed"],
        unit="s",
        floor=medians["write"],
        target=IN_TARGET_S * share,
        note="one element was changed in place, and the job saw it",
    )
    yield Figure(
        name="array_out",
        value=medians["out"],
        unit="s",
        floor=medians["write"],
        target=OUT_TARGET_S * share,
        note=f"net of making it in the job ({medians['making']:.3g} s); {_first_of_all(took['out'])}",
    )


def _first_of_all(took: list[float]) -> str:
    """The first one finds no pages that a spent buffer could give up; what fresh ones cost depends on the machine."""
    return f"the notebook's first one {took[0]:.3g} s"


def _round(notebook: Notebook, megabytes: int, number: int) -> dict[str, float]:
    """Seconds of each step with a fresh array.

    Before each what was written earlier goes to the disk: past its limit of unwritten pages a machine writes as slowly as its
    disk, and that would be measured from the third array on."""
    job = "%%gpujob --wait\ns = float(a.sum())"
    notebook.run(f"a = rng.random({megabytes << 17}); s = t = 0.0")
    work = notebook.run("t = float(a.sum())")
    found = {"work": work, "trivial": notebook.run("%%gpujob --wait\nu = 1")}
    os.sync()
    found["first"] = notebook.run(job) - work
    _same(notebook, "in")
    found["again"] = notebook.run(job) - work
    notebook.run(f"a[{number}] += 1000.0; t = float(a.sum())")
    os.sync()
    found["changed"] = notebook.run(job) - work
    _same(notebook, "after a change in place")
    # Made in the job, timed in the job: fresh memory costs what it costs, here or there.
    making = f"b = np.full({megabytes << 17}, {number} + 0.5)\nb[7] = 7.0"
    os.sync()
    whole = notebook.run(
        f"%%gpujob --wait\nimport time\n_began = time.perf_counter()\n{making}\nw = time.perf_counter() - _began"
    )
    found["making"] = float(notebook.value("w"))
    found["out"] = whole - found["making"]
    notebook.run(
        f"assert b.shape == ({megabytes << 17},) and b[7] == 7.0 and b[8] == {number} + 0.5 and b[-1] == b[8]\ndel b"
    )
    return found


def _same(notebook: Notebook, when: str) -> None:
    if not notebook.value("abs(s - t) < 1e-6 * abs(t)"):
        raise AssertionError(f"the job saw another array than the notebook has ({when})")
