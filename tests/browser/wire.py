"""A wire between a page and its server that can be slow, cut, and dead for a while. Knows bytes; knows nothing of Jupyter."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

from tests.labs import JupyterServer


class Wire:
    """Listens on `port` and passes everything on to the server's. Quick until told otherwise."""

    def __init__(self, to: int) -> None:
        self._to = to
        #: of each direction of each connection; None: as fast as it goes
        self.bytes_a_second: float | None = None
        #: connections are refused
        self.is_dead = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def cut(self) -> int:
        """End every connection, in the middle of whatever it carries. Returns how many there were."""
        with self._lock:
            ends = list(self._open)
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        return len(ends) // 2

    def close(self) -> None:
        """Cut, and listen no more."""
        self.is_dead, self.bytes_a_second = True, None
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                if self.is_dead:
                    raise ConnectionRefusedError
                far = socket.create_connection(("127.0.0.1", self._to))
            except OSError:
                near.close()
                continue
            with self._lock:
                self._open |= {near, far}
            there = threading.Thread(target=self._carry, args=(near, far))
            back = threading.Thread(target=self._carry, args=(far, near))
            over = threading.Thread(target=self._end, args=(near, far, there, back))
            self._threads += [there, back, over]
            for thread in (there, back, over):
                thread.start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while part := source.recv(4096 if self.bytes_a_second is not None else 1 << 16):
                if self.bytes_a_second is not None:
                    time.sleep(len(part) / self.bytes_a_second)
                target.sendall(part)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _end(self, near: socket.socket, far: socket.socket, *carriers: threading.Thread) -> None:
        for carrier in carriers:
            carrier.join()
        with self._lock:
            self._open -= {near, far}
        near.close()
        far.close()


@contextlib.contextmanager
def wire_to(server: JupyterServer) -> Iterator[tuple[Wire, JupyterServer]]:
    """A wire, and the server as it is seen through it."""
    wire = Wire(server.port)
    try:
        yield wire, replace(server, port=wire.port)
    finally:
        wire.close()
