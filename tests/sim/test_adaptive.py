"""What `adaptive` and `priority` reach on traces, beside the published baselines. 60 s a preemption, no length is told."""

from functools import cache
from pathlib import Path

import pytest

from jupysched.sim.figures import Figures, figures_of
from jupysched.sim.trace import read_trace
from jupysched.sim.world import Setup, World

pytestmark = pytest.mark.slow
TRACES = Path(__file__).parent.parent / "traces"


@cache
def reached(name: str, gpus: int, policy: str) -> Figures:
    run = World(read_trace(TRACES / name), policy, Setup(gpus=gpus, overhead_s=60.0), {}).play()
    return figures_of(run, policy, 1.0)


# The better of Tiresias as released and LAS with two queues.
@pytest.mark.parametrize(
    ("name", "gpus", "mean_s"), [("msitp_c06.csv.gz", 104, 58_085), ("muri_trace3.csv.gz", 64, 302_585)]
)
def test_adaptive_beats_tiresias_and_las(name, gpus, mean_s):
    assert reached(name, gpus, "adaptive").mean_jct_s < mean_s


@pytest.mark.parametrize(
    ("name", "gpus"), [("msitp_c06.csv.gz", 104), ("muri_trace3.csv.gz", 64), ("philly_vcee9e8c.csv.gz", 128)]
)
def test_nobody_waits_longer_under_priority_than_the_worst_does_under_fifo(name, gpus):
    assert reached(name, gpus, "priority").max_wait_s < reached(name, gpus, "fifo").max_wait_s
