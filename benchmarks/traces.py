"""The traces that can be found, and what others reach on them. Knows files; knows nothing of how they are played.

Those that may be shipped lie in tests/traces; more of them (philly, notebook_june, ...) in the folder that JUPYSCHED_TRACES
names, or in shared/traces beside the clone."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jupysched.sim.trace import TraceJob, read_trace
from tests.sim.baselines import Row, baselines

SHIPPED = Path(__file__).parent.parent / "tests" / "traces"
#: mean completion time of Tiresias as its authors released it, in seconds, preemption being free
TIRESIAS_S = {
    "msitp_c06.csv.gz": 61_543.0,
    "msitp_c03.csv.gz": 100_886.0,
    "philly_vc0e4a51.csv.gz": 376_388.0,
    "philly_vcee9e8c.csv.gz": 248_295.0,
    "muri_trace1.csv.gz": 3_048_140.0,
    "muri_trace3.csv.gz": 312_870.0,
}
#: traces and GPUs that policies are measured on, the small ones first
MEASURED = (
    ("tiresias60.csv", 16),
    ("msitp_c06.csv.gz", 104),
    ("muri_trace3.csv.gz", 64),
    ("philly_vcee9e8c.csv.gz", 128),
    ("msitp_c03.csv.gz", 160),
    ("philly_vc0e4a51.csv.gz", 48),
    ("muri_trace1.csv.gz", 64),
    ("notebook_june.csv.gz", 256),
    ("philly.csv.gz", 512),
)


def find(name: str) -> Path | None:
    """Where a trace lies, if anywhere."""
    beside = Path(__file__).parents[2] / "shared" / "traces"
    named = os.environ.get("JUPYSCHED_TRACES")
    folders = [SHIPPED, *([Path(named)] if named else []), beside]
    return next((folder / name for folder in folders if (folder / name).exists()), None)


@cache
def jobs_of(name: str) -> list[TraceJob]:
    """The jobs of a trace that was found."""
    path = find(name)
    if path is None:
        raise FileNotFoundError(name)
    return read_trace(path)


@dataclass(frozen=True, slots=True)
class Others:
    """The published figures that a policy is measured by, all with jobs counted in GPUs."""

    #: mean completion of Tiresias as released, if it is known
    tiresias_s: float | None
    las: Row
    oracle: Row
    fifo: Row
    skip: Row

    @property
    def best_s(self) -> float:
        """The better of Tiresias and LAS with two queues."""
        las = self.las.number("mean_jct")
        return las if self.tiresias_s is None else min(self.tiresias_s, las)

    @property
    def half_s(self) -> float:
        """Half the way from Tiresias (where it is not known, LAS) to the oracle."""
        return ((self.tiresias_s or self.las.number("mean_jct")) + self.oracle.number("mean_jct")) / 2


def others_on(trace: str, gpus: int, overhead_s: float) -> Others:
    """What the table says of a trace at so many GPUs."""
    rows = {
        (row.policy, row.overhead_s): row
        for row in baselines()
        if (row.trace, row.gpus, row.placement) == (trace, gpus, "count")
    }
    return Others(
        tiresias_s=TIRESIAS_S.get(trace),
        las=rows["LAS 2-queue (18000)", overhead_s],
        oracle=rows["SRSF oracle", overhead_s],
        fifo=rows["FIFO strict", 0.0],
        skip=rows["FIFO + skip (greedy backfill)", 0.0],
    )
