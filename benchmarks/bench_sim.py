"""Deciding well and fast: policies on traces beside the published baselines, and what a decision costs.

The traces that can be found are played (see traces.py), with 60 s lost at each preemption, and no policy is told a length. The
settings of `adaptive` were chosen on msitp_c06, muri_trace3 and philly_vc0e4a51, while msitp_c03, philly_vcee9e8c and
muri_trace1 were looked at; that siblings take about as long was seen on all of them. The settings of siblings are round
numbers, tried on the same six; `age` is off since it cost the mean of philly_vcee9e8c and of notebook_june. philly (whole) and
tiresias60 were only run at the end."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from benchmarks.crowd import curve
from benchmarks.figure import Figure
from benchmarks.traces import MEASURED, Others, find, jobs_of, others_on
from jupysched.sim.figures import Figures, figures_of
from jupysched.sim.trace import TraceJob
from jupysched.sim.world import Setup, World

OVERHEAD_S = 60.0
#: mean and p99 of the wait that are asked for at 256 GPUs
NOTEBOOK = ("notebook_june.csv.gz", 256, 500.0, 3600.0)
#: policy -> jobs a second that are asked for
SPEED = {"fifo": 20_000.0, "feedback": 2000.0, "adaptive": 2000.0}


def measure(*, quick: bool) -> Iterator[Figure]:
    """All of it."""
    yield from curve(quick=quick)
    for name, gpus in MEASURED[:2] if quick else MEASURED:
        if find(name) is not None:
            yield from Trace(name, gpus).figures()
    yield from _speed(quick=quick)


@cache
def play(name: str, gpus: int, policy: str, *, learn: str = "on") -> tuple[Figures, float]:
    """A trace under a policy, and the CPU time that took: other programs do not count."""
    return _play(jobs_of(name), gpus, policy, {"learn": learn} if learn != "on" else {})


def _play(jobs: list[TraceJob], gpus: int, policy: str, settings: dict[str, str]) -> tuple[Figures, float]:
    began = time.process_time()
    run = World(jobs, policy, Setup(gpus=gpus, overhead_s=OVERHEAD_S), settings).play()
    took = time.process_time() - began
    return figures_of(run, policy, took), took


@dataclass(frozen=True, slots=True)
class Trace:
    """One trace at so many GPUs."""

    name: str
    gpus: int

    @property
    def title(self) -> str:
        """As it is called in the figures."""
        return f"{self.name.split('.')[0]} at {self.gpus}"

    def figures(self) -> Iterator[Figure]:
        """Mean, p99 and worst of `adaptive` and `priority`, beside what others reach; and what the past adds."""
        others = others_on(self.name, self.gpus, OVERHEAD_S)
        yield from self._beside(play(self.name, self.gpus, "adaptive")[0], others)
        if len({job.user for job in jobs_of(self.name)}) > 1:
            yield from self._learnt()
        if (self.name, self.gpus) == NOTEBOOK[:2]:
            yield from self._notebook(others)
        # The last: looking at a thousand who might pass the head, at each event, takes minutes on philly.
        yield from self._beside(play(self.name, self.gpus, "priority")[0], others)

    def _beside(self, ours: Figures, others: Others) -> Iterator[Figure]:
        """Only `adaptive` is asked to have a good mean and p99; nobody may starve under either."""
        judged = ours.policy == "adaptive"
        oracle, tiresias, half = others.oracle.number("mean_jct"), others.tiresias_s, others.half_s
        means = (
            f"Tiresias {f'{tiresias:,.0f}' if tiresias else 'unknown'}, LAS-2q {others.las.number('mean_jct'):,.0f}, "
            f"FIFO with skipping {others.skip.number('mean_jct'):,.0f}, FIFO {others.fifo.number('mean_jct'):,.0f}"
        )
        way = f"; half way to the oracle is {half:,.0f}: {'reached' if ours.mean_jct_s <= half else 'not reached'}"
        fifo, _ = play(self.name, self.gpus, "fifo")
        yield Figure(
            name=f"{self.title}: {ours.policy}, mean completion", value=ours.mean_jct_s, unit="s", floor=oracle,
            target=others.best_s if judged else None, note=means + (way if judged else ""),
        )  # fmt: skip
        yield Figure(
            name=f"{self.title}: {ours.policy}, p99 completion", value=ours.p99_jct_s, unit="s",
            floor=others.oracle.number("p99_jct"), target=others.skip.number("p99_jct") if judged else None,
            note=f"LAS-2q {others.las.number('p99_jct'):,.0f}, FIFO with skipping {others.skip.number('p99_jct'):,.0f}, "
            f"FIFO {others.fifo.number('p99_jct'):,.0f}",
        )  # fmt: skip
        yield Figure(
            name=f"{self.title}: {ours.policy}, worst wait", value=ours.max_wait_s, unit="s", floor=None,
            target=fifo.max_wait_s, note="target: FIFO's worst",
        )  # fmt: skip

    def _learnt(self) -> Iterator[Figure]:
        """With what was learnt of users from the trace so far, and without."""
        ours, _ = play(self.name, self.gpus, "adaptive")
        without, _ = play(self.name, self.gpus, "adaptive", learn="off")
        for what, value, other in (
            ("mean completion", ours.mean_jct_s, without.mean_jct_s),
            ("mean wait", ours.mean_wait_s, without.mean_wait_s),
            ("p99 wait", ours.p99_wait_s, without.p99_wait_s),
        ):
            saved = f"; {1 - value / other:+.1%} saved by it" if other else ""
            yield Figure(
                name=f"{self.title}: adaptive with its past, {what}", value=value, unit="s", floor=None, target=None,
                note=f"without it {other:,.0f}{saved}",
            )  # fmt: skip

    def _notebook(self, others: Others) -> Iterator[Figure]:
        ours, _ = play(self.name, self.gpus, "adaptive")
        for what, value, column, target in (
            ("mean wait", ours.mean_wait_s, "mean_wait", NOTEBOOK[2]),
            ("p99 wait", ours.p99_wait_s, "p99_wait", NOTEBOOK[3]),
        ):
            yield Figure(
                name=f"{self.title}: adaptive, {what}", value=value, unit="s", floor=others.oracle.number(column),
                target=target, note=f"LAS-2q {others.las.number(column):,.0f}, FIFO {others.fifo.number(column):,.0f}",
            )  # fmt: skip


def _speed(*, quick: bool) -> Iterator[Figure]:
    """Jobs of a trace for each second of CPU time."""
    has_philly = not quick and find("philly.csv.gz") is not None
    for policy, target in SPEED.items():
        if has_philly:
            figures, took = play("philly.csv.gz", 512, policy)
        else:
            figures, took = _play(_synthetic(3000 if quick else 20_000), 192, policy, {})
        yield Figure(
            name=f"simulated, {policy}",
            value=figures.jobs / took,
            unit="jobs/s",
            floor=None,
            target=target,
            more=True,
            note=("philly at 512" if has_philly else "made-up jobs") + ", by CPU time",
        )


def _synthetic(count: int) -> list[TraceJob]:
    """Jobs as Philly's: mostly of one GPU, lengths over four orders of magnitude."""
    dice = random.Random(7)
    jobs, at = [], 0.0
    for number in range(count):
        at += dice.expovariate(1 / 110.0)
        gpus = dice.choices((1, 2, 4, 8, 16), (93, 2, 2, 2, 1))[0]
        jobs.append(
            TraceJob(
                job_id=str(number), user=f"u{dice.randrange(15)}", submit_s=float(int(at)), gpus=gpus,
                duration_s=float(int(min(4e6, max(1.0, dice.lognormvariate(7.0, 2.1))))),
            )
        )  # fmt: skip
    return jobs
