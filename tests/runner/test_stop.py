"""A job is stopped within the stated seconds, however it resists, and what it had comes back where that is possible."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jupysched.adapters.exit_words import exit_from
from tests.runner.node import Job, Node, is_alive
from tests.waiting import eventually

pytestmark = pytest.mark.leaky


def started(node: Node, cell: str) -> Job:
    """Return a job whose cell has printed "ready"."""
    job = node.job(cell)
    job.start()
    job.read_until("ready").close()
    return job


def test_an_interrupt_is_a_keyboard_interrupt_and_the_variables_come_back(node: Node) -> None:
    job = started(node, "import time\nn = 1\nprint('ready')\nwhile True:\n    n += 1\n    time.sleep(0.01)")
    job.tell(op="interrupt")
    job.follow()
    assert (job.outcome, job.end["ename"]) == ("interrupted", "KeyboardInterrupt")
    assert "time.sleep(0.01)" in job.error_text()
    assert "jupysched" not in job.error_text()
    assert job.exit is not None
    assert (job.exit["stopped"], job.exit["code"]) == (False, 130)
    assert job.landed()["n"] > 0


def test_a_stop_begins_with_an_interrupt_and_is_remembered_as_one(node: Node) -> None:
    job = started(node, "import time\nprint('ready')\ntime.sleep(60)")
    job.tell(op="stop", grace_s=[30, 30])
    job.follow()
    assert job.outcome == "interrupted"
    assert job.exit is not None
    assert job.exit["stopped"] is True


def test_an_interrupt_is_heard_even_in_the_instant_before_a_long_call(node: Node) -> None:
    for _ in range(8):
        job = started(node, "import time\nprint('ready')\ntime.sleep(60)")
        began = time.monotonic()
        job.tell(op="interrupt")
        job.follow()
        assert job.outcome == "interrupted"
        assert time.monotonic() - began < 10


def test_a_deadlock_can_be_interrupted(node: Node) -> None:
    job = started(node, "import threading\nl = threading.Lock(); l.acquire()\nprint('ready')\nl.acquire()")
    job.tell(op="interrupt")
    job.follow()
    assert job.end["ename"] == "KeyboardInterrupt"


def test_waiting_for_threads_can_be_interrupted(node: Node) -> None:
    job = started(
        node, "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\nx = 1\nprint('ready')"
    )
    eventually(lambda: b"ready" in (job.path() / "frames").read_bytes())
    job.tell(op="stop", grace_s=[30, 30])
    job.follow()
    assert job.landed()["x"] == 1


SWALLOWS = """
import time
words = ["ready"]
while True:
    try:
        # Whoever reads it may interrupt before print has returned.
        while words:
            print(words.pop())
        time.sleep(60)
    except BaseException as error:
        print("swallowed", type(error).__name__)
"""


def test_a_cell_that_swallows_the_interrupt_is_told_louder_each_time(node: Node) -> None:
    job = started(node, SWALLOWS)
    began = time.monotonic()
    job.tell(op="stop", grace_s=[0.3, 0.3])
    job.follow()
    assert job.stdout == "ready\nswallowed KeyboardInterrupt\nswallowed KeyboardInterrupt\n"
    assert job.exit is not None
    assert (job.exit["signal"], job.exit["stopped"], job.exit["end"]) == (9, True, None)
    assert 0.5 < time.monotonic() - began < 10


def test_a_second_stop_goes_to_the_next_step_at_once(node: Node) -> None:
    job = started(node, SWALLOWS)
    for heard in (1, 2):
        job.tell(op="stop", grace_s=[600, 600])
        eventually(lambda heard=heard: (job.path() / "frames").read_bytes().count(b"swallowed") == heard)
    job.tell(op="stop", grace_s=[600, 600])
    job.follow()
    assert job.exit is not None
    assert job.exit["signal"] == 9


def test_a_deaf_cell_is_stopped_too(node: Node) -> None:
    cell = "import signal, time\nfor s in (15, 2, 1):\n    signal.signal(s, signal.SIG_IGN)\nprint('ready')\ntime.sleep(60)"
    job = started(node, cell)
    job.tell(op="stop", grace_s=[0.1, 0.1])
    job.follow()
    assert job.exit is not None
    assert job.exit["signal"] == 9


SAVES = """
import time, jupysched
n = jupysched.restored(0)
jupysched.should_stop()  # a notice interrupts who never asked
print('ready')
while not jupysched.should_stop():
    time.sleep(0.01)
jupysched.checkpoint(n + 1)
print('saved')
"""


def test_with_notice_a_cell_that_asks_saves_its_work_and_its_end_is_not_that_of_its_work(node: Node) -> None:
    job = started(node, SAVES)
    job.tell(op="stop", grace_s=[600, 600, 600])
    job.follow()
    assert "saved" in job.stdout
    assert job.exit is not None
    assert (job.outcome, job.exit["stopped"], job.end["told"]) == ("ok", True, True)
    assert exit_from(job.exit).outcome == "interrupted"


def test_a_cell_that_does_not_ask_is_interrupted_by_the_notice(node: Node) -> None:
    job = started(node, "import time\nprint('ready')\ntime.sleep(600)")
    job.tell(op="stop", grace_s=[600, 600, 600])
    job.follow()
    assert job.outcome == "interrupted"


def test_who_asks_and_goes_on_regardless_is_interrupted_after_the_notice_or_by_a_second_order(node: Node) -> None:
    deaf = "import time, jupysched\njupysched.should_stop()\nprint('ready')\nwhile True: time.sleep(0.01)"
    for grace, orders in (([600, 600, 0.1], 1), ([600, 600, 600], 2)):
        job = started(node, deaf)
        for nth in range(orders):
            job.tell(op="stop", grace_s=grace, nth=nth + 1)
        job.follow()
        assert job.outcome == "interrupted"


def test_an_order_that_is_only_repeated_leaves_the_notice_as_long_as_it_was(node: Node) -> None:
    cell = SAVES.replace(
        "jupysched.checkpoint", "import os\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\njupysched.checkpoint"
    )
    job = started(node, cell)
    with job.connect() as daemon:
        daemon.settimeout(30)
        daemon.sendall(b'{"op":"stop","grace_s":[600,600,600],"nth":1}\n' * 3 + b'{"op":"read","from":0}\n')
        daemon.recv(1)  # what came before it was obeyed
    (node.work / "go").touch()
    job.follow()
    assert "saved" in job.stdout
    assert job.outcome == "ok"


def test_a_cell_that_asks_should_stop_ends_in_its_own_way(node: Node) -> None:
    cell = """
