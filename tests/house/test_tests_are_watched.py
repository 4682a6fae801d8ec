"""The watch over the tests itself works: what is left behind is seen, and what lives in a home is ended."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.leaks import end_all_in, held, left_since, temporary_home
from tests.waiting import eventually

FOREVER = [
    sys.executable,
    "-c",
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); signal.pause()",
]


def test_an_open_descriptor_is_seen(tmp_path: Path) -> None:
    before = held()
    descriptor = os.open(tmp_path / "file", os.O_CREAT)
    try:
        assert [f"descriptor {descriptor} is open on {tmp_path / 'file'}"] == left_since(before, within_s=0)
    finally:
        os.close(descriptor)
    assert [] == left_since(before, within_s=0)


def test_a_thread_and_a_process_are_seen() -> None:
    before, go_on = held(), threading.Event()
    thread = threading.Thread(target=go_on.wait, name="forgotten")
    thread.start()
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    try:
        assert "thread 'forgotten' runs" in left_since(before, within_s=0)
        eventually(lambda: f"process {child.pid} runs: cat" in left_since(before, within_s=0))
    finally:
        go_on.set()
        child.communicate()
        thread.join()


def test_what_something_older_forks_meanwhile_is_nothing_of_the_test() -> None:
    code = "import os, sys; sys.stdin.readline(); os.fork() and os.write(1, b'forked\\n'); sys.stdin.read()"
    older = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert older.stdin is not None
    assert older.stdout is not None
    before = held()
    older.stdin.write("\n")
    older.stdin.flush()
    assert older.stdout.readline() == "forked\n"
    assert left_since(before, within_s=0) == []
    older.communicate()


def test_whatever_lives_in_a_home_is_ended_even_if_it_is_deaf() -> None:
    with temporary_home() as home:
        by_environment = subprocess.Popen(FOREVER, env={"JUPYSCHED_HOME": str(home)}, stdout=subprocess.PIPE)
        by_folder = subprocess.Popen(FOREVER, cwd=home, stdout=subprocess.PIPE, start_new_session=True)
        for child in (by_environment, by_folder):
            assert child.stdout is not None
            assert child.stdout.readline() == b"up\n"
        assert len(end_all_in(home, grace_s=0.2)) == 2
        for child in (by_environment, by_folder):
            child.communicate()
            assert child.returncode == -9


def test_a_sleeping_test_fails(tmp_path: Path) -> None:
    import asyncio
    import time

    with pytest.raises(AssertionError, match="may not sleep"):
        time.sleep(0.01)
    with pytest.raises(AssertionError, match="may not sleep"):
        asyncio.run(asyncio.sleep(0.01))
    time.sleep(0)


def test_waiting_returns_the_first_true_answer_and_tells_the_last_problem() -> None:
    answers = iter([0, "", "at last"])
    assert eventually(lambda: next(answers)) == "at last"
    with pytest.raises(AssertionError, match="the file did not come true within 0 s.*FileNotFoundError"):
        eventually(lambda: Path("/nowhere/at/all").read_text(), within_s=0, what="the file")


def test_tests_that_share_a_server_run_in_one_worker(request: pytest.FixtureRequest) -> None:
    # A pytest that pytest-xdist does not know yet made it ignore the groups without a word: two servers, twice the load.
    if not request.config.getoption("loadgroup", False):
        return
    grouped = [item.nodeid for item in request.session.items if item.get_closest_marker("xdist_group")]
    assert [] == [nodeid for nodeid in grouped if "@" not in nodeid], "see pytest in pyproject.toml"
