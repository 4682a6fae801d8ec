"""Reading one attempt's frames, from the shim while it lives and from the file when not. Knows bytes; knows no messages."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Callable

from jupysched import spool

READ_BYTES = 1 << 18
#: how long to wait before the next try to reach a shim: it binds its socket milliseconds after the grant
_FIRST_S, _MOST_S = 0.001, 0.25
_FIRST_TRIES = 20
SILENT_S = 3.0

Take = Callable[[list[spool.Frame]], None]


class Joined:
    """Bytes in, whole frames out. Knows at which offset of the file it stands."""

    def __init__(self, offset: int = 0) -> None:
        #: where the next frame begins in the file
        self.offset = offset
        self._rest = bytearray()
        self._need = 0

    def feed(self, chunk: bytes) -> list[spool.Frame]:
        """The frames that are whole now."""
        self._rest += chunk
        if len(self._rest) < self._need:
            return []
        with memoryview(self._rest) as view:
            frames = spool.unpack_frames(view, self.offset)
        if frames:
            used = frames[-1].end - self.offset
            self.offset = frames[-1].end
            del self._rest[:used]
        # A frame of 50 MB arrives in pieces; it is looked at once, when it is whole.
        size = spool.HEADER.size
        self._need = size + spool.HEADER.unpack_from(self._rest)[0] if len(self._rest) >= size else size
        return frames

    def forget_torn(self) -> None:
        """What was cut off is read again."""
        self._rest.clear()
        self._need = 0


async def follow(path: str, take: Take, *, is_over: Callable[[], bool], changed: asyncio.Event, offset: int = 0) -> int:
    """Hand every frame of the attempt in `path` to `take`, once and in order; return the offset of the end.

    Ends when the shim has written its last word, or when `is_over` says that nothing more will come. `changed` is set when
    `is_over` may answer anew, and cuts the waiting short."""
    joined = Joined(offset)
    pause, tries = _FIRST_S, 0
    while True:
        changed.clear()
        last_word = _has_last_word(path) or is_over()
        if not last_word and await _from_shim(path, joined, take, is_over):
            pause, tries = _FIRST_S, 0
            joined.forget_torn()
            continue
        _from_file(path, joined, take)
        if last_word:
            return joined.offset
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), pause)
        tries += 1
        if tries > _FIRST_TRIES:
            pause = min(pause * 1.5, _MOST_S)


def _has_last_word(path: str) -> bool:
    return os.path.exists(os.path.join(path, spool.EXIT))


async def _from_shim(path: str, joined: Joined, take: Take, is_over: Callable[[], bool]) -> bool:
    """Was the shim reached? If so, all it had to say has been taken."""
    try:
        connection = spool.connect_control(path)
    except OSError:
        return False
    connection.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=connection, limit=READ_BYTES * 4)
    came = False
    try:
        writer.write(json.dumps({"op": "read", "from": joined.offset}).encode() + b"\n")
        while chunk := await _next(reader, is_over):
            came = True
            if frames := joined.feed(chunk):
                take(frames)
    except OSError:
        pass
    finally:
        writer.close()
    return came


async def _next(reader: asyncio.StreamReader, is_over: Callable[[], bool]) -> bytes:
    """What comes next; nothing at the end, and from a shim that is silent though its attempt is over."""
    while True:
        try:
            async with asyncio.timeout(SILENT_S):
                return await reader.read(READ_BYTES * 4)
        except TimeoutError:
            if is_over():
                return b""


def _from_file(path: str, joined: Joined, take: Take) -> None:
    joined.forget_torn()
    while frames := spool.read_frames(os.path.join(path, spool.FRAMES), joined.offset):
        joined.offset = frames[-1].end
        take(frames)


def all_frames(directory: str, attempt: int) -> list[spool.Frame]:
    """Every frame that lies in an attempt's directory now."""
    found: list[spool.Frame] = []
    joined = Joined()
    _from_file(spool.attempt_path(directory, attempt), joined, found.extend)
    return found
