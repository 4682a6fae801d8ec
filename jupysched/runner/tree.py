"""The processes a job has made, found however they hide, and ended.

Knows /proc, parents and signals. Must not know the spool. The shim is the child subreaper: whatever escapes by setsid
or a double fork falls back to it as its own child, so "no children left" is a fact and not a hope.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections.abc import Callable
from typing import NamedTuple

#: Seconds that what a job left behind may take to end by itself after SIGTERM.
SWEEP_GRACE_S = 0.5
#: Seconds for multiprocessing's resource tracker: it unlinks names only after all others are gone.
TRACKER_GRACE_S = 1.5
#: Set for every process of an attempt; leftovers of a lost shim are known by it.
TAG = "JUPYSCHED_SPOOL"


def parents() -> dict[int, int]:
    """Return the parent of every process; zombies are left out."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rpartition(b")")[2].split()
            except OSError:
                continue
            if fields and fields[0] not in (b"Z", b"X"):
                found[int(name)] = int(fields[1])
    return found


def descendants(root: int) -> set[int]:
    """Return the living processes below `root`."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    waiting = [root]
    while waiting:
        for pid in children.get(waiting.pop(), ()):
            if pid not in found:
                found.add(pid)
                waiting.append(pid)
    return found


def is_tracker(pid: int) -> bool:
    """Tell whether a process is a resource tracker (multiprocessing, loky), which cleans up after the others."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return b"resource_tracker" in file.read()
    except OSError:
        return False


def reap() -> bool:
    """Collect ended children of this process; return whether living ones remain."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def send(pids: set[int], number: int) -> None:
    """Send a signal to each that still lives."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def within_reach(root: int) -> set[int]:
    """Return the living processes below `root` that we may end. What sudo has started is another user's, and only root's to end."""
    return {pid for pid in descendants(root) if _may_signal(pid)}


def _may_signal(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return not isinstance(error, PermissionError)
    return True


def _wait_gone(root: int, trackers: set[int], seconds: float, look: Callable[[int], set[int]] = within_reach) -> bool:
    """Return whether everything below `root` that `look` sees, but trackers, ended within `seconds`."""
    deadline, pause = time.monotonic() + seconds, 0.001
    while True:
        if not reap() or not look(root) - trackers:
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.02)


def sweep(root: int) -> set[int]:
    """End every process below `root` (this process, their subreaper) and return who was there.

    SIGTERM, a moment, SIGKILL until nobody is left; resource trackers last, because they are the ones who unlink.
    They are not counted: to outlive the others for a moment is their work. What is beyond our reach has the first moment to
    end by itself, and is left where it is: to wait for it would keep the GPU for as long as it likes to live.
    """
    swept: set[int] = set()
    if not reap():
        return swept
    found = descendants(root)
    trackers = {pid for pid in found if is_tracker(pid)}
    swept |= found - trackers
    send(found - trackers, signal.SIGTERM)
    send(found - trackers, signal.SIGCONT)
    gone = _wait_gone(root, trackers, SWEEP_GRACE_S, descendants)
    while not gone:
        found = within_reach(root)
        trackers |= {pid for pid in found if is_tracker(pid)}
        swept |= found - trackers
        send(found - trackers, signal.SIGKILL)
        gone = _wait_gone(root, trackers, SWEEP_GRACE_S)
    if trackers:
        _wait_gone(root, set(), TRACKER_GRACE_S)
        while reap() and (found := within_reach(root)):
            send(found, signal.SIGKILL)
            _wait_gone(root, set(), SWEEP_GRACE_S)
    return swept


class Left(NamedTuple):
    """By what the processes of a dead shim's job are known: without their subreaper they are nobody's children."""

    #: the attempt's directory, which programs that were started have in their environment
    spool: str
    #: the job's session
    session: int
    #: the job's output pipes, which children that were only forked still hold
    pipes: frozenset[str]
    #: who may be meant at all
    uid: int


def sweep_lost(left: Left) -> set[int]:
    """End what the job of a dead shim left behind, and return who was there."""
    mark = f"{TAG}={left.spool}".encode()
    swept: set[int] = set()
    for _ in range(20):
        found = {pid for pid in parents() if pid != os.getpid() and _is_left(pid, left, mark)}
        if not found:
            break
        swept |= found
        send(found, signal.SIGKILL)
        time.sleep(0.01)
    return swept


def _is_left(pid: int, left: Left, mark: bytes) -> bool:
    try:
        if os.stat(f"/proc/{pid}").st_uid != left.uid:
            return False
        if os.getsid(pid) == left.session:
            return True
        with open(f"/proc/{pid}/environ", "rb") as file:
            if mark in file.read().split(b"\0"):
                return True
        for name in os.listdir(f"/proc/{pid}/fd"):
            if os.readlink(f"/proc/{pid}/fd/{name}") in left.pipes:
                return True
    except OSError:
        return False
    return False


def unlink_shared_memory(dead: set[int], since: float) -> list[str]:
    """Unlink segments in /dev/shm that carry the pid of a dead process of ours, and return their names.

    A job that was killed cannot unlink, and memory that nobody can name any more would be held until the next boot.
    """
    unlinked: list[str] = []
    try:
        names = os.listdir("/dev/shm")
    except OSError:
        return unlinked
    for name in names:
        if any(int(number) in dead for number in re.findall(r"\d+", name)):
            path = f"/dev/shm/{name}"
            with contextlib.suppress(OSError):
                found = os.stat(path)
                if found.st_uid == os.getuid() and found.st_mtime >= since - 1:
                    os.unlink(path)
                    unlinked.append(name)
    return unlinked
