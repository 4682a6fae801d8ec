"""A daemon of our own in a home of its own, for one benchmark. Ends every process that it started.

Knows the client, the launcher's quit order and where a home keeps its files. Nothing of the user's is touched."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import processes
from jupysched import places, spool
from jupysched.client import Client
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pack import pack_inputs
from jupysched.wire.records import JobRecord
from jupysched.wire.requests import SpecRecord

ROOT = Path(__file__).parents[1]
LIVE = ("pending", "held", "starting", "running", "stopping", "suspended")


class Stage:
    """A fresh home; the daemon starts with the first call. A context: the environment is put back at its end."""

    def __init__(self, *, slots: int | None = 2, more: dict[str, str] | None = None) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="jupysched-bench-"))
        self._environment = {
            "JUPYSCHED_HOME": str(self.home), "IPYTHONDIR": str(self.home / "ipython"), "PYTHONPATH": str(ROOT),
            **({} if slots is None else {"JUPYSCHED_CPU_SLOTS": str(slots)}), **(more or {}),
        }  # fmt: skip
        self._before: dict[str, str | None] = {}
        self._client: Client | None = None
        self._empty: bytes | None = None

    def __enter__(self) -> Stage:
        taken = [*self._environment, "JUPYSCHED_SOCKET", "JUPYSCHED_CPU_SLOTS"]
        self._before = {name: os.environ.get(name) for name in taken}
        for name in taken:
            os.environ.pop(name, None)
        os.environ.update(self._environment)
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.stop()
        finally:
            for name, value in self._before.items():
                os.environ.pop(name, None) if value is None else os.environ.update({name: value})
            shutil.rmtree(self.home, ignore_errors=True)

    # --- what runs -----------------------------------------------------------------------------------------------------

    @property
    def client(self) -> Client:
        """The way to the daemon, which is started by the first call."""
        if self._client is None:
            self._client = Client(timeout_s=120.0)
        return self._client

    def pids(self) -> dict[str, list[int]]:
        """Who of ours runs: daemon (and what it started), launcher, zygotes."""
        found: dict[str, list[int]] = {"daemon": [], "launcher": [], "zygotes": []}
        if (self.home / "api.sock").exists():
            with contextlib.suppress(Exception):
                daemon = self.client.hello().pid
                found["daemon"] = [daemon, *processes.descendants(daemon)]
        if (answer := self.launcher("ping")) is not None:
            found["launcher"] = [answer["pid"]]
            found["zygotes"] = [zygote["pid"] for zygote in answer["zygotes"]]
            below = {answer["pid"], *processes.descendants(answer["pid"])}
            found["daemon"] = [pid for pid in found["daemon"] if pid not in below]
        return found

    def launcher(self, operation: str, **more: Any) -> dict[str, Any] | None:
        """The launcher's answer; None where there is none."""
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        folder = os.open(self.home, os.O_PATH | os.O_DIRECTORY)
        try:
            connection.settimeout(10)
            connection.connect(f"/proc/self/fd/{folder}/run/launcher.sock")
            connection.sendall(json.dumps({"op": operation, **more}).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n") and (part := connection.recv(1 << 16)):
                line += part
            return dict(json.loads(line))
        except (OSError, ValueError):
            return None
        finally:
            os.close(folder)
            connection.close()

    def cpu_s(self) -> float:
        """CPU of all that lasts: daemon, launcher, zygotes."""
        return sum(processes.fine_cpu_s(pid) for pids in self.pids().values() for pid in pids)

    def stop(self) -> None:
        """End daemon, launcher, zygotes and every job; nothing is running afterwards."""
        ours = [pid for pids in self.pids().values() for pid in pids]
        shims = [read["pid"] for path in self.home.glob("jobs/*/a*/shim.json") if (read := spool.read_json(str(path)))]
        living = set(ours) | {pid for pid in shims if spool.process_start(pid) is not None}
        if (self.home / "api.sock").exists():
            with contextlib.suppress(Exception):
                self.client.shutdown()
        if self._client is not None:
            self._client.close()
            self._client = None
        self.launcher("quit")
        for path in self.home.glob("jobs/*/a*"):
            with contextlib.suppress(OSError), spool.connect_control(str(path)) as connection:
                connection.sendall(b'{"op":"stop","grace_s":[0.2,0.2]}\n')
        for pid in processes.wait_gone(living):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        (self.home / "api.sock").unlink(missing_ok=True)

    # --- jobs without a notebook ---------------------------------------------------------------------------------------

    def directory(self, cell: str, *, preload: tuple[str, ...] = ()) -> Path:
        """The files of a job that runs this cell, as the magic would write them; it reads no variables."""
        path = places.new_job_directory()
        if self._empty is None:
            pack_inputs("pass", {"__name__": "__main__"}, objects=ObjectStore(places.objects())).write(
                path / spool.INPUT
            )
            self._empty = (path / spool.INPUT).read_bytes()
        else:
            (path / spool.INPUT).write_bytes(self._empty)
        launch = {
            "executable": sys.executable, "prefix": sys.prefix, "cwd": str(self.home), "env": dict(os.environ),
            "sys_path": sys.path, "umask": 0o77, "argv": [""], "preload": list(preload), "cell": cell,
            "cell_name": "<cell>", "execution_count": 1, "interactivity": "last_expr", "allow_stdin": False,
            "matplotlib_inline": False, "objects": str(places.objects()), "out_names": None, "name": "bench",
        }  # fmt: skip
        spool.write_json(str(path / spool.LAUNCH), launch)
        return path

    def spec(self, cell: str, *, preload: tuple[str, ...] = (), priority: str = "normal") -> SpecRecord:
        """A job ready to be submitted."""
        return SpecRecord(name="bench", directory=str(self.directory(cell, preload=preload)), priority=priority)

    def wait_ended(self, job: int, *, patience_s: float = 60.0) -> JobRecord:
        """The job's record once it has ended."""
        deadline = time.monotonic() + patience_s
        while True:
            record = self.client.job(job)
            if record.state not in LIVE:
                return record
            if time.monotonic() > deadline:
                raise TimeoutError(f"job {job} is {record.state} after {patience_s:g} s: {record.why}")
            time.sleep(0.002)

    def wait_empty(self, *, patience_s: float = 300.0) -> None:
        """Return when nothing waits or runs; asks seldom, so as not to be what is measured."""
        deadline = time.monotonic() + patience_s
        while (daemon := self.client.hello()).running + daemon.pending:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{daemon.pending} jobs wait and {daemon.running} run after {patience_s:g} s")
            time.sleep(0.02)

    def warm(self, *preload: str, patience_s: float = 60.0) -> None:
        """Have a zygote with these modules ready, and a pair that waits."""
        job = self.client.submit(self.spec("pass", preload=preload))[0]
        self.wait_ended(job)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            answer = self.launcher("ping") or {"zygotes": []}
            fitting = [z for z in answer["zygotes"] if set(preload) <= set(z["preload"]) and z["ready"]]
            if fitting:
                self.wait_ended(self.client.submit(self.spec("pass", preload=preload))[0])
                time.sleep(0.2)
                return
            time.sleep(0.02)
        raise TimeoutError(f"no zygote with {preload} came up")
