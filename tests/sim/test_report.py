"""The page about a simulation is read by people."""

import pytest

from jupysched.sim.figures import figures_of
from jupysched.sim.report import unit_of, write_report
from jupysched.sim.trace import TraceJob
from jupysched.sim.world import Setup, World

USERS = "Wait that nine in ten"


@pytest.mark.parametrize(
    ("longest_s", "name"), [(0, "seconds"), (119, "seconds"), (5000, "minutes"), (90_000, "hours"), (1e6, "days")]
)
def test_times_are_told_in_what_they_are_read_best_in(longest_s, name):
    assert unit_of(longest_s)[1] == name


@pytest.mark.parametrize(("users", "are_compared"), [("a", False), ("ab", True)])
def test_users_are_compared_where_there_are_several(tmp_path, users, are_compared):
    jobs = [
        TraceJob(job_id=str(n), user=users[n % len(users)], submit_s=float(n), gpus=1, duration_s=9.0) for n in range(4)
    ]
    run = World(jobs, "fifo", Setup(gpus=1), keep_load=True).play()
    write_report(tmp_path / "page.html", "trace.csv", [(figures_of(run, "fifo", 1.0), run)])
    assert (USERS in (tmp_path / "page.html").read_text()) == are_compared
