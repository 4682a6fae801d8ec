"""kill -9 of each part, one at a time, while a job prints numbered lines: it ends as it should, every line is there once and in
order, its results come back, and the queue is as it was."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from jupysched import spool
from jupysched.client import Client
from jupysched.wire.records import JobRecord
from tests.cases.notebook import Notebook
from tests.faults.standing import (
    CELL,
    LINES,
    attempt_path,
    end_hard,
    processes_with,
    shim_of,
    text_of,
    wait_for_end,
    wait_for_lines,
    zygote_of,
)

pytestmark = pytest.mark.leaky("kernels and daemons of the test are ended with its home")
#: takes long to save what it has; it asks before it says that it is up, for a notice interrupts who never asked
SAVES = """
import jupysched, os, time
if jupysched.restored(0) == 7:
    print("goes on with 7")
else:
    jupysched.should_stop()
    print("up")
    while not jupysched.should_stop():
        time.sleep(0.01)
    print("told")
    while not os.path.exists(os.environ["JUPYSCHED_HOME"] + "/go"):
        time.sleep(0.01)
    jupysched.checkpoint(7)
    print("saved")
"""
#: a daemon that dies, by the word it is given, before or after it made its first submission durable; nobody is answered
DIES = """
import os, signal, sys
from jupysched.adapters.sqlite_journal import SqliteJournal
from jupysched.core.events import Submitted
from jupysched.daemon.main import main
moment, ready = sys.argv[1:]
append = SqliteJournal.append
def append_and_die(journal, events):
    is_it = any(isinstance(event, Submitted) for event in events)
    if is_it and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    append(journal, events)
    if is_it:
        os.kill(os.getpid(), signal.SIGKILL)
