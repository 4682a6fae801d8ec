"""The frames of one attempt: written once, in order, and sent on to whoever reads along.

Knows the frames file and its readers' offsets. Must not know what the bytes mean. A reader is always fed from the
file, never from memory: one that sleeps costs an offset, and the job never waits for it.
"""

from __future__ import annotations

import errno
import os
import socket
import time

from jupysched import spool
from jupysched.runner.gauge import Gauge
from jupysched.spool import HEADER, Kind

#: Bytes handed to one reader before the others get their turn.
_TURN_BYTES = 1 << 20
#: What a reader's socket may say that means "later".
_LATER = (errno.EAGAIN, errno.EWOULDBLOCK, errno.EINTR)


class Recorder:
    """Appends frames and remembers what it could not keep."""

    def __init__(self, path: str, *, limit: int = spool.SPOOL_LIMIT_BYTES) -> None:
        self._file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._limit = limit
        self.size = 0
        self.over_limit = 0
        self.unwritten = 0
        self._said_full = False
        self.gauge = Gauge()
        self.readers: dict[int, Reader] = {}
        # Durations must not jump with the wall clock: it is read once, then the monotonic clock carries it on.
        self._epoch = time.time() - time.monotonic()

    def now(self) -> float:
        """Return the time as it would be had nobody set the clock."""
        return self._epoch + time.monotonic()

    def record(self, kind: int, payload: bytes) -> None:
        """Append one frame, or count it where limit or disk forbid."""
        if not payload:
            return
        if kind == Kind.METRICS:
            self.gauge.take(payload)
        elif kind in (Kind.STDOUT, Kind.STDERR):
            self.gauge.read(payload)
        if self.size > self._limit and kind in (Kind.STDOUT, Kind.STDERR):
            if not self.over_limit:
                self._append(Kind.NOTE, _note(f"Output past {self._limit:,} bytes is counted but not kept."))
            self.over_limit += len(payload)
            return
        if self._append(kind, payload):
            if self.unwritten and not self._said_full:
                self._said_full = self._append(Kind.NOTE, _note(self.disk_sentence()))
        else:
            self.unwritten += len(payload)
            self._said_full = False

    def _append(self, kind: int, payload: bytes) -> bool:
        frame = HEADER.pack(len(payload), kind, self.now()) + payload
        try:
            written = os.write(self._file, frame)
            if written != len(frame):
                # A short write is a full disk: what stands must end in a whole frame.
                os.ftruncate(self._file, self.size)
                return False
        except OSError:
            return False
        self.size += written
        return True

    def disk_sentence(self) -> str:
        """Return what to tell whoever misses output that the disk did not take."""
        return f"{self.unwritten:,} bytes of output were not kept: the disk was full."

    def notes(self) -> list[str]:
        """Return sentences for the exit record."""
        notes = []
        if self.over_limit:
            notes.append(f"{self.over_limit:,} bytes of output past the limit of {self._limit:,} were not kept.")
        if self.unwritten:
            notes.append(self.disk_sentence())
        return notes

    def push(self) -> list[Reader]:
        """Send every reader what it has not seen; return those whose connection is gone."""
        gone = []
        for reader in self.readers.values():
            if not reader.feed(self._file, self.size):
                gone.append(reader)
        return gone

    def close(self) -> None:
        os.close(self._file)


class Reader:
    """One connection that reads along, and how far it is."""

    __slots__ = ("connection", "offset", "waits")

    def __init__(self, connection: socket.socket, offset: int) -> None:
        self.connection = connection
        self.offset = offset
        #: its socket is full; it is fed again when it can take more
        self.waits = False

    def feed(self, file: int, size: int) -> bool:
        """Send up to `size`; return False when the connection is gone."""
        self.waits = False
        turn = min(size, self.offset + _TURN_BYTES)
        while self.offset < turn:
            try:
                sent = os.sendfile(self.connection.fileno(), file, self.offset, turn - self.offset)
            except OSError as error:
                if error.errno not in _LATER:
                    return False
                self.waits = True
                return True
            if sent == 0:
                return False
            self.offset += sent
        self.waits = self.offset < size
        return True


def _note(text: str) -> bytes:
    import json

    return json.dumps({"text": text}).encode()