import jupysched, os, signal, time
jupysched.should_stop()
os.kill(os.getpid(), signal.SIGTERM)
while not jupysched.should_stop():
    time.sleep(0.01)
print("saved")
"""
    job = node.run(cell)
    assert (job.outcome, job.stdout) == ("ok", "saved\n")


def test_a_cell_that_does_not_ask_is_interrupted_by_the_last_notice(node: Node) -> None:
    job = node.run("import os, signal, time\nx = 1\nos.kill(os.getpid(), signal.SIGTERM)\ntime.sleep(60)")
    assert job.outcome == "interrupted"
    assert job.landed()["x"] == 1


def test_a_frozen_job_stands_still_and_goes_on_or_can_be_stopped(node: Node) -> None:
    job = started(node, "import time\nprint('ready')\nwhile True:\n    time.sleep(0.01)")
    pid = job.pids()["job_pid"]
    job.tell(op="freeze")
    eventually(lambda: state_of(pid) == "T")
    job.tell(op="thaw")
    eventually(lambda: state_of(pid) in "SR")
    job.tell(op="freeze")
    eventually(lambda: state_of(pid) == "T")
    job.tell(op="stop", grace_s=[30, 30])
    job.follow()
    assert job.outcome == "interrupted"


def state_of(pid: int) -> str:
    """Return the state letter of a process."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


ESCAPES = """
import os, subprocess, time
a = subprocess.Popen(["sleep", "600"]).pid
b = subprocess.Popen(["sleep", "600"], start_new_session=True).pid
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(write, str(os.getpid()).encode())
        os.closerange(0, 1000)
        import signal
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            time.sleep(600)
    os._exit(0)
os.wait()
pids = [a, b, int(os.read(read, 20))]
"""


def test_whatever_escaped_is_gone_before_the_exit_is_written(node: Node) -> None:
    job = node.run(ESCAPES + "del subprocess")
    pids = job.landed()["pids"]
    assert [pid for pid in pids if is_alive(pid)] == []
    assert job.exit is not None
    assert (job.outcome, job.exit["swept"]) == ("ok", 3)


def test_whatever_escaped_a_stopped_job_is_gone_too(node: Node) -> None:
    job = started(node, ESCAPES + "print('ready', pids)\ntime.sleep(60)")
    job.tell(op="stop", grace_s=[0, 0])
    job.follow()
    pids = [int(word) for word in job.stdout.replace("[", "").replace("]", "").replace(",", "").split()[1:]]
    assert [pid for pid in pids if is_alive(pid)] == []


def test_sixty_children_are_swept(node: Node) -> None:
    cell = "import os, time\nfor i in range(60):\n    if os.fork() == 0:\n        time.sleep(600)\n        os._exit(0)"
    job = node.run(cell)
    assert job.exit is not None
    assert job.exit["swept"] == 60


def test_shared_memory_of_a_job_that_was_stopped_by_force_is_unlinked(node: Node) -> None:
    cell = """
import os, signal
from multiprocessing import shared_memory, resource_tracker
ours = shared_memory.SharedMemory(create=True, size=1000, name=f"js_test_{os.getpid()}")
resource_tracker.unregister(ours._name, "shared_memory")
tracked = shared_memory.SharedMemory(create=True, size=1000, name="js_test_tracked")
print(ours.name, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    job = node.run(cell)
    assert not os.path.exists("/dev/shm/" + job.stdout.strip())
    assert not os.path.exists("/dev/shm/js_test_tracked")
    assert job.exit is not None
    assert job.exit["signal"] == 9


def test_a_failed_collective_leaves_nobody_waiting(node: Node) -> None:
    cell = """
import multiprocessing, time
children = [multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,)) for _ in range(2)]
for child in children:
    child.start()
raise RuntimeError("rank one broke")
"""
    job = node.run(cell)
    assert (job.end["ename"], job.end["evalue"]) == ("RuntimeError", "rank one broke")


SWEEP = """
import os, sys
from jupysched.runner import tree
stays = os.fork()
if stays == 0:
    os.closerange(0, 3)
    os.execvp("sleep", ["sleep", "600"])
os.setresgid(65534, 65534, 65534)
os.setresuid(65534, 65534, 65534)
goes = os.fork()
if goes == 0:
    os.execvp("sleep", ["sleep", "600"])
swept = tree.sweep(os.getpid())
print(stays, tree.descendants(os.getpid()) == {stays}, goes in swept, flush=True)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who can be another user than a child of its own")
def test_what_sudo_has_started_is_left_behind_and_holds_no_gpu() -> None:
    """Nobody but root may end it; to wait for it would keep the job from ending, whatever is cancelled."""
    ran = subprocess.run([sys.executable, "-c", SWEEP], capture_output=True, text=True, timeout=30, check=True)
    stays, *told = ran.stdout.split()
    os.kill(int(stays), signal.SIGKILL)
    assert told == ["True", "True"]
