"""The shim's door: connections on ctl.sock, one JSON object a line, and the frames that go back.

Knows the requests. Must not know how they are carried out: stopping and recording do that.
"""

from __future__ import annotations

import json
import os
import select
import socket
from typing import Any

from jupysched import spool
from jupysched.runner.recorder import Reader, Recorder
from jupysched.runner.stopping import Stopping

#: A line longer than this is not a request.
_LINE_BYTES = 1 << 20


class Control:
    """The listening socket and the connections it gave."""

    def __init__(self, recorder: Recorder, stopping: Stopping, orders: int) -> None:
        """Listen on ctl.sock in the current directory."""
        self._recorder = recorder
        self._stopping = stopping
        self._orders = orders
        self._connections: dict[int, socket.socket] = {}
        self._lines: dict[int, bytes] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(spool.CONTROL)
        self._listener.listen(64)
        self._listener.setblocking(False)

    def fileno(self) -> int:
        return self._listener.fileno()

    def accept(self) -> int | None:
        """Take one connection; return its descriptor, or None when it went away."""
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return None
        connection.setblocking(False)
        self._connections[connection.fileno()] = connection
        self._lines[connection.fileno()] = b""
        return connection.fileno()

    def serve(self, fd: int, mask: int) -> bool:
        """Carry out what this connection asks; return False when it is to be dropped."""
        if fd not in self._connections:
            return False
        if not mask & (select.POLLIN | select.POLLHUP | select.POLLERR):
            return True
        try:
            data = self._connections[fd].recv(1 << 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not data:
            return False
        *lines, self._lines[fd] = (self._lines[fd] + data).split(b"\n")
        return all(self._obey(fd, line) for line in lines) and len(self._lines[fd]) < _LINE_BYTES

    def _obey(self, fd: int, line: bytes) -> bool:
        try:
            request: dict[str, Any] = json.loads(line)
            operation = request["op"]
            if operation == "read":
                offset = min(max(int(request.get("from", 0)), 0), self._recorder.size)
                self._recorder.readers[fd] = Reader(self._connections[fd], offset)
            elif operation == "stop":
                grace, nth = request.get("grace_s"), request.get("nth")
                self._stopping.stop(
                    None if grace is None else (float(grace[0]), float(grace[1]), *map(float, grace[2:3])),
                    None if nth is None else int(nth),
                )
            elif operation == "interrupt":
                self._stopping.interrupt()
            elif operation == "input":
                os.write(self._orders, line + b"\n")
            elif operation == "freeze":
                self._stopping.freeze()
            elif operation == "thaw":
                self._stopping.thaw()
            else:
                return False
        except (ValueError, KeyError, TypeError, IndexError, AttributeError):
            return False
        except OSError:
            return True  # the job is ending: there is nobody to tell
        return True

    def drop(self, fd: int) -> None:
        """Close a connection."""
        self._recorder.readers.pop(fd, None)
        self._lines.pop(fd, None)
        if (connection := self._connections.pop(fd, None)) is not None:
            connection.close()

    def drop_all(self) -> None:
        for fd in list(self._connections):
            self.drop(fd)

    def close(self) -> None:
        """Let nobody new in: from here on the exit record answers."""
        self._listener.close()
        try:
            os.unlink(spool.CONTROL)
        except OSError:
            return
