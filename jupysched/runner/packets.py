"""Messages inside the job's stdout pipe, so that a display stands exactly where it was made between printed lines.

Knows the bytes of a packet. Must not know what a message says. A packet is written by one `write` of at most PIPE_BUF
bytes, which a pipe never mixes with another writer's; a larger message travels as several packets. There is no second
pipe to wait for, none that a forked child could tear, and a child that dies in the middle costs only its own message.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

#: POSIX would allow 512; on Linux a pipe takes 4096 bytes at once.
PACKET_BYTES = 4096
NONCE_BYTES = 16
#: The kind of the job's last word, in full. It is for the shim and never a frame.
LAST_WORD = 255
#: process, number of the message in it, kind, is this the last part, bytes that follow
_HEAD = struct.Struct("<IIBBH")
HEAD_BYTES = NONCE_BYTES + _HEAD.size
PART_BYTES = PACKET_BYTES - HEAD_BYTES


class Message(NamedTuple):
    """A whole message: its frame kind and its bytes."""

    kind: int
    payload: bytes


def new_nonce() -> bytes:
    """Return the word that begins every packet of one job; no output contains it but by intent."""
    return b"\x1e\x00js" + os.urandom(NONCE_BYTES - 4)


def split(nonce: bytes, number: int, kind: int, payload: bytes) -> Iterator[bytes]:
    """Yield the packets of one message of this process, in the order in which they must be written."""
    pid, size = os.getpid(), len(payload)
    for at in range(0, max(size, 1), PART_BYTES):
        part = payload[at : at + PART_BYTES]
        yield nonce + _HEAD.pack(pid, number & 0xFFFFFFFF, kind, at + PART_BYTES >= size, len(part)) + part


class Joiner:
    """Takes what came out of the pipe; gives back text and whole messages in their order."""

    def __init__(self, nonce: bytes) -> None:
        self._nonce = nonce
        self._rest = b""
        self._parts: dict[tuple[int, int], list[bytes]] = {}

    def feed(self, data: bytes) -> list[bytes | Message]:
        """Return the text and messages that are whole by now."""
        data = self._rest + data if self._rest else data
        found: list[bytes | Message] = []
        at = 0
        while (begin := data.find(self._nonce, at)) >= 0:
            if begin > at:
                found.append(data[at:begin])
            body = begin + HEAD_BYTES
            if len(data) < body:
                self._rest = data[begin:]
                return found
            pid, number, kind, last, size = _HEAD.unpack_from(data, begin + NONCE_BYTES)
            if len(data) < body + size:
                self._rest = data[begin:]
                return found
            parts = self._parts.setdefault((pid, number), [])
            parts.append(data[body : body + size])
            if last:
                found.append(Message(kind, b"".join(self._parts.pop((pid, number)))))
            at = body + size
        keep = self._begun(data, at)
        if len(data) - keep > at:
            found.append(data[at : len(data) - keep])
        self._rest = data[len(data) - keep :] if keep else b""
        return found

    def _begun(self, data: bytes, at: int) -> int:
        """Return how many bytes at the end may be the beginning of a packet."""
        first = data.find(self._nonce[:1], max(at, len(data) - NONCE_BYTES + 1))
        while first >= 0:
            if self._nonce.startswith(data[first:]):
                return len(data) - first
            first = data.find(self._nonce[:1], first + 1)
        return 0

    def flush(self) -> bytes:
        """Return what was held back and will not be completed; a message that was cut short is dropped."""
        rest, self._rest = self._rest, b""
        return b"" if rest.startswith(self._nonce) else rest

    @property
    def torn(self) -> int:
        """Messages begun and never ended; they died with their process."""
        return len(self._parts)
