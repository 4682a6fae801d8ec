"""The launcher is reached, started where it is missing, and asked again what it did not answer."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jupysched.adapters.launcher_client import LauncherClient
from tests.adapters.stand_in_launcher import NO_PID, StandInLauncher
from tests.adapters.subject import end_launcher_in
from tests.waiting import eventually_async


@pytest.fixture
async def launcher(home: Path) -> AsyncIterator[StandInLauncher]:
    stand_in = StandInLauncher(home, lambda request: {"ok": True, "echo": request["op"]})
    yield stand_in
    await stand_in.close()


@pytest.fixture
async def client(home: Path, launcher: StandInLauncher) -> AsyncIterator[LauncherClient]:
    connected = LauncherClient(str(home), start=launcher.start)
    yield connected
    await connected.close()


async def test_one_that_is_there_is_not_started(client: LauncherClient, launcher: StandInLauncher) -> None:
    await launcher.open()
    assert await client.start()
    assert launcher.starts == 0


async def test_one_that_is_missing_is_started_once(client: LauncherClient, launcher: StandInLauncher) -> None:
    answers: list[Any] = []
    for number in range(3):
        client.request({"op": str(number)}, answers.append)
    await eventually_async(lambda: len(answers) == 3)
    assert (["0", "1", "2"], 1) == ([answer["echo"] for answer in answers], launcher.starts)


async def test_answers_find_their_requests_in_whatever_order_they_come(
    client: LauncherClient, launcher: StandInLauncher
) -> None:
    answers: list[str] = []
    launcher.answer = lambda request: None if request["op"] == "slow" else {"ok": True}
    await launcher.open()
    await client.start()
    client.request({"op": "slow"}, lambda answer: answers.append("slow"))
    client.request({"op": "quick"}, lambda answer: answers.append("quick"))
    await eventually_async(lambda: answers)
    assert answers == ["quick"]


async def test_what_it_did_not_answer_is_asked_of_the_next_one(
    client: LauncherClient, launcher: StandInLauncher
) -> None:
    answers: list[Any] = []
    launcher.answer = lambda request: None
    await launcher.open()
    await client.start()
    client.request({"op": "start"}, answers.append)
    await eventually_async(lambda: launcher.requests)
    await launcher.close()
    launcher.answer = lambda request: {"ok": True, "echo": "second"}
    await eventually_async(lambda: answers)
    assert (["second"], 1) == ([answer["echo"] for answer in answers], launcher.starts)


async def test_one_that_cannot_be_started_is_told_with_its_last_words(home: Path) -> None:
    answers: list[Any] = []
    (home / "launcher.log").write_text("Traceback ...\nOSError: no space left on device\n")
    client = LauncherClient(str(home), start=lambda run_dir: NO_PID, patience_s=0.05)
    client.request({"op": "start"}, answers.append)
    await eventually_async(lambda: answers)
    await client.close()
    assert (False, True) == (answers[0]["ok"], answers[0]["unreachable"])
    assert answers[0]["error"] == "The launcher did not start: OSError: no space left on device."


async def test_a_program_that_is_missing_is_an_answer_not_an_exception(home: Path) -> None:
    def start(run_dir: str) -> int:
        raise FileNotFoundError(2, "No such file or directory", "python")

    answers: list[Any] = []
    client = LauncherClient(str(home), start=start)
    client.request({"op": "start"}, answers.append)
    await eventually_async(lambda: answers)
    await client.close()
    assert "No such file" in answers[0]["error"]


async def test_a_run_directory_of_any_depth_is_reached(home: Path) -> None:
    deep = home / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    await end_launcher_in(deep)


async def test_a_launcher_keeps_nothing_open_of_who_started_it(home: Path) -> None:
    """A Dask worker may start it, and has pipes that its children inherit: the daemon's resource tracker waited for them."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    started = LauncherClient(str(home))
    try:
        assert await started.start()
    finally:
        os.close(writing)
    await started.close()
    os.set_blocking(reading, False)
    assert await eventually_async(lambda: os.read(reading, 1) == b"", what="the end of the pipe")
    os.close(reading)
    await end_launcher_in(home)
