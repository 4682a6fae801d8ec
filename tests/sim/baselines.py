"""The published baselines, row by row, and the same question put to our simulator. The table stands in tests/traces."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from jupysched.sim.figures import figures_of
from jupysched.sim.trace import TraceJob
from jupysched.sim.world import Setup, World
from tests.sim.reference import register_oracles

TRACES = Path(__file__).parent.parent / "traces"
#: what a row of the table has beside the question, as it is printed there
PRINTED = (
    "mean_jct", "median_jct", "p95_jct", "p99_jct", "makespan", "mean_wait", "p99_wait", "preemptions", "utilization",
    "mean_slowdown",
)  # fmt: skip
#: the table's name of a policy -> ours, its settings, and whether it is told lengths as limits
POLICIES: dict[str, tuple[str, dict[str, str], bool]] = {
    "FIFO strict": ("fifo", {}, False),
    "FIFO + skip (greedy backfill)": ("fifo", {"backfill": "skip"}, False),
    "FIFO + EASY (exact durations)": ("fifo", {"backfill": "easy", "depth": "1000000"}, True),
    "SJF, blocking": ("sjf", {}, False),
    "SJF, skip": ("sjf", {"backfill": "skip"}, False),
    "SRTF oracle": ("srtf", {}, False),
    "SRSF oracle": ("srsf", {}, False),
    "LAS 2-queue (18000)": ("las", {"thr": "18000"}, False),
    "LAS 3-queue (3250,7200)": ("las", {"thr": "3250,7200"}, False),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    trace: str
    gpus: int
    policy: str
    placement: str
    overhead_s: float
    #: the figures of PRINTED, to the last digit printed
    figures: tuple[str, ...]

    def number(self, name: str) -> float:
        """One of its figures."""
        return float(self.figures[PRINTED.index(name)])

    @property
    def name(self) -> str:
        """What was asked."""
        overhead = f", {self.overhead_s:g} s a preemption" if self.policy[:3] in ("SRT", "SRS", "LAS") else ""
        return f"{self.trace.split('.')[0]} at {self.gpus}: {self.policy}, {self.placement}{overhead}"


def baselines() -> list[Row]:
    """All rows."""
    with (TRACES / "baselines.csv").open(encoding="utf-8") as file:
        return [
            Row(
                trace=line["trace"], gpus=int(line["gpus"]), policy=line["policy"], placement=line["placement"],
                overhead_s=float(line["overhead_s"]), figures=tuple(line[name] for name in PRINTED),
            )
            for line in csv.DictReader(file)
        ]  # fmt: skip


def ours(row: Row, jobs: Sequence[TraceJob]) -> tuple[str, ...]:
    """The figures of our simulator, as they would be printed in the table. Leaves the oracles registered."""
    kept = [job for job in jobs if job.gpus <= row.gpus]
    register_oracles(kept)
    policy, settings, exact = POLICIES[row.policy]
    setup = Setup(
        gpus=row.gpus, node_size=4 if row.trace == "tiresias60.csv" else 8, placement=row.placement,
        overhead_s=row.overhead_s, exact_lengths=exact,
    )  # fmt: skip
    f = figures_of(World(kept, policy, setup, settings).play(), policy, 1.0)
    whole = (f.mean_jct_s, f.median_jct_s, f.p95_jct_s, f.p99_jct_s, f.makespan_s, f.mean_wait_s, f.p99_wait_s)
    return (*(f"{value:.0f}" for value in whole), str(f.preemptions), f"{f.utilization:.3f}", f"{f.mean_slowdown:.2f}")
