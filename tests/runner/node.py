"""A node for tests: a real launcher in a folder of its own, jobs for it, and a reader of what they say."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupysched import spool
from jupysched.namespace import ObjectStore
from jupysched.namespace.land import land
from jupysched.namespace.pack import Packed, pack_inputs
from jupysched.spool import Frame, Kind
from tests.waiting import eventually

ROOT = Path(__file__).parents[2]
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class Node:
    """One launcher and the jobs it was asked to start."""

    def __init__(self, *, before: Callable[[], None] | None = None) -> None:
        # /tmp itself: a socket's path has 107 bytes, and pytest's folders are long.
        self.home = Path(tempfile.mkdtemp(prefix="jr-"))
        self.work = self.home / "work"
        self.work.mkdir()
        self.run_dir = self.home / "run"
        self.store = ObjectStore(self.home / "objects")
        self.sent: list[Any] = []
        self._before = before
        self._connection: socket.socket | None = None
        self.launcher = self.start_launcher()

    def start_launcher(self) -> subprocess.Popen[bytes]:
        """Start the launcher and return it when it answers."""
        self.launcher = subprocess.Popen(
            [sys.executable, "-m", "jupysched.runner.launcher", "--run-dir", str(self.run_dir)],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, preexec_fn=self._before,  # noqa: PLW1509
        )  # fmt: skip
        eventually(lambda: self.ask(op="ping")["pid"] == self.launcher.pid, what="the launcher answers")
        return self.launcher

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the launcher's answer."""
        if self._connection is None:
            self._connection = socket.socket(socket.AF_UNIX)
            try:
                self._connection.connect(str(self.run_dir / "launcher.sock"))
            except OSError:
                self.forget()
                raise
        try:
            self._connection.sendall(json.dumps(request).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                part = self._connection.recv(1 << 16)
                assert part, "the launcher is gone"
                line += part
        except BaseException:
            self.forget()
            raise
        answer: dict[str, Any] = json.loads(line)
        return answer

    def forget(self) -> None:
        """Close the connection; the next question makes another."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def job(self, cell: str, names: dict[str, Any] | None = None, **launch: Any) -> Job:
        """Return a job that is not started: `names` are the notebook's variables."""
        return Job(self, cell, names or {}, launch)

    def run(self, cell: str, names: dict[str, Any] | None = None, **launch: Any) -> Job:
        """Return a job that has ended."""
        job = self.job(cell, names, **launch)
        assert job.start() == {"ok": True, "answer": "started", **job.pids()}
        job.follow()
        return job

    def close(self) -> None:
        """End the launcher and everything that still lives here."""
        self.forget()
        with contextlib.suppress(ProcessLookupError):
            self.launcher.send_signal(signal.SIGTERM)
        self.launcher.wait(10)
        for shim in self.home.glob("jobs/*/a*/shim.json"):
            known = json.loads(shim.read_text())
            if spool.process_start(known["pid"]) == known["start"]:
                os.kill(known["pid"], signal.SIGKILL)
        shutil.rmtree(self.home, ignore_errors=True)


class Job:
    """One job of a node."""

    def __init__(self, node: Node, cell: str, names: dict[str, Any], launch: dict[str, Any]) -> None:
        self.node = node
        self.names = names
        self.directory = node.home / "jobs" / uuid.uuid4().hex
        self.directory.mkdir(parents=True)
        self.frames: list[Frame] = []
        described = {
            "executable": sys.executable, "prefix": sys.prefix, "cwd": str(node.work),
            "env": {**os.environ, "PYTHONPATH": str(ROOT)}, "sys_path": ["", *sys.path], "umask": 0o022, "argv": ["kernel"],
            "preload": [], "cell": cell, "cell_name": "/tmp/ipykernel_1/5.py", "execution_count": 5,
            "interactivity": "last_expr", "allow_stdin": False, "matplotlib_inline": True,
            "objects": str(node.store.folder), "out_names": None, "name": "test", **launch,
        }  # fmt: skip
        # As in a notebook that sends one cell after the other: none of them has landed when the next one goes.
        self.packed: Packed = pack_inputs(cell, names, objects=node.store, transform=_python_only, rivals=node.sent)
        node.sent.append(self.packed.sent)
        self.packed.write(self.directory / spool.INPUT)
        (self.directory / spool.LAUNCH).write_text(json.dumps(described))

    # --- asking ----------------------------------------------------------------------------------------------------

    def start(self, attempt: int = 1, **order: Any) -> dict[str, Any]:
        """Return the launcher's answer to a start order."""
        return self.node.ask(op="start", directory=str(self.directory), attempt=attempt, job="j", **order)

    def connect(self) -> socket.socket:
        """Return a connection to the shim."""
        return spool.connect_control(str(self.path()))

    def tell(self, **request: Any) -> None:
        """Send the shim one request."""
        with self.connect() as connection:
            connection.sendall(json.dumps(request).encode() + b"\n")

    def follow(self, offset: int = 0) -> list[Frame]:
        """Read to the end, live where the shim still lives; return the frames."""
        parts = []
        try:
            with self.connect() as connection:
                connection.settimeout(60)
                connection.sendall(json.dumps({"op": "read", "from": offset}).encode() + b"\n")
                while part := connection.recv(1 << 20):
                    parts.append(part)
            self.frames = spool.unpack_frames(b"".join(parts), offset)
        except OSError:
            eventually(lambda: self.exit, what="the exit record")
            self.frames = spool.unpack_frames((self.path() / spool.FRAMES).read_bytes()[offset:], offset)
        return self.frames

    def read_until(self, text: str) -> socket.socket:
        """Return a reading connection when `text` has come in."""
        connection = self.connect()
        connection.settimeout(30)
        connection.sendall(b'{"op":"read","from":0}\n')
        data = b""
        while text.encode() not in data:
            part = connection.recv(1 << 20)
            assert part, f"ended without {text!r}: {data!r}"
            data += part
        return connection

    # --- looking ---------------------------------------------------------------------------------------------------

    def path(self, attempt: int = 1) -> Path:
        return self.directory / f"a{attempt}"

    def pids(self) -> dict[str, int]:
        """Return the pids of shim and job."""
        shim = json.loads((self.path() / spool.SHIM).read_text())
        return {"pid": shim["pid"], "job_pid": shim["job_pid"]}

    @property
    def exit(self) -> dict[str, Any] | None:
        return spool.read_json(str(self.path() / spool.EXIT))

    @property
    def end(self) -> dict[str, Any]:
        assert self.exit is not None
        end: dict[str, Any] = self.exit["end"]
        return end

    @property
    def outcome(self) -> str:
        return str(self.end["outcome"])

    @property
    def stdout(self) -> str:
        return self.text(Kind.STDOUT)

    @property
    def stderr(self) -> str:
        return self.text(Kind.STDERR)

    def text(self, kind: Kind) -> str:
        """Return what was written to one stream."""
        return b"".join(frame.payload for frame in self.frames if frame.kind == kind).decode("utf-8", "replace")

    def messages(self, type_: str) -> list[dict[str, Any]]:
        """Return the contents of the messages of this type."""
        found = [json.loads(frame.payload) for frame in self.frames if frame.kind == Kind.MESSAGE]
        return [message["content"] for message in found if message["type"] == type_]

    def sequence(self) -> list[str]:
        """Return text and message types in order, neighbouring text joined."""
        order: list[str] = []
        for frame in self.frames:
            if frame.kind == Kind.STDOUT:
                text = frame.payload.decode()
                if order and order[-1].startswith("text:"):
                    order[-1] += text
                else:
                    order.append("text:" + text)
            elif frame.kind == Kind.MESSAGE:
                order.append(json.loads(frame.payload)["type"])
        return order

    def error_text(self) -> str:
        """Return the traceback without colours."""
        return ANSI.sub("", "\n".join(self.end["traceback"]))

    def landed(self) -> dict[str, Any]:
        """Return the notebook's variables with what the job brought back."""
        land(self.path() / spool.RESULT, self.names, self.packed.sent, self.node.store)
        return self.names


def _python_only(cell: str) -> str:
    """Return the cell as Python, as a kernel would transform it."""
    from IPython.core.inputtransformer2 import TransformerManager

    return TransformerManager().transform_cell(cell)


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    return spool.process_start(pid) is not None
