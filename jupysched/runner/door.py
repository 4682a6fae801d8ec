"""The launcher's door: connections on its socket, one JSON object a line each way.

Knows bytes and lines. Must not know what a request means: a table of operations is handed in.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
from collections.abc import Callable, Mapping
from typing import Any

Reply = Callable[[dict[str, Any]], None]
Operation = Callable[[dict[str, Any], Reply], None]


# No dataclasses in the launcher: they load `inspect`, a third of what it would weigh.
class Client:
    """One connection."""

    __slots__ = ("connection", "incoming", "outgoing")

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.incoming = b""
        self.outgoing = bytearray()


class Door:
    """The listening socket and who came in."""

    def __init__(self, path: str, selector: selectors.BaseSelector, operations: Mapping[str, Operation]) -> None:
        """Listen at `path`. Writes: the socket, in place of one that a dead launcher left."""
        self.path = path
        self.clients: set[Client] = set()
        self._selector = selector
        self._operations = operations
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        here = os.getcwd()
        os.chdir(os.path.dirname(path))  # the path may be longer than a socket's may
        self._listener.bind(os.path.basename(path))
        os.chdir(here)
        os.chmod(path, 0o600)
        self._listener.listen(64)
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        self._listener.close()
        for client in list(self.clients):
            self._leave(client)

    def _accept(self, mask: int) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        connection.setblocking(False)
        client = Client(connection)
        self.clients.add(client)
        self._selector.register(connection, selectors.EVENT_READ, lambda mask: self._talk(client, mask))

    def _talk(self, client: Client, mask: int) -> None:
        if mask & selectors.EVENT_WRITE:
            self._send(client)
        if not mask & selectors.EVENT_READ:
            return
        try:
            data = client.connection.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._leave(client)
            return
        *lines, client.incoming = (client.incoming + data).split(b"\n")
        for line in lines:
            self._obey(client, line)

    def _send(self, client: Client) -> None:
        if client not in self.clients:
            return
        try:
            while client.outgoing:
                del client.outgoing[: client.connection.send(client.outgoing)]
        except BlockingIOError:
            pass
        except OSError:
            self._leave(client)
            return
        mask = selectors.EVENT_READ | (selectors.EVENT_WRITE if client.outgoing else 0)
        key = self._selector.get_key(client.connection)
        if key.events != mask:
            self._selector.modify(client.connection, mask, key.data)

    def _leave(self, client: Client) -> None:
        if client in self.clients:
            self.clients.discard(client)
            self._selector.unregister(client.connection)
            client.connection.close()

    def _obey(self, client: Client, line: bytes) -> None:
        request: dict[str, Any] = {}

        def reply(answer: dict[str, Any]) -> None:
            if "id" in request:
                answer = {"id": request["id"], **answer}
            client.outgoing += json.dumps(answer).encode() + b"\n"
            self._send(client)

        try:
            request = json.loads(line)
            self._operations[request["op"]](request, reply)
        except (ValueError, KeyError, TypeError) as error:
            reply({"ok": False, "error": f"not understood: {type(error).__name__}: {error}"})
        except OSError as error:
            reply({"ok": False, "error": f"{error.strerror or error}"})
