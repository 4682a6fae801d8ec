"""`jupysched simulate`: what it prints, what it writes, what it refuses; and a site's own past as a trace."""

import json
from pathlib import Path

import pytest

from jupysched.core import events as ev
from jupysched.core.decide import decide
from jupysched.core.job import JobId
from jupysched.sim.command import run
from jupysched.sim.export import jobs_of
from jupysched.sim.sessions import hold_sessions
from jupysched.sim.trace import TraceJob, TraceUnreadable, read_trace, write_trace
from tests.core.builders import OK, a_state, asked, event_of, joined

TRACE = str(Path(__file__).parent.parent / "traces" / "tiresias60.csv")
FIELDS = [
    "policy",
    "mean_jct_s",
    "median_jct_s",
    "p95_jct_s",
    "p99_jct_s",
    "mean_wait_s",
    "p99_wait_s",
    "max_wait_s",
    "makespan_s",
    "preemptions",
    "utilization",
    "mean_slowdown",
    "jain",
    "dropped",
    "jobs",
    "events_per_s",
]


def test_json_has_one_object_a_policy(capsys):
    assert run([TRACE, "--gpus", "16", "--policy", "fifo", "--policy", "adaptive", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["policy"] for row in rows] == ["fifo", "adaptive"]
    assert all(set(FIELDS) <= set(row) for row in rows)
    assert round(rows[0]["mean_jct_s"]) == 201


@pytest.mark.parametrize(("backfill", "mean"), [("none", 201), ("skip", 191), ("easy", 194)])
def test_backfill_is_as_in_the_baselines(capsys, backfill, mean):
    assert run([TRACE, "--gpus", "16", "--policy", "fifo", "--backfill", backfill, "--json"]) == 0
    assert round(json.loads(capsys.readouterr().out)[0]["mean_jct_s"]) == mean


@pytest.mark.parametrize(("backfill", "mean"), [("none", 218), ("skip", 211)])
def test_packing_is_as_in_the_baselines(capsys, backfill, mean):
    args = [
        TRACE,
        "--gpus",
        "16",
        "--node-size",
        "4",
        "--placement",
        "pack",
        "--policy",
        "fifo",
        "--backfill",
        backfill,
        "--json",
    ]
    assert run(args) == 0
    assert round(json.loads(capsys.readouterr().out)[0]["mean_jct_s"]) == mean


def test_the_table_names_what_was_dropped(capsys):
    assert run([TRACE, "--gpus", "4"]) == 0
    assert "10 were dropped" in capsys.readouterr().out


def test_the_report_is_one_page_that_needs_no_network(tmp_path, capsys):
    page = tmp_path / "out.html"
    assert run([TRACE, "--gpus", "16", "--policy", "fifo", "--policy", "priority", "--report", str(page)]) == 0
    text = page.read_text()
    assert "priority" in text
    assert "<script src=" not in text
    assert "<link" not in text


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([TRACE, "--policy", "magic"], "There is no policy magic"),
        (["/no/such/trace.csv"], "No such file"),
        ([TRACE, "--set", "x"], "NAME=VALUE"),
        ([TRACE, "--gpus", "0"], "at least 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(args, said, capsys):
    assert run(args) == 2
    assert said in capsys.readouterr().err


def test_a_trace_that_is_none_is_named_with_its_line(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("job_id,user,submit_s,gpus,duration_s\n1,ann,0,1,5\n2,ann,x,1,5\n")
    with pytest.raises(TraceUnreadable, match="line 3"):
        read_trace(path)


def test_sessions_hold_the_most_that_any_cell_asks_for_from_first_to_last():
    cells = [
        TraceJob(job_id="1", user="ann", submit_s=0, gpus=1, duration_s=3600),
        TraceJob(job_id="2", user="ann", submit_s=7200, gpus=2, duration_s=3600),
    ]
    held = hold_sessions(cells)
    assert (held.session_gpu_hours, held.cell_gpu_hours) == (6, 3)
    assert (held.session_peak_gpus, held.cell_peak_gpus) == (2, 2)


def test_a_sites_past_is_a_trace(tmp_path):
    events: list[ev.Event] = [joined(), asked(1, 2, at=100.0, user="ann"), asked(2, at=150.0, user='b "ob", jr')]
    state = a_state(*events)

    for action in decide(state, now=200.0).actions:
        events += [event_of(action, 200.0), ev.AttemptStarted(at=201.0, job=action.job, attempt=1)]
    events += [ev.AttemptEnded(at=211.0, job=JobId(n), attempt=1, exit=OK) for n in (1, 2)]
    path = tmp_path / "past.csv.gz"
    write_trace(jobs_of(events), path)
    first, second = read_trace(path)
    assert (first.user, first.gpus, first.submit_s, first.duration_s) == ("ann", 2, 0.0, 10.0)
    assert (second.user, second.submit_s) == ('b "ob", jr', 50.0)
    again = path.read_bytes()
    write_trace(jobs_of(events), path)
    assert path.read_bytes() == again
