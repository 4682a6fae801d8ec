"""The datagram socket on which shims tell an agent what happens. Knows sockets and who sent what; knows nothing of attempts.

A datagram may be lost without harm: whoever listens also looks at the attempts' directories.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

from jupysched.adapters.launcher_client import by_folder

#: called with the message and the sender's uid, which the kernel vouches for
OnNotice = Callable[[dict[str, Any], int], None]
MOST_BYTES = 1 << 18
_CREDENTIALS = struct.Struct("3i")


class Notices:
    """Listens at `path` from open() to close()."""

    def __init__(self, folder: str, name: str, noticed: OnNotice) -> None:
        self.path = os.path.join(folder, name)
        self._folder, self._name, self._noticed = folder, name, noticed
        self._socket: socket.socket | None = None

    def open(self) -> None:
        """Take the path over from whoever listened there before. Writes: the socket."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            by_folder(self._folder, self._name, listening.bind)
        except BaseException:
            listening.close()
            raise
        self._socket = listening
        asyncio.get_running_loop().add_reader(listening, self._readable)

    def close(self) -> None:
        """Stop listening; the path stays, so that whoever follows takes it over and shims see a refusal, not a lack."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
            self._socket = None

    def _readable(self) -> None:
        while self._socket is not None:
            try:
                data, extra, _, _ = self._socket.recvmsg(MOST_BYTES, socket.CMSG_SPACE(_CREDENTIALS.size))
            except BlockingIOError:
                return
            uid = _uid_of(extra)
            try:
                message = json.loads(data)
            except ValueError:
                continue
            if isinstance(message, dict) and uid is not None:
                self._noticed(message, uid)


def _uid_of(extra: list[tuple[int, int, bytes]]) -> int | None:
    for level, kind, data in extra:
        if level == socket.SOL_SOCKET and kind == socket.SCM_CREDENTIALS:
            return int(_CREDENTIALS.unpack(data[: _CREDENTIALS.size])[1])
    return None
