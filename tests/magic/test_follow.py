"""Frames are read once and in order, from a living shim, from what a dead one left, and across the change between the two."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched import spool
from jupysched.magic.follow import Joined, all_frames, follow
from jupysched.spool import Frame
from tests.magic.records import out, packed
from tests.magic.shim import TwinShim
from tests.waiting import eventually_async


@dataclass
class Reading:
    """What was read so far."""

    frames: list[Frame] = field(default_factory=list)
    over: bool = False
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def text(self) -> str:
        return "".join(frame.payload.decode() for frame in self.frames)


@asynccontextmanager
async def reading(path: Path) -> AsyncIterator[tuple[Reading, asyncio.Task[int]]]:
    """Follow an attempt meanwhile; it has ended when the block ends."""
    read = Reading()
    following = asyncio.create_task(
        follow(str(path), read.frames.extend, is_over=lambda: read.over, changed=read.changed), name="following"
    )
    yield read, following
    await asyncio.wait_for(following, 10)


async def test_a_living_shim_is_read_as_it_writes(shim: TwinShim) -> None:
    shim.write(out("a"))
    async with reading(shim.path) as (read, _):
        await eventually_async(lambda: read.text == "a")
        shim.write(out("b"))
        await eventually_async(lambda: read.text == "ab")
        shim.end()
    assert read.text == "ab"


async def test_an_attempt_that_ended_is_read_from_its_file(tmp_path: Path) -> None:
    shim = TwinShim(tmp_path / "job", 1, listens=False)
    shim.write(out("a"), out("b"))
    shim.end()
    async with reading(shim.path) as (read, following):
        pass
    assert read.text == "ab"
    assert following.result() == (shim.path / spool.FRAMES).stat().st_size


async def test_an_attempt_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    path = Path(spool.attempt_path(str(tmp_path / "job"), 1))
    async with reading(path) as (read, _):
        await asyncio.sleep(0)
        shim = TwinShim(tmp_path / "job", 1)
        shim.write(out("a"))
        await eventually_async(lambda: read.text == "a")
        shim.end()


async def test_a_shim_that_hangs_up_is_asked_again_from_where_it_was(shim: TwinShim) -> None:
    async with reading(shim.path) as (read, _):
        shim.write(out("a"))
        await eventually_async(lambda: read.text == "a")
        shim.hang_up()
        shim.write(out("b"))
        await eventually_async(lambda: read.text == "ab")
        shim.end()
    assert read.text == "ab"


async def test_a_lost_shim_leaves_what_it_wrote(shim: TwinShim) -> None:
    shim.write(out("a"))
    shim.close()
    async with reading(shim.path) as (read, _):
        await eventually_async(lambda: read.text == "a")
        read.over = True
        read.changed.set()
    assert read.text == "a"


@given(st.lists(st.binary(max_size=20), max_size=8), st.integers(1, 30))
def test_frames_are_the_same_however_the_bytes_arrive(payloads: list[bytes], step: int) -> None:
    data = packed([out(payload) for payload in payloads])
    joined = Joined()
    frames = [frame for start in range(0, len(data), step) for frame in joined.feed(data[start : start + step])]
    assert [frame.payload for frame in frames] == payloads
    assert joined.offset == len(data)


@pytest.mark.parametrize("cut", [1, 5, 13, 14])
def test_a_torn_tail_is_left_alone(tmp_path: Path, cut: int) -> None:
    shim = TwinShim(tmp_path / "job", 1, listens=False)
    shim.write(out("a"))
    with open(shim.path / spool.FRAMES, "ab") as file:
        file.write(packed([out("bcd")])[:cut])
    assert [frame.payload for frame in all_frames(str(shim.directory), 1)] == [b"a"]
