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
from jupysched.sim.table import LINES
from jupysched.sim.trace import TraceJob, read_trace, write_trace
from jupysched.sim.world import Setup, World
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
    assert [list(row) for row in rows] == [FIELDS, FIELDS]
    assert round(rows[0]["mean_jct_s"]) == 201


def test_policies_may_be_named_with_commas(capsys):
    assert run([TRACE, "--gpus", "16", "--policy", "fifo,adaptive", "--json"]) == 0
    assert [row["policy"] for row in json.loads(capsys.readouterr().out)] == ["fifo", "adaptive"]


def test_the_table_has_a_column_a_policy_and_all_figures(capsys):
    assert run([TRACE, "--gpus", "16", "--policy", "fifo,feedback"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["fifo", "feedback"]
    assert [line.strip().split("  ")[0] for line in lines[1:-2]] == [title.strip() for title, _, _ in LINES]
    assert lines[1].split() == ["completion,", "mean", "(s)", "201", "191"]
    assert lines[-1] == "60 jobs."


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
    said = capsys.readouterr().out
    assert "50 jobs; 10 more were dropped" in said
    assert "--gpus 8 has room for all" in said


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
        (["/no/such/trace.csv"], "/no/such/trace.csv cannot be read: No such file or directory."),
        (
            [TRACE, "--policy", "feedback", "--set", "levels=a"],
            "--set levels=a: The setting levels of feedback is 'a'; expected numbers above 0",
        ),
        ([TRACE, "--set", "depth=abc"], "--set depth=abc: The setting depth of priority is 'abc'"),
        ([TRACE, "--set", "half_life_s=x"], "--set half_life_s=x: The setting half_life_s of priority is 'x'"),
        ([TRACE, "--policy", "fifo,priority", "--set", "age=1"], "--set age=1: fifo has no setting 'age'"),
        ([TRACE, "--report", "/no/such/folder/page.html"], "no file can be written there"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(args, said, capsys):
    assert run(args) == 2
    assert_one_line(said, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ([TRACE, "--set", "x"], "'x' is no setting; expected NAME=VALUE"),
        ([TRACE, "--gpus", "0"], "argument --gpus: '0' is no whole number of at least 1"),
        ([TRACE, "--gpus", "many"], "argument --gpus: 'many' is no whole number of at least 1"),
        ([TRACE, "--node-size", "0"], "argument --node-size: '0' is no whole number of at least 1"),
        ([TRACE, "--preempt-overhead", "-5"], "'-5' is no number of seconds, 0 or more"),
        ([TRACE, "--preempt-overhead", "nan"], "'nan' is no number of seconds, 0 or more"),
        ([TRACE, "--backfill", "some"], "invalid choice: 'some'"),
        ([], "required: trace"),
    ],
)
def test_an_option_that_cannot_be_read_is_refused_in_one_sentence(args, said, capsys):
    with pytest.raises(SystemExit) as ended:
        run(args)
    assert ended.value.code == 2
    assert_one_line(said, capsys.readouterr().err)


HEAD = "job_id,user,submit_s,gpus,duration_s"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it.csv is empty; its first line should be job_id,user,submit_s,gpus,duration_s."),
        (HEAD + "\n", "has no jobs, only its first line."),
        ("a,user\n1,2\n", "lacks the columns job_id, submit_s, gpus, duration_s: its first line is a,user;"),
        (HEAD + "\n1,ann,0,1,5\n2,ann,x,1,5\n", "line 3: submit_s is 'x'; expected seconds."),
        (HEAD + "\n1,ann,inf,1,5\n", "line 2: submit_s is 'inf'; expected seconds."),
        (HEAD + "\n1,ann,0,1,-5\n", "line 2: duration_s is '-5'; expected seconds, 0 or more."),
        (HEAD + "\n1,ann,0,1,nan\n", "line 2: duration_s is 'nan'; expected seconds, 0 or more."),
        (HEAD + "\n1,ann,0,-1,5\n", "line 2: gpus is '-1'; expected a whole number, 0 or more."),
        (HEAD + "\n1,ann,0\n", "line 2: gpus is ''; expected a whole number, 0 or more."),
        (
            HEAD + ",priority\n1,ann,0,1,5,urgent\n",
            "line 2: priority is 'urgent'; expected low, normal, high, or nothing.",
        ),
        (HEAD + "\n1,ann,5,1,5\n2,ann,3,1,5\n", "line 3: submitted before the line above it; sort it by submit_s."),
        (HEAD + "\n1,ann,0,16,5\n2,ann,0,9,5\n", "All jobs of"),
    ],
)
def test_a_trace_that_is_none_is_refused_with_its_line_and_what_was_expected(text, said, tmp_path, capsys):
    path = tmp_path / "it.csv"
    path.write_text(text)
    assert run([str(path), "--gpus", "8"]) == 2
    assert_one_line(said, capsys.readouterr().err)


def test_half_a_packed_trace_is_refused_in_a_sentence(tmp_path, capsys):
    path = tmp_path / "half.csv.gz"
    path.write_bytes((Path(TRACE).parent / "muri_trace3.csv.gz").read_bytes()[:2000])
    assert run([str(path)]) == 2
    assert_one_line("half.csv.gz is no CSV that can be read, or only a part of one", capsys.readouterr().err)


def assert_one_line(said, printed):
    assert said in printed
    assert printed.startswith("jupysched simulate: ")
    assert len(printed.splitlines()) == 1


def test_a_mark_of_byte_order_is_no_part_of_the_first_column(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_text("\ufeff" + HEAD + "\n1,ann,0,1,5\n", encoding="utf-8")
    assert [job.job_id for job in read_trace(path)] == ["1"]


def test_what_ran_past_its_limit_or_had_a_larger_gpu_is_played_as_it_was():
    jobs = [
        TraceJob(job_id="1", user="ann", submit_s=0, gpus=1, duration_s=50, time_limit_s=20),
        TraceJob(job_id="2", user="ann", submit_s=30, gpus=1, duration_s=5, gpu_memory_bytes=141 << 30),
    ]
    played = World(jobs, "priority", Setup(gpus=1)).play()
    assert (played.starts, played.ends) == ([0, 50], [50, 55])


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
