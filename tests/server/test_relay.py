"""What wakes the pages, and when: readings of GPUs wait for each other, and nothing waits for readings."""

import asyncio
import logging
import os
from pathlib import Path

import pytest

from jupysched.adapters.local_users import LocalUsers
from jupysched.server import relay as relay_module
from jupysched.server.relay import Relay
from jupysched.wire.messages import Push
from jupysched.wire.records import GpuRecord


def reading(seq: int, percent: float) -> Push:
    gpu = GpuRecord(id="G", node="n", index=0, label="GPU 0", name="H", kind="gpu", utilization_percent=percent)
    return Push(seq=seq, gpus=[gpu])


@pytest.fixture
async def relay(home: Path) -> Relay:
    return Relay(log=logging.getLogger("test"))


async def test_readings_alone_are_told_together_and_none_is_forgotten(relay: Relay, monkeypatch) -> None:
    monkeypatch.setattr(relay_module, "READINGS_S", 0.05)
    woken = relay.subscribe()
    relay._take(reading(1, 10.0))
    relay._take(reading(2, 20.0))
    assert not woken.is_set()
    await asyncio.wait_for(woken.wait(), 20)
    assert relay.picture.gpus[0].utilization_percent == 20.0

    woken.clear()
    relay._take(reading(3, 30.0))
    await asyncio.wait_for(woken.wait(), 20)
    await relay.close()


async def test_news_of_jobs_takes_the_readings_along_at_once(relay: Relay) -> None:
    woken = relay.subscribe()
    relay._take(reading(1, 10.0))
    assert not woken.is_set()
    relay._take(Push(seq=2, forgotten=[7]))
    assert woken.is_set()
    await relay.close()


def test_whose_server_it_is_is_said_in_the_daemons_words_whatever_the_environment_says(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers run as users without a name, and `su` may leave another one behind; neither keeps the extension from loading."""
    nameless = 77_777
    monkeypatch.setenv("LOGNAME", "somebody")
    monkeypatch.setattr(os, "getuid", lambda: nameless)
    assert Relay(log=logging.getLogger("test")).picture.me == LocalUsers().user_name(nameless)