SqliteJournal.append = append_and_die
main(["--ready-fd", ready])
"""
EVERY_LINE = "".join(f"line {i}\n" for i in range(LINES))


@pytest.fixture
def notebook(home: Path):
    with Notebook("faults") as opened:
        opened.run("%load_ext jupysched")
        yield opened


def submit(notebook: Notebook) -> int:
    """A job that prints, and two that wait behind two others: the queue that must be as it was."""
    seen = notebook.run(f"%%gpujob --name printing\n{CELL}", allow_stdin=True)
    assert seen.card is not None
    notebook.run("%%gpujob --name filler --gpus 2\n1", allow_stdin=True)
    notebook.run("%%gpujob --name behind --priority low --gpus 2\n1", allow_stdin=True)
    return int(seen.card["id"])


def waiting() -> list[tuple[int, str, str]]:
    with Client() as client:
        return [(j.id, j.name, j.state) for j in client.jobs(states=["pending", "held"]).jobs]


def the_daemon(home: Path, job: JobRecord) -> int:
    return int((home / "daemon.lock").read_text(encoding="ascii"))


def the_launcher(home: Path, job: JobRecord) -> int:
    return processes_with("jupysched.runner.launcher", home)[0]


def the_zygote(home: Path, job: JobRecord) -> int:
    return zygote_of(job)


@pytest.mark.parametrize("victim", [the_daemon, the_launcher, the_zygote])
def test_a_job_outlives(home: Path, notebook: Notebook, victim: Callable[[Path, JobRecord], int]) -> None:
    number = submit(notebook)
    with Client() as client:
        job = wait_for_lines(client, number)
    before = waiting()
    assert 2 == len(before)
    end_hard(victim(home, job))
    assert before == waiting()
    job = wait_for_end(number)
    assert ("succeeded", 1) == (job.state, job.attempt)
    assert EVERY_LINE == text_of(job)
    notebook.run(f"import jupysched\n[j for j in jupysched.jobs() if j.id == {number}][0].wait(20)", allow_stdin=True)
    assert {"last": "True"} == notebook.evaluate({"last": f"last == {LINES - 1}"})
    for other, _, _ in before:
        assert "succeeded" == wait_for_end(other).state


def test_a_job_outlives_its_kernel_and_another_notebook_has_its_outputs_and_results(
    home: Path, notebook: Notebook
) -> None:
    number = submit(notebook)
    with Client() as client:
        job = wait_for_lines(client, number)
        end_hard(int(notebook.run("import os; print(os.getpid())").stdout))
        job = wait_for_end(number)
    assert "succeeded" == job.state
    assert EVERY_LINE == text_of(job)
    with Notebook("another") as other:
        other.run("%load_ext jupysched")
        seen = other.run(f"%gpujob attach {number}")
        assert EVERY_LINE == seen.stdout
        assert {"last": "True"} == other.evaluate({"last": f"last == {LINES - 1}"})


def test_a_job_whose_shim_died_is_reported_lost_ends_with_it_and_never_runs_again(
    home: Path, notebook: Notebook
) -> None:
    seen = notebook.run(
        f"%%gpujob --retries 3 --name printing\nimport os\nopen('ran', 'a').write('x')\n{CELL}", allow_stdin=True
    )
    assert seen.card is not None
    number = int(seen.card["id"])
    with Client() as client:
        job = wait_for_lines(client, number)
        end_hard(shim_of(job))
        job = wait_for_end(number)
        gpus = client.gpus()
    assert ("failed", "lease_expired", 1) == (job.state, job.reason, job.attempt)
    assert [[], []] == [g.jobs for g in gpus]
    text = text_of(job)
    assert EVERY_LINE.startswith(text)
    assert text


def test_a_daemon_that_dies_right_after_a_submission_has_not_lost_it(home: Path, notebook: Notebook) -> None:
    seen = notebook.run("%%gpujob\nprint('here')", allow_stdin=True)
    end_hard(int((home / "daemon.lock").read_text(encoding="ascii")))
    assert seen.card is not None
    job = wait_for_end(int(seen.card["id"]))
    assert ("succeeded", "here\n") == (job.state, text_of(job))


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_daemon_that_dies_in_the_moment_of_a_submission_leaves_one_job_that_runs_once_under_its_card(
    home: Path, notebook: Notebook, moment: str
) -> None:
    read_end, write_end = os.pipe()
    command = [sys.executable, "-c", DIES, moment, str(write_end)]
    with os.fdopen(read_end, "rb") as ready, subprocess.Popen(command, pass_fds=[write_end], cwd="/") as daemon:
        os.close(write_end)
        assert b"ready" == ready.read(5)
        seen = notebook.run("%%gpujob\nopen('ran', 'a').write('x')\nprint('here')", allow_stdin=True)
        assert -signal.SIGKILL == daemon.wait(10)
    assert "" == seen.stderr
    assert seen.card is not None
    job = wait_for_end(int(seen.card["id"]))
    assert ("succeeded", "here\n", "x") == (job.state, text_of(job), (notebook.folder / "ran").read_text())
    with Client() as client:
        assert [job.id] == [j.id for j in client.jobs().jobs]


def test_a_job_keeps_its_whole_notice_though_the_daemon_dies_in_it(home: Path, notebook: Notebook) -> None:
    seen = notebook.run(f"%%gpujob\n{SAVES}", allow_stdin=True)
    assert seen.card is not None
    number, go = int(seen.card["id"]), home / "go"
    with Client() as client:
        job = wait_for_lines(client, number, 1)
        client.requeue(number)
        job = wait_for_lines(client, number, 2)
        end_hard(the_daemon(home, job))
        assert "stopping" == client.job(number).state
    with spool.connect_control(attempt_path(job)) as shim:
        shim.sendall(b'{"op":"read","from":0}\n')
        shim.recv(1)  # it has obeyed whatever the next daemon told it when it adopted the attempt
    go.touch()
    assert ("succeeded", 2) == ((ended := wait_for_end(number)).state, ended.attempt)
    assert "up\ntold\nsaved\n" == text_of(job)
    assert "goes on with 7\n" == text_of(ended)


def test_many_kernels_that_ask_at_once_get_one_daemon(home: Path) -> None:
    code = "from jupysched.client import Client; print(Client().hello().pid)"
    asking = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(6)]
    pids = {p.communicate(timeout=60)[0].strip() for p in asking}
    assert [0] * 6 == [p.returncode for p in asking]
    assert 1 == len(pids)
    assert [int(pids.pop())] == [p for p in processes_with("jupysched.daemon", home) if os.path.exists(f"/proc/{p}")]
