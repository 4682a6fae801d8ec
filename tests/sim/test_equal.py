"""With the semantics of the published baselines, the simulator's figures are the baselines', to the last digit printed.

Here the traces that are shipped; `python -m benchmarks --only equal` has all that can be found."""

from functools import cache

import pytest

from benchmarks.traces import others_on
from jupysched.core.policies import POLICIES
from jupysched.sim.trace import read_trace
from tests.sim.baselines import TRACES, baselines, ours

ROWS = [row for row in baselines() if (TRACES / row.trace).exists()]
read = cache(read_trace)


@pytest.fixture(autouse=True)
def _only_our_policies_remain():
    before = dict(POLICIES)
    yield
    POLICIES.clear()
    POLICIES.update(before)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_the_figures_equal_the_baseline(row):
    assert ours(row, read(TRACES / row.trace)) == row.figures


def test_every_row_of_every_shipped_trace_is_compared():
    assert len(ROWS) == 4 * 17


def test_what_adaptive_is_measured_by_is_read_from_the_table():
    msitp, philly = others_on("msitp_c06.csv.gz", 104, 60.0), others_on("philly_vcee9e8c.csv.gz", 128, 60.0)
    assert (msitp.best_s, msitp.half_s) == (58_085, 49_280.5)
    assert philly.best_s == 248_295  # Tiresias as released; LAS with two queues is behind it here
    assert [row.policy for row in (philly.las, philly.oracle)] == ["LAS 2-queue (18000)", "SRSF oracle"]
