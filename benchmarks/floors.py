"""What nothing of ours can be quicker than: bare forks, copies in memory, writes to disk, commits. Knows no jupysched."""

from __future__ import annotations

import mmap
import os
import pickle
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import processes

#: larger pieces are much slower on ext4; see jupysched.namespace.objects
BLOCK_BYTES = 512 << 10


class Forks:
    """A process that forks for each piece of code; see `forked`."""

    def __init__(self, *modules: str, ahead: bool = False) -> None:
        self._orders, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.forked", str(theirs.fileno()), "1" if ahead else "0", *modules],
                pass_fds=[theirs.fileno()], cwd=Path(__file__).parents[1],
            )  # fmt: skip
        if self._orders.recv(16) != b"ready":
            raise RuntimeError("the floor's process did not come up")
        time.sleep(0.05)

    def begin(self, code: str) -> int:
        """Send the code; return the end of a pipe from which its output can be read."""
        read_end, write_end = os.pipe()
        socket.send_fds(self._orders, [pickle.dumps((code, {}, ()), protocol=5)], [write_end, write_end])
        os.close(write_end)
        return read_end

    def first_output_s(self, code: str) -> float:
        """From sending the code to its first byte of output."""
        began = time.perf_counter()
        output = self.begin(code)
        with os.fdopen(output, "rb", buffering=0) as file:
            file.read(1)
            took = time.perf_counter() - began
            file.read()
        return took

    def round_trip_s(self, code: str, values: dict[str, Any], names: Sequence[str]) -> tuple[float, dict[str, Any]]:
        """From packing the values to holding the ones that came back."""
        began = time.perf_counter()
        read_end, write_end = os.pipe()
        null = os.open(os.devnull, os.O_WRONLY)
        socket.send_fds(self._orders, [pickle.dumps((code, values, names), protocol=5)], [null, write_end])
        os.close(write_end)
        os.close(null)
        with os.fdopen(read_end, "rb") as file:
            came = pickle.load(file)
        return time.perf_counter() - began, came

    def cpu_s(self) -> float:
        """CPU of the process and of its children that have ended."""
        return processes.cpu_s(self._process.pid, with_children=True)

    def close(self) -> None:
        self._orders.close()
        self._process.wait(timeout=10)

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def copy_s(source: Any) -> float:
    """Copying this buffer into fresh memory."""
    view = memoryview(source).cast("B")
    began = time.perf_counter()
    with mmap.mmap(-1, view.nbytes) as target:
        target[:] = view
    return time.perf_counter() - began


def write_s(source: Any, folder: Path) -> float:
    """Writing this buffer to a new file, in blocks. The file stays: pages that were freed just now would flatter the next one."""
    view = memoryview(source).cast("B")
    began = time.perf_counter()
    fd, _ = tempfile.mkstemp(dir=folder, prefix="floor-")
    try:
        for start in range(0, view.nbytes, BLOCK_BYTES):
            os.pwrite(fd, view[start : start + BLOCK_BYTES], start)
        return time.perf_counter() - began
    finally:
        os.close(fd)


class Commits:
    """Rows made durable one by one, or all at once, in a bare SQLite file."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "floor.sqlite", isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._db.execute("CREATE TABLE rows(seq INTEGER PRIMARY KEY, body BLOB)")

    def a_second(self, count: int, *, size: int = 300) -> float:
        """Commits a second, a row each."""
        body = os.urandom(size)
        began = time.perf_counter()
        for _ in range(count):
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("INSERT INTO rows(body) VALUES (?)", (body,))
            self._db.execute("COMMIT")
        return count / (time.perf_counter() - began)

    def bulk_s(self, count: int, *, size: int = 300) -> float:
        """All rows in one commit."""
        rows = [(os.urandom(size),) for _ in range(count)]
        began = time.perf_counter()
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT INTO rows(body) VALUES (?)", rows)
        self._db.execute("COMMIT")
        return time.perf_counter() - began

    def close(self) -> None:
        self._db.close()
