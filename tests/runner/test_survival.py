"""A job outlives what stands above it, dies with its shim, and never runs twice."""

import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from jupysched import spool
from jupysched.runner.launcher import sweep_after
from tests.runner.node import Job, Node, is_alive
from tests.waiting import eventually

pytestmark = pytest.mark.leaky

WAITS = "import time\nfor i in range(200):\n    print('line', i)\nprint('ready')\nname = input()\nfor i in range(200, 400):\n    print('line', i)\nx = 'kept'"


def waiting(node: Node) -> Job:
    """Return a job in the middle of its lines, which goes on when told."""
    job = node.job(WAITS, allow_stdin=True)
    job.start()
    job.read_until('"id": 1').close()
    return job


def goes_on(job: Job) -> None:
    """Let the job end and check that nothing of it was lost."""
    job.tell(op="input", id=1, value="")
    job.follow()
    assert job.stdout.replace("ready\n", "") == "".join(f"line {i}\n" for i in range(400))
    assert job.outcome == "ok"
    assert job.landed()["x"] == "kept"


def test_the_launchers_death_changes_nothing_for_a_job(own_node: Node) -> None:
    job = waiting(own_node)
    own_node.launcher.kill()
    own_node.launcher.wait()
    own_node.forget()
    goes_on(job)
    own_node.start_launcher()
    assert job.start() == {"ok": True, "answer": "ended"}


def test_a_new_launcher_answers_attached_for_a_job_that_runs(own_node: Node) -> None:
    job = waiting(own_node)
    own_node.launcher.kill()
    own_node.launcher.wait()
    own_node.forget()
    own_node.start_launcher()
    assert job.start() == {"ok": True, "answer": "attached"}
    goes_on(job)


def test_the_zygotes_death_changes_nothing_for_a_job_and_the_next_gets_a_new_one(own_node: Node) -> None:
    job = waiting(own_node)
    (zygote,) = own_node.ask(op="ping")["zygotes"]
    os.kill(zygote["pid"], signal.SIGKILL)
    goes_on(job)
    assert own_node.run("print('next')").stdout == "next\n"
    (after,) = own_node.ask(op="ping")["zygotes"]
    assert after["pid"] != zygote["pid"]


def test_a_pair_that_waits_ends_with_its_zygote(own_node: Node) -> None:
    own_node.run("pass")
    eventually(lambda: own_node.ask(op="ping")["zygotes"][0]["waiting"] == 1)
    before = eventually(lambda: len(tree_of(own_node.launcher.pid)) == 3 and tree_of(own_node.launcher.pid))
    (zygote,) = own_node.ask(op="ping")["zygotes"]
    os.kill(zygote["pid"], signal.SIGKILL)
    eventually(lambda: not any(is_alive(pid) for pid in before))


def tree_of(pid: int) -> set[int]:
    """Return the living processes below this one."""
    from jupysched.runner import tree

    return tree.descendants(pid)


def test_the_shims_death_takes_the_job_along_and_is_answered_lost(own_node: Node) -> None:
    cell = "import subprocess\na = subprocess.Popen(['sleep', '600'], start_new_session=True, stdin=subprocess.DEVNULL).pid\nprint('ready', a)\nimport time\ntime.sleep(600)"
    job = own_node.job(cell)
    job.start()
    with job.read_until("\n"):
        escaped = int((job.path() / "frames").read_bytes().split()[-1])
        pids = job.pids()
        os.kill(pids["pid"], signal.SIGKILL)
        eventually(lambda: not is_alive(pids["job_pid"]))
    assert job.start() == {"ok": True, "answer": "lost"}
    eventually(lambda: not is_alive(escaped))
    assert job.exit is None


def test_what_a_lost_job_forked_and_never_started_anew_is_found_by_its_pipes(own_node: Node) -> None:
    cell = "import os, time\nif (pid := os.fork()) == 0:\n    os.setsid()\n    time.sleep(600)\nprint('ready', pid)\ntime.sleep(600)"
    job = own_node.job(cell)
    job.start()
    with job.read_until("\n"):
        child = int((job.path() / "frames").read_bytes().split()[-1])
        own_node.launcher.kill()
        own_node.launcher.wait()
        os.kill(job.pids()["pid"], signal.SIGKILL)
    eventually(lambda: not is_alive(job.pids()["job_pid"]))
    assert is_alive(child)
    assert sweep_after(str(job.path())) == {child}
    assert not is_alive(child)


def test_an_attempt_is_run_once_however_often_and_from_however_many_sides_it_is_ordered(own_node: Node) -> None:
    job = own_node.job("with open('ran', 'a') as f:\n    f.write('x')\nprint('done')")
    own_node.run("pass")

    def order(_: int) -> str:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(own_node.run_dir / "launcher.sock"))
            request = f'{{"op":"start","directory":"{job.directory}","attempt":1,"job":"j"}}\n'
            connection.sendall(request.encode())
            return connection.makefile().readline()

    with ThreadPoolExecutor(6) as pool:
        answers = [spool.json.loads(line)["answer"] for line in pool.map(order, range(6))]
    assert answers.count("started") == 1
    assert set(answers) <= {"started", "attached", "ended"}
    job.follow()
    assert job.start() == {"ok": True, "answer": "ended"}
    assert Path(own_node.work, "ran").read_text() == "x"


def test_a_directory_that_nobody_watches_is_lost_not_run(own_node: Node) -> None:
    job = own_node.job("print('never')")
    job.path().mkdir()
    assert job.start() == {"ok": True, "answer": "lost"}
    assert os.listdir(job.path()) == []


@pytest.mark.parametrize("closes", [False, True])
def test_how_the_cell_ended_is_known_though_it_closed_every_descriptor(own_node: Node, closes: bool) -> None:
    closing = "import os\nos.closerange(0, 1000)\n" if closes else ""
    job = own_node.run(f"{closing}raise ValueError('said' * 5000)")
    assert closes == (job.path() / "end.json").exists()
    assert (job.outcome, job.end["evalue"]) == ("error", "said" * 5000)
    assert all(frame.kind <= 6 for frame in job.frames)


def test_the_agent_is_told_of_start_and_end(own_node: Node) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
        agent.bind(str(own_node.home / "agent.sock"))
        agent.settimeout(30)
        job = own_node.job("print('x')")
        job.start(notify=str(own_node.home / "agent.sock"))
        running, ended = (spool.json.loads(agent.recv(1 << 16)) for _ in range(2))
    assert {key: running[key] for key in ("job", "attempt", "event")} == {"job": "j", "attempt": 1, "event": "running"}
    assert {"pid": running["pid"], "job_pid": running["job_pid"]} == job.pids()
    assert job.exit is not None
    assert ended == {"job": "j", "attempt": 1, "event": "ended", "at": job.exit["ended_at"], **job.exit}


def test_an_exit_record_too_large_for_a_datagram_is_told_in_short(own_node: Node) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as agent:
        agent.bind(str(own_node.home / "agent.sock"))
        agent.settimeout(30)
        job = own_node.job("raise ValueError('x' * 1_000_000)")
        job.start(notify=str(own_node.home / "agent.sock"))
        agent.recv(1 << 16)
        ended = spool.json.loads(agent.recv(1 << 16))
    assert (ended["event"], ended["code"], ended["signal"]) == ("ended", 1, None)
    assert len(job.end["evalue"]) == 1_000_000
