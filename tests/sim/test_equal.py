"""With the semantics of the published baselines, the simulator's figures are the baselines', to the last digit."""

from pathlib import Path

import pytest

from jupysched.core.policies import POLICIES
from jupysched.sim.figures import figures_of
from jupysched.sim.trace import read_trace
from jupysched.sim.world import Setup, World
from tests.sim.reference import register_oracles

TRACES = Path(__file__).parent.parent / "traces"
EASY = {"backfill": "easy", "depth": "1000000"}
SKIP = {"backfill": "skip"}

# policy, settings, overhead, exact lengths -> mean, median, p95, p99 of completion, makespan, mean and p99 wait, preemptions
C06 = ("msitp_c06.csv.gz", 104)
MURI3 = ("muri_trace3.csv.gz", 64)
EE9E8C = ("philly_vcee9e8c.csv.gz", 128)
TIRESIAS = ("tiresias60.csv", 16)
BASELINES = [
    (C06, "fifo", {}, 0, (242519, 195609, 742454, 798296, 5346073, 218085, 760096, 0), "0.802", "99.15"),
    (C06, "fifo", SKIP, 0, (82469, 46581, 246340, 577833, 5240022, 58036, 401801, 0), "0.818", "22.49"),
    (C06, "fifo", EASY, 0, (122789, 70143, 576835, 655996, 5238568, 98355, 608262, 0), "0.819", "30.64"),
    (C06, "sjf", {}, 0, (49318, 14403, 249939, 432358, 5494252, 24884, 251214, 0), "0.780", "3.32"),
    (C06, "sjf", SKIP, 0, (52673, 14725, 238425, 577833, 5293967, 28239, 275646, 0), "0.810", "4.90"),
    (C06, "srtf", {}, 60, (36483, 4684, 150323, 508739, 5445025, 12049, 217023, 960), "0.788", "1.17"),
    (C06, "srsf", {}, 60, (37018, 4725, 132476, 514423, 5627114, 12584, 261334, 739), "0.762", "1.17"),
    (C06, "las", {}, 0, (57624, 5249, 310122, 464204, 5434959, 33191, 335241, 1103), "0.789", "2.93"),
    (
        C06,
        "las",
        {"thr": "3250,7200"},
        60,
        (60470, 5281, 330244, 466642, 5315923, 36036, 345518, 1306),
        "0.807",
        "3.43",
    ),
    (MURI3, "fifo", EASY, 0, (421204, 257266, 1197400, 1386450, 8171961, 374339, 1148026, 0), "0.803", "998.89"),
    (MURI3, "srtf", {}, 0, (180116, 3628, 779704, 4280559, 8171961, 133251, 3915020, 1037), "0.803", "1.61"),
    (MURI3, "las", {}, 60, (302585, 4359, 1329300, 5005546, 8171961, 255720, 4954684, 888), "0.803", "21.83"),
    (EE9E8C, "fifo", {}, 0, (633446, 732911, 1284973, 1572291, 8187156, 541106, 1248430, 0), "0.880", "2094.08"),
    (EE9E8C, "fifo", EASY, 0, (456463, 308664, 1189569, 1525303, 7974595, 364123, 1179707, 0), "0.903", "366.24"),
    (EE9E8C, "srsf", {}, 60, (154849, 33816, 565990, 3010888, 8249826, 62508, 2330805, 754), "0.873", "1.23"),
    (
        EE9E8C,
        "las",
        {"thr": "3250,7200"},
        0,
        (255401, 42492, 1593100, 2217687, 8143190, 163061, 1789324, 943),
        "0.885",
        "4.14",
    ),
    (TIRESIAS, "fifo", {}, 0, (201, 151, 368, 1864, 3335, 22, 152, 0), "0.499", "1.16"),
    (TIRESIAS, "srtf", {}, 60, (207, 127, 627, 1941, 3412, 28, 789, 9), "0.488", "1.12"),
    (TIRESIAS, "srsf", {}, 60, (215, 127, 536, 1800, 3271, 37, 977, 7), "0.509", "1.21"),
    (TIRESIAS, "las", {}, 60, (191, 130, 368, 1800, 3271, 12, 181, 0), "0.509", "1.09"),
]


@pytest.fixture(autouse=True)
def _only_our_policies_remain():
    before = dict(POLICIES)
    yield
    POLICIES.clear()
    POLICIES.update(before)


@pytest.mark.slow
@pytest.mark.parametrize(("trace", "policy", "settings", "overhead", "expected", "utilization", "slowdown"), BASELINES)
def test_the_figures_equal_the_baseline(trace, policy, settings, overhead, expected, utilization, slowdown):
    name, gpus = trace
    jobs = [j for j in read_trace(TRACES / name) if j.gpus <= gpus]
    register_oracles(jobs)
    setup = Setup(gpus=gpus, overhead_s=overhead, exact_lengths=settings is EASY)
    f = figures_of(World(jobs, policy, setup, settings).play(), policy, 1.0)
    got = (
        f.mean_jct_s,
        f.median_jct_s,
        f.p95_jct_s,
        f.p99_jct_s,
        f.makespan_s,
        f.mean_wait_s,
        f.p99_wait_s,
        f.preemptions,
    )
    assert tuple(round(v) for v in got) == expected
    assert (f"{f.utilization:.3f}", f"{f.mean_slowdown:.2f}") == (utilization, slowdown)
