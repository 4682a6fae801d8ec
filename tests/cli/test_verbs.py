"""The command line against a real daemon: what each verb prints, its JSON, its exit code."""

import json
import re

import pytest

from jupysched import cli
from jupysched.client import Client
from tests.leaks import temporary_home
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives for the whole file"),
]


@pytest.fixture(scope="module", autouse=True)
def house():
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYSCHED_HOME", str(home))
        patch.setenv("JUPYSCHED_CPU_SLOTS", "2")
        yield home


@pytest.fixture
def run(capsys):
    def run_verb(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(list(words))
        said = capsys.readouterr()
        return code, said.out, said.err

    return run_verb


@pytest.fixture
def job(run, tmp_path) -> int:
    """A job that printed two lines and has ended."""
    (tmp_path / "hello.py").write_text("print('hello')\nprint('ü🧪')\n", encoding="utf-8")
    code, out, err = run("submit", "--name", "greeting", str(tmp_path / "hello.py"))
    assert (0, "") == (code, err)
    number = int(re.match(r"job (\d+)", out)[1])
    with Client() as client:
        eventually(lambda: client.job(number).state == "succeeded", what="the job's end")
    return number


def test_a_job_is_listed_shown_and_read_in_words_and_in_json(run, job):
    for verb in ("show", "why"):
        code, out, _ = run(verb, str(job))
        assert (0, True) == (code, "greeting" in out)
        assert job == json.loads(run(verb, str(job), "--json")[1])["id"]
    assert (0, "hello\nü🧪\n") == run("logs", str(job))[:2]
    assert (0, "hello\nü🧪\n") == run("logs", "-f", str(job))[:2]
    code, out, _ = run("queue", "--mine")
    assert (0, True) == (code, "succeeded" in out)
    record = next(r for r in json.loads(run("queue", "--json")[1]) if r["id"] == job)
    assert {"id", "user", "name", "state", "reason", "why", "priority", "request", "gpus", "nodes", "attempt", "position",
            "expected_start_at", "submitted_at", "started_at", "ended_at", "exit", "metrics"} <= set(record)  # fmt: skip


def test_a_job_that_printed_nothing_is_told_from_one_whose_text_is_lost(run, tmp_path):
    (tmp_path / "quiet.py").write_text("1\n", encoding="utf-8")
    assert 0 == run("submit", "--wait", "--name", "quiet", str(tmp_path / "quiet.py"))[0]
    code, out, err = run("logs", "last")
    assert (0, "", True) == (code, out, err.endswith(" (quiet) has printed nothing.\n"))


def test_what_is_over_cannot_be_cancelled_held_or_reordered_and_that_is_said(run, job):
    code, out, err = run("cancel", str(job))
    assert (0, "", True) == (code, err, "has ended already (succeeded in 0:" in out)
    for words in (("hold",), ("release",), ("front",), ("priority", "high")):
        code, out, err = run(*words, str(job))
        assert (1, "", True) == (code, out, f"Job {job} has ended already (succeeded)" in err)


def test_gpus_are_labelled_as_what_they_are_and_unknown_is_not_0(run):
    code, out, _ = run("top")
    assert (0, True, True, False) == (code, "CPU slot 0" in out, "n/a" in out, " 0 %" in out)
    assert ["cpu_slot", "cpu_slot"] == [g["kind"] for g in json.loads(run("top", "--json")[1])]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "99999"), "no job 99999"),
        (("cancel", "99999"), "no job 99999"),
        (("submit", "/nowhere.py"), "cannot be read"),
        (("policy", "set"), "needs the name"),
        (("policy", "set", "lottery"), "no policy 'lottery'"),
        (("policy", "show", "fifo"), "`jupysched policy set fifo` sets one"),
        (("limit", "user:x", "gpus"), "name=value"),
        (("reserve", "demo"), "--gpus 0 to end the reservation"),
        (("reserve", "demo", "--for", "user:x", "--gpus", "1"), "--from is missing; expected a time"),
        (("limit", "user:x", "gpus=many"), "expected a number"),
        (("drain", "77"), "no GPU '77'"),
        (("reserve", "demo", "--for", "user:x", "--gpus", "1", "--from", "noon", "--to", "late"), "expected a time"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence_on_standard_error(run, words, said):
    code, out, err = run(*words)
    assert (True, "") == (code in (1, 2), out)
    assert said in err
    assert "Traceback" not in err


def test_jobs_are_held_released_reordered_requeued_and_cancelled(run, job, tmp_path):
    assert 0 == run("drain", "0", "1", "--why", "test")[0]
    (tmp_path / "wait.py").write_text("1\n", encoding="utf-8")
    waiting = re.match(r"job (\d+)", run("submit", str(tmp_path / "wait.py"))[1])[1]
    assert "held" in run("hold", waiting)[1]
    assert "waiting" in run("release", waiting)[1]
    assert "high" == (run("priority", "high", waiting), json.loads(run("show", waiting, "--json")[1])["priority"])[1]
    assert "waiting" in run("requeue", str(job))[1]
    assert "waiting, 1st" in run("front", str(job))[1]
    assert "drained" in run("top")[1]
    for verb in ("cancel", "hold", "release", "front", "requeue", "priority high"):
        code, out, err = run(*verb.split(), waiting, "99999")
        assert (1, "", True) == (code, out, "no job 99999. None of these 2 was changed." in err)
    code, out, _ = run("cancel", waiting, str(job))
    assert (0, 2) == (code, out.count("· cancelled"))
    assert 0 == run("drain", "0", "1", "--restore")[0]


def test_policy_limits_shares_reservations_and_usage_can_be_set_and_read(run):
    assert "adaptive" in run("policy", "list")[1]
    assert "fifo" in run("policy", "set", "fifo")[1]
    assert "fifo" == json.loads(run("policy", "show", "--json")[1])["name"]
    assert 0 == run("policy", "set", "priority")[0]
    assert "gpus=2" in run("limit", "user:ann", "gpus=2")[1]
    assert "gpus=2" not in run("limit", "user:ann")[1]
    assert "user:ann" in run("share", "user:ann", "2")[1]
    assert (
        "demo"
        in run(
            "reserve",
            "demo",
            "--for",
            "user:ann",
            "--gpus",
            "1",
            "--from",
            "2030-01-01T10:00",
            "--to",
            "2030-01-01T11:00",
        )[1]
    )
    assert "Nothing is reserved." in run("reserve", "demo", "--gpus", "0")[1]
    assert "GPU-hours" in run("usage")[1]


def test_the_sites_past_is_a_trace_that_the_simulator_reads(run, job, tmp_path):
    path = tmp_path / "past.csv.gz"
    assert "jobs in" in run("history", "export", str(path))[1]
    code, out, _ = run("simulate", str(path), "--policy", "fifo", "--gpus", "2", "--json")
    assert 0 == code
    assert [("fifo", 0)] == [(r["policy"], r["dropped"]) for r in json.loads(out)]
    assert json.loads(out)[0]["jobs"] >= 1
    assert "cannot be written" in run("history", "export", "/nowhere/past.csv")[2]


@pytest.mark.parametrize(
    ("words", "said"),
    [(("queue",), "and that directory cannot be made"), (("demo", "--output", "/nowhere/x.html"), "cannot be written")],
)
def test_a_place_that_cannot_be_written_is_a_sentence(run, monkeypatch, words, said):
    if words == ("queue",):
        monkeypatch.setenv("JUPYSCHED_HOME", "/proc/nowhere")
    code, out, err = run(*words)
    assert (True, "", True) == (code in (1, 2), out, said in err)


def test_doctor_says_what_it_looked_at(run):
    code, out, _ = run("doctor")
    assert (0, True) == (code, "CPU slots (no GPU was found)" in out)


def test_the_daemon_can_be_ended_and_comes_back_with_the_next_command(run, job):
    assert "jobs go on" in run("stop-daemon")[1]
    assert "There is no daemon." in run("stop-daemon")[1]
    assert (0, True) == (run("show", str(job))[0], "greeting" in run("show", str(job))[1])
