"""A page hears of every change once, also when it comes back, and may follow only what is its owner's."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tornado.websocket import WebSocketClientConnection, websocket_connect

from jupysched.client import Client
from jupysched.places import new_job_directory
from jupysched.spool import Kind, pack_frame
from jupysched.wire.requests import SpecRecord
from tests.labs import JupyterServer
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives as long as the module's server"),
]


@pytest.fixture
def queue(server: JupyterServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[int, Path]]:
    """Queues a held job of that name; returns its number and directory."""
    server.api("daemon", {})
    eventually(lambda: server.api("state").json()["down"] == "")
    monkeypatch.setenv("JUPYSCHED_HOME", str(server.home))

    def submit(name: str) -> tuple[int, Path]:
        directory = new_job_directory()
        with Client() as client:
            return client.submit(SpecRecord(name=name, directory=str(directory), hold=True))[0], directory

    return submit


@asynccontextmanager
async def page(server: JupyterServer, query: str = "") -> AsyncIterator[WebSocketClientConnection]:
    """A page's connection."""
    url = server.url.replace("http", "ws") + f"jupysched/api/stream?token={server.token}{query}"
    connection = await websocket_connect(url)
    try:
        yield connection
    finally:
        connection.close()


async def heard(connection: WebSocketClientConnection) -> dict[str, Any] | None:
    message = await connection.read_message()
    return None if message is None else json.loads(message)


async def until(connection: WebSocketClientConnection, wanted: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    while True:
        message = await heard(connection)
        assert message is not None, "the server closed the connection"
        if wanted(message):
            return message


def names(message: dict[str, Any]) -> list[str]:
    return [job["name"] for job in message.get("jobs", [])]


async def test_first_everything_then_what_changes_without_a_gap(server: JupyterServer, queue: Any) -> None:
    async with page(server) as connection:
        first = await heard(connection)
        assert first is not None
        assert first["type"] == "refresh"
        queue("one")
        at, found = first["seq"], False
        while not found:
            message = await heard(connection)
            assert message is not None
            assert message["since"] == at
            at, found = message["seq"], "one" in names(message)


async def test_who_comes_back_hears_only_what_was_missed(server: JupyterServer, queue: Any) -> None:
    queue("before")
    async with page(server) as connection:
        first = await heard(connection)
        assert first is not None
    queue("meanwhile")
    eventually(lambda: "meanwhile" in names(server.api("state").json()))
    async with page(server, f"&epoch={first['epoch']}&seq={first['seq']}") as connection:
        message = await heard(connection)
        assert message is not None
        assert message["type"] == "change"
        assert "meanwhile" in names(message)
        assert "before" not in names(message)
    async with page(server, "&epoch=another&seq=3") as connection:
        assert (await heard(connection) or {})["type"] == "refresh"


async def test_outputs_are_followed_from_any_byte_until_the_end(server: JupyterServer, queue: Any) -> None:
    job, directory = queue("followed")
    attempt = directory / "a1"
    attempt.mkdir()
    frames = [pack_frame(Kind.STDOUT, 1.0, f"{n}\n".encode()) for n in range(3)]
    (attempt / "frames").write_bytes(frames[0] + frames[1])
    eventually(lambda: "followed" in names(server.api("state").json()))
    async with page(server) as connection:
        await connection.write_message(
            json.dumps({"type": "follow", "job": job, "attempt": 1, "start": len(frames[0])})
        )
        piece = await until(connection, lambda m: m["type"] == "outputs")
        assert ([o["text"] for o in piece["ops"]], piece["ended"]) == (["1\n"], False)
        with open(attempt / "frames", "ab") as file:
            file.write(frames[2])
        piece = await until(connection, lambda m: m["type"] == "outputs")
        assert [o["text"] for o in piece["ops"]] == ["2\n"]
        (attempt / "exit.json").write_text("{}")
        piece = await until(connection, lambda m: m["type"] == "outputs")
        assert piece["ended"]


async def test_a_page_that_is_not_ours_is_let_go(server: JupyterServer, queue: Any) -> None:
    async with page(server) as connection:
        await connection.write_message("hello")
        while await connection.read_message() is not None:
            pass
        assert connection.close_code == 1003


async def test_a_slow_page_is_sent_the_newest_state_and_not_all_between(server: JupyterServer, queue: Any) -> None:
    job, _ = queue("moved")
    async with page(server) as connection:
        await heard(connection)
        for _ in range(40):
            for priority in ("high", "low"):
                server.api("actions", {"verb": "priority", "jobs": [job], "priority": priority})
        server.api("actions", {"verb": "priority", "jobs": [job], "priority": "normal"})
        told = 0
        message: dict[str, Any] | None = {}
        while not any(
            j["id"] == job and j.get("priority", "normal") == "normal" for j in (message or {}).get("jobs", [])
        ):
            message = await heard(connection)
            assert message is not None
            told += job in [j["id"] for j in message.get("jobs", [])]
        assert told < 80
