"""A shim that says what a test tells it to. Writes frames as the real one does, and serves them at ctl.sock."""

import json
import os
import socket
import threading
from pathlib import Path
from typing import Any

from jupysched import spool
from jupysched.spool import Frame
from tests.magic.records import packed


class TwinShim:
    """One attempt: its directory, its frames, and the readers connected to it."""

    def __init__(self, directory: Path, attempt: int, *, listens: bool = True) -> None:
        self.directory = directory
        self.path = Path(spool.attempt_path(str(directory), attempt))
        self.path.mkdir(parents=True)
        (self.path / spool.FRAMES).touch()
        self.heard: list[dict[str, Any]] = []
        self._readers: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._thread: threading.Thread | None = None
        if listens:
            self.listen()

    def listen(self) -> None:
        """Serve ctl.sock from now on."""
        fd = os.open(self.path, os.O_RDONLY)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(f"/proc/self/fd/{fd}/{spool.CONTROL}")
        os.close(fd)
        self._listener.listen()
        self._thread = threading.Thread(target=self._accept, name="twin shim")
        self._thread.start()

    def write(self, *frames: Frame) -> None:
        """Append frames, and send them to who reads."""
        data = packed(list(frames))
        with self._lock:
            with open(self.path / spool.FRAMES, "ab") as file:
                file.write(data)
            for reader in self._readers:
                reader.sendall(data)

    def hang_up(self) -> None:
        """Drop the readers in the middle of everything, as a shim that is stopped would."""
        with self._lock:
            readers, self._readers = self._readers, []
        for reader in readers:
            reader.close()

    def end(self, **end: Any) -> None:
        """The last words: the job's and the shim's."""
        spool.write_json(str(self.path / spool.END), {"outcome": "ok", "returned": [], "notes": [], **end})
        spool.write_json(str(self.path / spool.EXIT), {"code": 0, "signal": None, "end": None})
        self.close()

    def close(self) -> None:
        """Be gone."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.shutdown(socket.SHUT_RDWR)
            listener.close()
            (self.path / spool.CONTROL).unlink(missing_ok=True)
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self.hang_up()

    def _accept(self) -> None:
        listener = self._listener
        while listener is not None:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection.makefile("rb") as lines:
                request = json.loads(lines.readline())
            self.heard.append(request)
            if request["op"] != "read":
                connection.close()
                continue
            with self._lock:
                connection.sendall((self.path / spool.FRAMES).read_bytes()[request["from"] :])
                self._readers.append(connection)
