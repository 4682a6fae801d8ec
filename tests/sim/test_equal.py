"""With the semantics of the published baselines, the simulator's figures are the baselines', to the last digit printed.

Here the traces that are shipped; `python -m benchmarks --only equal` has all that can be found."""

from functools import cache

import pytest

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
