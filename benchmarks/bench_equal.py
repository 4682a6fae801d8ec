"""Is the simulator right? Every row of the published baselines, asked of ours under the same rules: all ten figures of it
must be the same, to the last digit printed. A line a row; what differs is named with both values."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.figure import Figure
from benchmarks.traces import find, jobs_of
from jupysched.core.policies import POLICIES
from tests.sim.baselines import PRINTED, Row, baselines, ours


def measure(*, quick: bool) -> Iterator[Figure]:
    """All rows of the traces that can be found; in a hurry those of tiresias60 alone."""
    before = dict(POLICIES)
    try:
        for row in baselines():
            if find(row.trace) is not None and (not quick or row.trace == "tiresias60.csv"):
                yield _compare(row)
    finally:
        POLICIES.clear()
        POLICIES.update(before)


def _compare(row: Row) -> Figure:
    began = time.process_time()
    got = ours(row, jobs_of(row.trace))
    took = time.process_time() - began
    pairs = list(zip(PRINTED, got, row.figures, strict=True))
    differs = [f"{name} {mine} instead of {theirs}" for name, mine, theirs in pairs if mine != theirs]
    return Figure(
        name=row.name,
        value=len(pairs) - len(differs),
        unit="figures equal",
        floor=None,
        target=len(pairs),
        more=True,
        note=f"mean completion {int(got[0]):,} s, baseline {int(row.figures[0]):,}: "
        + (f"NOT equal: {'; '.join(differs)}" if differs else "equal")
        + f"; {took:.1f} s of CPU",
    )
