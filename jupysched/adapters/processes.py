"""Whose a process is, from /proc. Knows processes and users; knows nothing of GPUs.

A bare pid from NVML is only ever looked at: it may be a number of another pid namespace. Nothing is stopped by it."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Collection
from dataclasses import dataclass

#: more steps up than any real tree of processes has
MOST_STEPS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """A process as people know it."""

    name: str = ""
    user: str = ""
    #: /proc knows it; else it belongs to another container or is hidden from us
    is_visible: bool = True


def has_gpu_open(pid: int) -> bool | None:
    """Tell whether a process has an NVIDIA GPU open; None where that cannot be known."""
    if not os.path.exists("/dev/nvidiactl"):
        return None
    try:
        names = os.listdir(f"/proc/{pid}/fd")
        return any(os.readlink(f"/proc/{pid}/fd/{name}").startswith("/dev/nvidia") for name in names)
    except OSError:
        return None


def describe_process(
    pid: int,
    *,
    otherwise: Callable[[int], str] = lambda pid: "",
    has_gpu: Callable[[int], bool | None] = has_gpu_open,
) -> Whose:
    """Return name and user of a process; `otherwise` names one that /proc does not know.

    In a container NVML may tell pids of the host: a process here of that number which has no GPU open is another one."""
    if has_gpu(pid) is False:
        return Whose(name=otherwise(pid), is_visible=False)
    try:
        owner = os.stat(f"/proc/{pid}").st_uid
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            name = file.read().strip()
    except OSError:
        return Whose(name=otherwise(pid), is_visible=False)
    return Whose(name=name, user=_user_name(owner))


def descends_from(pid: int, roots: Collection[int]) -> bool:
    """Tell whether a process is one of `roots` or below one. A shim is a subreaper, so every process of a job is below it."""
    for _ in range(MOST_STEPS):
        if pid in roots:
            return True
        if pid <= 1:
            return False
        pid = _parent(pid)
    return False


def _parent(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
