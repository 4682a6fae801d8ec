"""The way to the node's launcher. Knows its socket, its protocol and how it is started; knows nothing of GPUs.

Requests are answered through a callback. A launcher that went away is started again, and whatever it had not answered is
sent once more: a start order is idempotent by the attempt's directory, so sending it twice is safe.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Answer = Mapping[str, Any]
OnAnswer = Callable[[Answer], None]

SOCKET = "launcher.sock"
LOG = "launcher.log"
#: how long to try before a request is answered "unreachable"
PATIENCE_S = 20.0
#: a launcher that was started is given so long to listen before another one is
START_PATIENCE_S = 5.0
#: What a launcher inherits. A job's environment comes from its notebook; a Dask worker's (thread limits, library paths, a list
#: of GPUs) must never leak into one.
INHERITED = (
    "HOME",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "PYTHONPATH",
    "SHELL",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
    "JUPYSCHED_HOME",
)


def start_launcher(run_dir: str) -> int:
    """Start the node's launcher in a session of its own, so that it outlives us; return its pid.

    Writes: launcher.log. With posix_spawn, as a fork of a daemon with threads is slow and unsafe."""
    root = str(Path(__file__).resolve().parents[2])
    env = {name: os.environ[name] for name in INHERITED if name in os.environ}
    if root not in env.get("PYTHONPATH", "").split(os.pathsep) and Path(root).name != "site-packages":
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (root, env.get("PYTHONPATH"))))
    log = os.path.join(run_dir, LOG)
    affinity = os.sched_getaffinity(0)
    # dask-cuda pins a worker to the CPUs near its GPU; a launcher serves every GPU of the node.
    os.sched_setaffinity(0, range(os.cpu_count() or 1))
    try:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "jupysched.runner.launcher", "--run-dir", run_dir],
            env,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
        )
    finally:
        os.sched_setaffinity(0, affinity)


class LauncherClient:
    """One connection to the launcher, made again as often as it breaks."""

    def __init__(
        self, run_dir: str, *, start: Callable[[str], int] = start_launcher, patience_s: float = PATIENCE_S
    ) -> None:
        self._run_dir = run_dir
        self._start_process = start
        self._patience_s = patience_s
        self._socket: socket.socket | None = None
        self._waiting: dict[int, tuple[bytes, OnAnswer]] = {}
        self._next = 1
        self._unsent = bytearray()
        self._received = bytearray()
        self._reaching: asyncio.Task[None] | None = None
        self._child: int | None = None
        self._closed = False

    async def start(self) -> bool:
        """Connect, starting the launcher where there is none; return whether it is there."""
        self._reach()
        if self._reaching is not None:
            await self._reaching
        return self._socket is not None

    def request(self, message: Mapping[str, Any], answered: OnAnswer) -> None:
        """Send a request now, or as soon as the launcher is there. `answered` is called exactly once, unless we are closed."""
        number, self._next = self._next, self._next + 1
        data = json.dumps({**message, "id": number}, separators=(",", ":")).encode() + b"\n"
        self._waiting[number] = (data, answered)
        if self._socket is not None:
            self._send(data)
        else:
            self._reach()

    async def close(self) -> None:
        """Let go of the launcher; it goes on."""
        self._closed = True
        if self._reaching is not None:
            self._reaching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reaching
        self._disconnect()
        self._reap()

    # --- the connection ------------------------------------------------------------------------------------------------

    def _send(self, data: bytes) -> None:
        if self._socket is None:
            return
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._socket.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._lost()
            return
        if sent < len(data):
            self._unsent += data[sent:]
            asyncio.get_running_loop().add_writer(self._socket, self._send_rest)

    def _send_rest(self) -> None:
        if self._socket is None:
            return
        try:
            sent = self._socket.send(self._unsent)
        except BlockingIOError:
            return
        except OSError:
            self._lost()
            return
        del self._unsent[:sent]
        if not self._unsent:
            asyncio.get_running_loop().remove_writer(self._socket)

    def _readable(self) -> None:
        if self._socket is None:
            return
        try:
            data = self._socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost()
            return
        self._received += data
        while (end := self._received.find(b"\n")) >= 0:
            line = bytes(self._received[:end])
            del self._received[: end + 1]
            self._answered(json.loads(line))

    def _answered(self, answer: Answer) -> None:
        # A launcher that does not name the request answers in order.
        number = answer.get("id", next(iter(self._waiting), None))
        waiting = self._waiting.pop(number, None)
        if waiting is not None:
            waiting[1](answer)

    def _lost(self) -> None:
        self._disconnect()
        if self._waiting:
            self._reach()

    def _disconnect(self) -> None:
        if self._socket is not None:
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._socket)
            loop.remove_writer(self._socket)
            self._socket.close()
            self._socket = None
        self._unsent.clear()
        self._received.clear()

    # --- reaching it ---------------------------------------------------------------------------------------------------

    def _reach(self) -> None:
        if self._socket is None and self._reaching is None and not self._closed and not self._connect():
            self._reaching = asyncio.get_running_loop().create_task(self._keep_trying(), name="reach the launcher")
            self._reaching.add_done_callback(self._stopped_trying)

    def _connect(self) -> bool:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            by_folder(self._run_dir, SOCKET, connection.connect)
        except OSError:
            connection.close()
            return False
        self._socket = connection
        asyncio.get_running_loop().add_reader(connection, self._readable)
        for data, _ in tuple(self._waiting.values()):
            self._send(data)
        return True

    async def _keep_trying(self) -> None:
        loop = asyncio.get_running_loop()
        give_up = loop.time() + self._patience_s
        started: float | None = None
        pause = 0.004
        while not self._connect():
            now = loop.time()
            if now > give_up:
                self._refuse_all()
                return
            self._reap()
            # One that ended at once has found another at work, or cannot start; either way there is no hurry.
            if started is None or now - started > (1.0 if self._child is None else START_PATIENCE_S):
                self._child, started = self._start_process(self._run_dir), now
            # Nothing tells when a socket begins to listen; a look costs less than a watch on the folder.
            await asyncio.sleep(pause)
            pause = min(pause * 1.3, 0.25)

    def _stopped_trying(self, trying: asyncio.Task[None]) -> None:
        self._reaching = None
        if not trying.cancelled() and (error := trying.exception()) is not None:
            self._refuse_all(f"The launcher could not be started: {error}.")

    def _refuse_all(self, sentence: str = "") -> None:
        waiting, self._waiting = self._waiting, {}
        answer = {
            "ok": False,
            "unreachable": True,
            "error": sentence or f"The launcher did not start{self._last_words()}.",
        }
        for _, answered in waiting.values():
            answered(answer)

    def _last_words(self) -> str:
        try:
            lines = Path(self._run_dir, LOG).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        except OSError:
            return ""
        return f": {lines[-1]}" if lines else ""

    def _reap(self) -> None:
        if self._child is not None:
            try:
                ended, _ = os.waitpid(self._child, os.WNOHANG)
            except ChildProcessError:
                ended = self._child
            if ended:
                self._child = None


def by_folder(folder: str, name: str, act: Callable[[str], None]) -> None:
    """Bind or connect a socket in `folder`, also where its path is longer than the 108 bytes that a socket's may have."""
    path = os.path.join(folder, name)
    if len(path.encode()) < 100:
        act(path)
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        act(f"/proc/self/fd/{descriptor}/{name}")
    finally:
        os.close(descriptor)
