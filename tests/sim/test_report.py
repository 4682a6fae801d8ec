"""The page about a simulation is read by people."""

from html import unescape

import pytest

from jupysched.sim.figures import figures_of
from jupysched.sim.report import unit_of, write_report
from jupysched.sim.table import LINES
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


def test_the_page_has_the_figures_of_the_terminal_and_says_what_its_axes_are(tmp_path):
    jobs = [
        TraceJob(job_id=str(n), user="a-name-that-is-longer-than-the-picture" * n, submit_s=0.0, gpus=1, duration_s=9.0)
        for n in range(1, 3)
    ]
    jobs.append(TraceJob(job_id="3", user="b", submit_s=0.0, gpus=2, duration_s=9.0))
    run = World(jobs, "fifo", Setup(gpus=1), keep_load=True).play()
    write_report(tmp_path / "page.html", "trace.csv", [(figures_of(run, "fifo", 1.0), run)])
    text = unescape(unescape((tmp_path / "page.html").read_text()))
    assert [title for title, _, _ in LINES if title.strip() not in text] == []
    assert "2 jobs; 1 more was dropped: it asks for more GPUs than there are (--gpus 2 has room for all)." in text
    axes = ("from submission to end", "part of all jobs", "GPUs held", "Jobs that wait", "1 min", "1. a-name-that-is")
    assert [said for said in axes if said not in text] == []
    assert '"1. a-name-that-is"' in text
