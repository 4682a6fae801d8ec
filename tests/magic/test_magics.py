"""What the magics say in a real IPython shell, without a kernel and with a daemon that does as the test says."""

from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from jupysched import magic
from jupysched.magic.desk import Desk
from jupysched.wire import requests as ask
from jupysched.wire.records import JobRecord
from tests.magic.records import a_record, message, out
from tests.magic.shim import TwinShim
from tests.magic.twin import TwinDaemon
from tests.waiting import eventually


@pytest.fixture
def loaded(shell: Any, desk: Desk, twin: TwinDaemon, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The shell, with the magics."""
    monkeypatch.setattr("jupysched.magic.upkeep.begin_upkeep", lambda: None)
    magic.load(shell)
    yield shell
    magic.unload(shell)


def run(shell: Any, code: str) -> BaseException | None:
    """Run a cell; return its error."""
    result = shell.run_cell(code)
    return result.error_before_exec or result.error_in_exec  # type: ignore[no-any-return]


def plays(twin: TwinDaemon, *frames: Any, state: str = "succeeded", **end: Any) -> None:
    """Let the daemon run each job at once: it shows these frames and ends so."""

    def start(record: JobRecord) -> None:
        shim = TwinShim(Path(record.directory), 1, listens=False)
        shim.write(*frames)
        shim.end(**end)
        fields = {name: getattr(record, name) for name in record.__struct_fields__}
        twin._push((JobRecord(**{**fields, "state": state, "attempt": 1, "position": None}),))

    twin.on_submit = start


def test_a_waiting_cell_shows_a_card_and_what_the_job_prints(
    loaded: Any, twin: TwinDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    plays(twin, out("hello\n"), out("careful\n", err=True))
    assert run(loaded, "%%gpujob --wait --name net\nprint('hello')") is None
    said = capsys.readouterr()
    assert "job 1 (net): waiting" in said.out
    assert "hello\n" in said.out
    assert "careful\n" in said.err


def test_a_waiting_cell_raises_what_the_job_raised(
    loaded: Any, twin: TwinDaemon, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = message("error", ename="ZeroDivisionError", evalue="division by zero", traceback=["the job's own lines"])
    plays(
        twin,
        frame,
        state="failed",
        outcome="error",
        ename="ZeroDivisionError",
        evalue="division by zero",
        traceback=["the job's own lines"],
    )
    error = run(loaded, "%%gpujob --wait\n1/0")
    assert isinstance(error, ZeroDivisionError)
    shown = capsys.readouterr()
    assert (shown.out + shown.err).count("the job's own lines") == 1


def test_an_environment_that_says_wait_is_obeyed(
    loaded: Any, twin: TwinDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYSCHED_WAIT", "1")
    plays(twin, state="failed", outcome="error", ename="ValueError", evalue="x", traceback=[])
    assert isinstance(run(loaded, "%%gpujob\nx"), ValueError)


def test_output_under_capture_is_captured(loaded: Any, twin: TwinDaemon, desk: Desk) -> None:
    plays(twin, out("hello\n"), message("display_data", data={"text/plain": "shown"}))
    assert run(loaded, "%%capture caught\n%%gpujob\nprint('hello')") is None
    caught = loaded.user_ns["caught"]
    assert caught.stdout == "hello\n"
    assert "shown" in [output.data["text/plain"] for output in caught.outputs]


def test_options_expand_variables_of_the_notebook(loaded: Any, twin: TwinDaemon) -> None:
    plays(twin)
    loaded.user_ns.update(n=2, label="net")
    assert run(loaded, "%%gpujob --gpus {n} --name $label --wait\nx = 1") is None
    spec = next(r for r in twin.heard if isinstance(r, ask.Submit)).jobs[0]
    assert (spec.request.gpus, spec.name) == (2, "net")


@pytest.mark.parametrize("body", ["# only a comment\n", "\n\n", "   \n# a\n"])
def test_a_cell_with_nothing_to_run_is_a_usage_message(loaded: Any, twin: TwinDaemon, body: str) -> None:
    error = run(loaded, f"%%gpujob\n{body}")
    assert "empty" in str(error)
    assert twin.heard == []


@pytest.mark.parametrize("cell", ["%%gpujob --help", "%%gpujob --gpus 2 -h\n", "\n%%gpujob --help\nx = 1"])
def test_help_is_given_with_and_without_a_body_and_queues_nothing(
    loaded: Any, twin: TwinDaemon, capsys: pytest.CaptureFixture[str], cell: str
) -> None:
    assert run(loaded, cell) is None
    assert "--gpu-mem SIZE" in capsys.readouterr().out
    assert twin.heard == []


def test_a_terminal_goes_on_asking_for_the_body(loaded: Any) -> None:
    asked = loaded.input_transformer_manager.check_complete
    assert [asked(text)[0] for text in ("%%gpujob", "%%gpujob --wait\n", "%%gpujob\nx = 1\n\n")] == [
        "incomplete",
        "incomplete",
        "complete",
    ]


@pytest.mark.parametrize("line", ["%gpujob --help", "%gpujob -h", "%gpujob cancel --help", "%gpujob"])
def test_help_of_the_line_magic_lists_its_verbs(loaded: Any, capsys: pytest.CaptureFixture[str], line: str) -> None:
    assert run(loaded, line) is None
    assert "%gpujob attach" in capsys.readouterr().out


def test_a_cell_magic_without_a_body_is_answered_by_us(loaded: Any) -> None:
    assert "The cell is empty" in str(run(loaded, "%%gpujob --gpus 2"))


def test_options_are_looked_at_before_the_body(loaded: Any, twin: TwinDaemon) -> None:
    assert "--gpus is 'banana'" in str(run(loaded, "%%gpujob --gpus banana\n# only a comment"))


def test_a_refusal_shows_one_line_and_none_of_our_frames(loaded: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run(loaded, "%%gpujob --gpus banana\nx = 1")
    shown = capsys.readouterr()
    assert (shown.out + shown.err).strip().count("\n") == 0


def test_a_syntax_error_looks_like_a_cells(loaded: Any, twin: TwinDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    error = run(loaded, "%%gpujob\nx = 1\ny = (2")
    assert type(error).__name__ == "SyntaxError"
    shown = capsys.readouterr()
    text = shown.out + shown.err
    assert "y = (2" in text
    assert "jupysched" not in text
    assert twin.heard == []


def test_help_lists_options_and_verbs(loaded: Any) -> None:
    cell_help = loaded.magics_manager.magics["cell"]["gpujob"].__doc__
    line_help = loaded.magics_manager.magics["line"]["gpujob"].__doc__
    assert "--gpu-mem SIZE" in cell_help
    assert "attach" in line_help


def test_loading_twice_is_loading_once_and_unloading_takes_all_away(
    shell: Any, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupysched.magic.upkeep.begin_upkeep", lambda: None)
    before = {name: list(functions) for name, functions in shell.events.callbacks.items()}
    magic.load(shell)
    once = {name: list(functions) for name, functions in shell.events.callbacks.items()}
    magic.load(shell)
    assert once == {name: list(functions) for name, functions in shell.events.callbacks.items()}
    magic.unload(shell)
    assert before == {name: list(functions) for name, functions in shell.events.callbacks.items()}
    assert "gpujob" not in shell.magics_manager.magics["cell"]
    assert not [f for f in shell.input_transformers_cleanup if "jupysched" in str(getattr(f, "__module__", ""))]
    magic.unload(shell)


# --- %gpujob and %gpujobs --------------------------------------------------------------------------------------------


@pytest.fixture
def ended(loaded: Any, twin: TwinDaemon, shim: TwinShim) -> JobRecord:
    """A job of another kernel that has ended."""
    shim.write(out("one\ntwo\n"), out("three\n", err=True))
    shim.end(returned=["model"])
    record = a_record(state="succeeded", attempt=1, directory=str(shim.directory), ran_s=3.0)
    twin.records[7] = record
    return record


def test_jobs_are_listed(loaded: Any, twin: TwinDaemon, ended: JobRecord, capsys: pytest.CaptureFixture[str]) -> None:
    twin.records[8] = a_record(id=8, name="others", mine=False)
    run(loaded, "%gpujobs")
    shown = capsys.readouterr().out
    assert "resnet" in shown
    assert "others" not in shown
    run(loaded, "%gpujobs --all")
    assert "others" in capsys.readouterr().out


def test_logs_are_read_from_the_spool(loaded: Any, ended: JobRecord, capsys: pytest.CaptureFixture[str]) -> None:
    run(loaded, "%gpujob logs 7")
    assert capsys.readouterr() == ("one\ntwo\n", "three\n")
    run(loaded, "%gpujob logs -n 2 last")
    assert capsys.readouterr() == ("two\n", "three\n")


def test_why_is_a_sentence(loaded: Any, twin: TwinDaemon, capsys: pytest.CaptureFixture[str]) -> None:
    twin.records[7] = a_record(
        position=2, why="needs 4 GPUs on one node; 2 are free", expected_start_at="2026-11-30T14:05:00Z"
    )
    run(loaded, "%gpujob why 7")
    assert "waiting, 2nd. Needs 4 GPUs on one node; 2 are free. It should start about" in capsys.readouterr().out
    twin.records[7] = structs.replace(twin.records[7], why="needs 1 GPU; should start in 1 min to 2 min")
    run(loaded, "%gpujob why 7")
    told = capsys.readouterr().out
    assert "should start in 1 min to 2 min, by " in told
    assert told.count("should start") == 1


def test_show_tells_all_that_is_known(loaded: Any, ended: JobRecord, capsys: pytest.CaptureFixture[str]) -> None:
    run(loaded, "%gpujob show 7")
    shown = capsys.readouterr().out
    assert "succeeded in 0:03" in shown
    assert ended.directory in shown


def test_attaching_brings_outputs_from_the_beginning(
    loaded: Any, ended: JobRecord, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(loaded, "%gpujob attach 7 --wait") is None
    shown = capsys.readouterr()
    assert "one\ntwo\n" in shown.out
    assert "three\n" in shown.err


@pytest.mark.parametrize(
    ("line", "kind", "jobs"),
    [("cancel 7", ask.Cancel, [7]), ("cancel 7 last", ask.Cancel, [7, 7]), ("hold 7", ask.Hold, [7]),
     ("release 7", ask.Release, [7]), ("requeue 7", ask.Requeue, [7]), ("priority high 7", ask.SetPriority, [7]),
     ("front 7 last", ask.Front, [7, 7])],
)  # fmt: skip
def test_verbs_that_change_ask_the_daemon(
    loaded: Any, twin: TwinDaemon, line: str, kind: type[Any], jobs: list[int]
) -> None:
    twin.records[7] = a_record()
    assert run(loaded, f"%gpujob {line}") is None
    request = next(r for r in twin.heard if isinstance(r, kind))
    assert request.jobs == jobs


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("frob 7", "There is no `%gpujob frob`"), ("cnacel 7", "Did you mean `%gpujob cancel`?"), ("cancel", "Which job?"),
        ("show banana", "'banana'; expected job ids"), ("show 99", "no job 99"), ("show 1 2", "One job at a time"),
        ("priority 7", "expected low, normal or high"), ("logs -n 0 7", "at least 1"), ("logs -n", "at least 1"),
        ("show last", "You have no jobs yet"), ("--gpus 2 x", "Options of a job follow `%%gpujob`"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told(loaded: Any, line: str, said: str) -> None:
    assert said in str(run(loaded, f"%gpujob {line}"))


@pytest.mark.parametrize("verb", ["logs", "attach", "fetch"])
def test_what_others_jobs_show_is_theirs(loaded: Any, twin: TwinDaemon, verb: str) -> None:
    twin.records[7] = a_record(user="bob", state="succeeded", attempt=1, directory="", mine=False)
    assert "belongs to bob" in str(run(loaded, f"%gpujob {verb} 7"))


def test_fetching_what_has_not_ended_points_to_attach(loaded: Any, twin: TwinDaemon) -> None:
    twin.records[7] = a_record(state="running", attempt=1, directory="/somewhere")
    assert "`%gpujob attach 7`" in str(run(loaded, "%gpujob fetch 7"))


def test_a_detached_cell_returns_at_once_and_its_output_follows(
    loaded: Any, twin: TwinDaemon, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(loaded, "%%gpujob\nprint('late')") is None
    job = desk.last()
    assert "late" not in capsys.readouterr().out
    plays(twin, out("late\n"))
    twin._loop.call_soon_threadsafe(twin.on_submit, twin.records[job.id])
    assert job.wait(10)
    eventually(lambda: "late\n" in capsys.readouterr().out)
