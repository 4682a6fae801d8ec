"""What processes cost: CPU seconds and proportional memory. Knows /proc."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int, *, with_children: bool = False) -> float:
    """User and system time; 0.0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return sum(int(fields[at]) for at in ((11, 12, 13, 14) if with_children else (11, 12))) * TICK_S


def fine_cpu_s(pid: int) -> float:
    """CPU of all its threads, to the nanosecond, where the system tells it."""
    total = 0
    try:
        for path in Path(f"/proc/{pid}/task").iterdir():
            total += int((path / "schedstat").read_bytes().split()[0])
    except OSError:
        return cpu_s(pid)
    return total / 1e9


def pss_bytes(pid: int) -> int:
    """Its memory, with shared pages counted once among those who share them."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def descendants(pid: int) -> list[int]:
    """All below it, children first."""
    found: list[int] = []
    pending = [pid]
    while pending:
        parent = pending.pop(0)
        below = []
        with contextlib.suppress(OSError):
            for thread in Path(f"/proc/{parent}/task").iterdir():
                below += [int(word) for word in (thread / "children").read_text(encoding="ascii").split()]
        found += below
        pending += below
    return found


def wait_gone(pids: Iterable[int], *, patience_s: float = 15.0) -> list[int]:
    """Those that are still there after a while; zombies are gone."""
    deadline = time.monotonic() + patience_s
    left = [pid for pid in pids if _lives(pid)]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [pid for pid in left if _lives(pid)]
    return left


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False
