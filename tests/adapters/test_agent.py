"""An agent says what is true of an attempt, whatever goes missing on the way: words, shims, launchers."""

import json
import os
import socket
import subprocess
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jupysched import spool
from jupysched.adapters.agent import Agent
from jupysched.adapters.agent_attempt import environment
from jupysched.adapters.cpu_slots import cpu_slots
from jupysched.adapters.launcher_client import LauncherClient
from jupysched.core.resources import NodeName
from jupysched.ports import Heard, StartOrder
from jupysched.testing.cluster import fake_gpus
from tests.adapters.job_directories import an_order
from tests.adapters.stand_in_launcher import NO_PID, Reply, StandInLauncher
from tests.waiting import eventually_async

EXIT = {"code": 0, "signal": None, "end": {"outcome": "ok"}, "started_at": 5.0, "ended_at": 6.0}


class Scene:
    """An agent with a stand-in for its launcher; the test plays the shim."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.launcher = StandInLauncher(home, self.answer)
        self.heard: list[Heard] = []
        self.agent = self.new_agent()
        #: what the launcher says to a start order; None for what the directory says
        self.says: Reply = None
        self.shims: list[subprocess.Popen[bytes]] = []

    def new_agent(self, *, patience_s: float = 20.0, look_every_s: float = 0.05) -> Agent:
        launcher = LauncherClient(str(self.home), start=self.launcher.start, patience_s=patience_s)
        return Agent(
            str(self.home),
            name="a",
            heard=self.heard.append,
            launcher=launcher,
            clock=lambda: 9.0,
            look_every_s=look_every_s,
        )

    def answer(self, request: dict[str, Any]) -> Reply:
        path = spool.attempt_path(request["directory"], request["attempt"])
        return self.says or {"ok": True, "answer": spool.attempt_answer(path)}

    def order(self, name: str = "job") -> StartOrder:
        directory = self.home / name
        directory.mkdir()
        return an_order(directory, cpu_slots(NodeName("node0"), 1), job=7)

    def run(self, order: StartOrder) -> subprocess.Popen[bytes]:
        """Make the attempt's directory, with a living shim."""
        shim = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
        self.shims.append(shim)
        identity = {"pid": shim.pid, "start": spool.process_start(shim.pid), "boot": spool.boot_id()}
        path = Path(order.directory, "a1")
        path.mkdir()
        spool.write_json(str(path / spool.SHIM), identity)
        return shim

    def end(self, order: StartOrder) -> None:
        spool.write_json(str(Path(order.directory, "a1", spool.EXIT)), EXIT)

    def notice(self, event: str, **more: Any) -> None:
        """Say something to the agent, as a shim does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(
                json.dumps({"job": 7, "attempt": 1, **more, "event": event}).encode(), str(self.home / "agent-a.sock")
            )

    async def until(self, *kinds: str) -> list[Heard]:
        await eventually_async(lambda: [h.kind for h in self.heard] == list(kinds), what=f"{kinds}, not {self.heard}")
        return self.heard


@pytest.fixture
async def scene(home: Path) -> AsyncIterator[Scene]:
    made = Scene(home)
    await made.agent.start()
    yield made
    await made.agent.close()
    await made.launcher.close()
    for shim in made.shims:
        shim.communicate()


def test_exactly_the_granted_gpus_are_visible_in_the_order_granted() -> None:
    first, second = fake_gpus(2)
    assert environment(an_order(Path("/x"), [second, first], job=7)) == {
        "CUDA_VISIBLE_DEVICES": f"{second.id},{first.id}", "JUPYSCHED_JOB": "7", "JUPYSCHED_ATTEMPT": "1",
    }  # fmt: skip


def test_on_cpu_slots_no_gpu_is_visible() -> None:
    assert environment(an_order(Path("/x"), cpu_slots(NodeName("n"), 1), job=7))["CUDA_VISIBLE_DEVICES"] == ""


async def test_the_launcher_is_given_what_it_needs(scene: Scene) -> None:
    order = scene.order()
    scene.says = {"ok": True, "answer": "started"}
    scene.agent.order_start(order)
    await scene.until("running")
    [request] = scene.launcher.requests
    assert request == {
        "op": "start", "id": 1, "directory": order.directory, "attempt": 1, "job": 7, "uid": os.getuid(),
        "env": environment(order), "notify": str(scene.home / "agent-a.sock"),
    }  # fmt: skip


async def test_the_shims_own_word_ends_an_attempt(scene: Scene) -> None:
    scene.says = {"ok": True, "answer": "started"}
    scene.agent.order_start(scene.order())
    await scene.until("running")
    scene.notice("ended", **EXIT)
    heard = await scene.until("running", "ended")
    assert (6.0, "ok") == (heard[1].at, heard[1].exit and heard[1].exit.outcome)


async def test_an_end_that_overtakes_the_start_is_told_in_order(scene: Scene) -> None:
    scene.says = {"ok": True, "answer": None}
    scene.launcher.answer = lambda request: None
    scene.agent.order_start(scene.order())
    scene.notice("ended", **EXIT)
    heard = await scene.until("running", "ended")
    assert [5.0, 6.0] == [h.at for h in heard]


async def test_a_word_that_is_lost_is_found_in_the_directory(scene: Scene) -> None:
    order = scene.order()
    scene.run(order)
    scene.agent.adopt(order)
    await scene.until("running")
    scene.end(order)
    await scene.until("running", "ended")


async def test_the_end_of_a_shim_is_seen_at_once_without_its_word(home: Path) -> None:
    scene = Scene(home)
    scene.agent = scene.new_agent(look_every_s=1000)
    await scene.agent.start()
    order = scene.order()
    shim = scene.run(order)
    scene.agent.adopt(order)
    await scene.until("running")
    scene.end(order)
    shim.communicate()
    await scene.until("running", "ended")
    await scene.agent.close()
    await scene.launcher.close()


async def test_a_short_word_is_completed_from_the_directory(scene: Scene) -> None:
    order = scene.order()
    scene.run(order)
    scene.agent.adopt(order)
    await scene.until("running")
    scene.end(order)
    scene.notice("ended", code=0, signal=None)
    heard = await scene.until("running", "ended")
    assert heard[1].exit is not None
    assert heard[1].exit.outcome == "ok"


async def test_words_of_another_user_are_not_heard(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    scene.says = {"ok": True, "answer": "started"}
    order = replace(scene.order(), uid=4711)
    scene.agent.order_start(order)
    await scene.until("running")
    scene.agent._noticed({"job": 7, "attempt": 1, "event": "ended", **EXIT}, 4712)
    assert [h.kind for h in scene.heard] == ["running"]
    scene.agent._noticed({"job": 7, "attempt": 1, "event": "ended", **EXIT}, 4711)
    assert [h.kind for h in scene.heard] == ["running", "ended"]


async def test_words_about_attempts_that_nobody_ordered_are_not_heard(scene: Scene) -> None:
    scene.notice("ended", **{**EXIT, "job": 8})
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"not JSON at all", str(scene.home / "agent-a.sock"))
    scene.says = {"ok": True, "answer": "started"}
    scene.agent.order_start(scene.order())
    await scene.until("running")


async def test_a_shim_that_died_without_a_word_is_told_as_lost(scene: Scene) -> None:
    order = scene.order()
    shim = scene.run(order)
    scene.agent.adopt(order)
    await scene.until("running")
    shim.communicate()
    heard = await scene.until("running", "lost")
    assert "not run again" in heard[1].sentence
    assert [request["op"] for request in scene.launcher.requests] == ["start"], (
        "the launcher ends what the job left behind"
    )


async def test_a_directory_that_vanished_is_lost_and_starts_nothing(scene: Scene) -> None:
    order = scene.order()
    scene.run(order)
    scene.agent.adopt(order)
    await scene.until("running")
    (Path(order.directory) / "a1" / spool.SHIM).unlink()
    (Path(order.directory) / "a1").rmdir()
    await scene.until("running", "lost")
    assert scene.launcher.requests == []


async def test_a_launcher_that_goes_with_an_order_is_asked_again(scene: Scene) -> None:
    scene.launcher.answer = lambda request: None
    scene.agent.order_start(scene.order())
    await eventually_async(lambda: scene.launcher.requests)
    await scene.launcher.close()
    scene.launcher.answer = lambda request: {"ok": True, "answer": "started"}
    await scene.until("running")
    assert len(scene.launcher.requests) == 2


async def test_an_attempt_that_no_launcher_took_is_refused_and_can_never_start_later(home: Path) -> None:
    scene = Scene(home)
    launcher = LauncherClient(str(home), start=lambda run_dir: NO_PID, patience_s=0.05)
    scene.agent = Agent(str(home), name="a", heard=scene.heard.append, launcher=launcher)
    await scene.agent.start()
    order = scene.order()
    scene.agent.order_start(order)
    await scene.until("refused")
    await scene.agent.close()
    assert Path(order.directory, "a1").is_dir(), "its directory is taken, so a late order finds it started"


async def test_an_attempt_that_a_launcher_took_before_it_vanished_is_not_refused(home: Path) -> None:
    scene = Scene(home)
    launcher = LauncherClient(str(home), start=lambda run_dir: NO_PID, patience_s=0.05)
    scene.agent = Agent(str(home), name="a", heard=scene.heard.append, launcher=launcher)
    await scene.agent.start()
    order = scene.order()
    shim = scene.run(order)
    scene.agent.order_start(order)
    await scene.until("running")
    await scene.agent.close()
    shim.communicate()
