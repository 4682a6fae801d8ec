"""Bytes between two processes: length-prefixed messages over a unix socket. Knows nothing of jobs."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
from collections.abc import Callable
from pathlib import Path

HEADER = struct.Struct(">I")
#: a submission is small (payloads stay in files); more than this is a mistake or an attack
MOST_BYTES = 64 * 1024 * 1024


class TooLarge(Exception):
    """A message is larger than MOST_BYTES."""


def frame(body: bytes) -> bytes:
    """The message as it travels."""
    return HEADER.pack(len(body)) + body


def peer(sock: socket.socket) -> tuple[int, int]:
    """(pid, uid) of who is at the other end, as the system vouches for it (SO_PEERCRED)."""
    raw = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _gid = struct.unpack("3i", raw)
    return pid, uid


class Splitter:
    """Cuts a stream of bytes into messages. No input or output of its own."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The messages that are whole now. Raises TooLarge."""
        self._buffer += chunk
        found: list[bytes] = []
        start = 0
        while len(self._buffer) - start >= HEADER.size:
            (length,) = HEADER.unpack_from(self._buffer, start)
            if length > MOST_BYTES:
                raise TooLarge(f"a message of {length} bytes; at most {MOST_BYTES} are taken")
            end = start + HEADER.size + length
            if len(self._buffer) < end:
                break
            found.append(bytes(self._buffer[start + HEADER.size : end]))
            start = end
        del self._buffer[:start]
        return found


def short_path(path: Path) -> tuple[str, int]:
    """(a name of at most 108 bytes that reaches the socket, a directory fd to close afterwards)."""
    fd = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    return f"/proc/self/fd/{fd}/{path.name}", fd


class Connection:
    """A blocking connection. One thread at a time."""

    def __init__(self, path: Path, *, timeout_s: float | None = None) -> None:
        """Raises OSError if nobody listens."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(timeout_s)
        self._splitter = Splitter()
        self._ready: list[bytes] = []
        name, fd = short_path(path)
        try:
            self._socket.connect(name)
        except OSError:
            self._socket.close()
            raise
        finally:
            os.close(fd)

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno()

    def send(self, body: bytes) -> None:
        """Raises OSError if the other end is gone."""
        self._socket.sendall(frame(body))

    def receive(self) -> bytes:
        """The next message. Raises ConnectionError at the end, TimeoutError after timeout_s."""
        while not self._ready:
            chunk = self._socket.recv(1 << 18)
            if not chunk:
                raise ConnectionError("the other end closed the connection")
            self._ready = self._splitter.feed(chunk)
        return self._ready.pop(0)

    def close(self) -> None:
        """Say goodbye."""
        self._socket.close()


class Channel(asyncio.Protocol):
    """One asyncio connection: calls back with whole messages."""

    def __init__(
        self, *, received: Callable[[Channel, bytes], None], lost: Callable[[Channel], None] | None = None
    ) -> None:
        self._received = received
        self._lost = lost
        self._splitter = Splitter()
        self.transport: asyncio.Transport | None = None
        self.pid = -1
        self.uid = -1

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.pid, self.uid = peer(transport.get_extra_info("socket"))

    def data_received(self, data: bytes) -> None:
        try:
            messages = self._splitter.feed(data)
        except TooLarge:
            if self.transport is not None:
                self.transport.abort()
            return
        for message in messages:
            self._received(self, message)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        if self._lost is not None:
            self._lost(self)

    def send(self, body: bytes) -> None:
        """Queue a message; a closed channel takes it silently, `lost` has said so."""
        if self.transport is not None:
            self.transport.write(frame(body))

    def backlog(self) -> int:
        """Bytes that the other end has not taken yet."""
        return self.transport.get_write_buffer_size() if self.transport is not None else 0

    def close(self) -> None:
        """Flush and close."""
        if self.transport is not None:
            self.transport.close()


async def connect(path: Path, channel: Channel) -> None:
    """Raises OSError if nobody listens."""
    name, fd = short_path(path)
    try:
        await asyncio.get_running_loop().create_unix_connection(lambda: channel, name)
    finally:
        os.close(fd)


async def serve(path: Path, make: Callable[[], Channel], *, mode: int) -> asyncio.Server:
    """Listen on a unix socket that replaces any file of this name."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.setblocking(False)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)
    name, fd = short_path(temporary)
    try:
        listener.bind(name)
        os.chmod(temporary, mode)
        listener.listen(256)
        os.rename(temporary, path)
    finally:
        os.close(fd)
    return await asyncio.get_running_loop().create_unix_server(make, sock=listener)
