"""What a test left behind, in this process and in a home. Knows /proc; knows nothing of jobs."""

import contextlib
import gc
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

#: Descriptors that libraries open once and keep, and that hold nothing of a test.
HARMLESS = ("anon_inode:", "/dev/null", "/dev/urandom", "/dev/random", "/dev/pts", "/proc/", "/sys/")


@dataclass(frozen=True)
class Held:
    """What this process holds at one moment."""

    #: name of what is open, by descriptor
    descriptors: dict[int, str] = field(default_factory=dict)
    #: command line, by pid, of every child and grandchild
    children: dict[int, str] = field(default_factory=dict)
    threads: frozenset[threading.Thread] = frozenset()


def held() -> Held:
    """Return what this process holds now."""
    threads = frozenset(thread for thread in threading.enumerate() if not thread.daemon)
    return Held(descriptors=_descriptors("self"), children=_children(os.getpid()), threads=threads)


def left_since(before: Held, *, within_s: float = 3.0) -> list[str]:
    """Return a sentence for each thing that is held now, was not before, and does not go away by itself."""
    pause, deadline = threading.Event(), time.monotonic() + within_s
    sentences = _difference(before, held())
    while sentences and time.monotonic() < deadline:
        gc.collect()
        pause.wait(0.02)
        sentences = _difference(before, held())
    return sentences


@contextlib.contextmanager
def temporary_home() -> Iterator[Path]:
    """A new home, and at the end the end of everything that lives in it. For fixtures of wider scope; tests take `home`.

    Its path is short: sockets lie in it, and the kernel allows those 107 characters.
    """
    path = Path(tempfile.mkdtemp(prefix="jh-"))
    try:
        yield path
    finally:
        end_all_in(path)
        shutil.rmtree(path, ignore_errors=True)


def end_all_in(home: Path, *, grace_s: float = 5.0) -> list[str]:
    """Stop every process that lives in `home`, gently and then not; return their command lines.

    A process lives there when its environment, command line, working directory or an open file says so: the names of homes are
    unique, so nothing else is ever meant.
    """
    ended: dict[int, str] = {}
    for strength, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
        living = _living_in(home)
        for pid, command in living.items():
            ended.setdefault(pid, command)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, strength)
        pause, deadline = threading.Event(), time.monotonic() + wait_s
        while _living_in(home) and time.monotonic() < deadline:
            pause.wait(0.05)
    return list(ended.values())


def _living_in(home: Path) -> dict[int, str]:
    name = os.fsencode(home)
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid() or _is_gone(entry):
            continue
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{entry}").st_uid != os.getuid() and os.getuid() != 0:
                continue
            if _names(entry, name) or any(target.startswith(str(home)) for target in _descriptors(entry).values()):
                found[int(entry)] = _command(entry)
    return found


def _names(pid: str, name: bytes) -> bool:
    for file in ("environ", "cmdline"):
        if name in Path(f"/proc/{pid}/{file}").read_bytes():
            return True
    return os.fsencode(os.readlink(f"/proc/{pid}/cwd")).startswith(name)


def _is_gone(pid: str) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"


def _difference(before: Held, after: Held) -> list[str]:
    sentences = [
        f"descriptor {number} is open on {name}"
        for number, name in after.descriptors.items()
        if before.descriptors.get(number) != name
    ]
    new = {
        pid: command
        for pid, command in after.children.items()
        # What something of wider scope forks meanwhile (a zygote, the pair for the next job) is nothing of this test.
        if pid not in before.children and not _descends_from(pid, before.children)
    }
    sentences += [f"process {pid} runs: {command}" for pid, command in new.items()]
    sentences += [f"thread {thread.name!r} runs" for thread in after.threads - before.threads]
    return sentences


def _descends_from(pid: int, roots: Collection[int]) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return any(parent.pid in roots for parent in psutil.Process(pid).parents())
    return False


def _descriptors(pid: str) -> dict[int, str]:
    found = {}
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            name = os.readlink(f"/proc/{pid}/fd/{number}")
            if not name.startswith(HARMLESS):
                found[int(number)] = name
    return found


def _children(pid: int) -> dict[int, str]:
    # By the parents of all processes: /proc/PID/task/*/children may leave some out while others come and go (proc(5)).
    return {child.pid: _command(str(child.pid)) for child in psutil.Process(pid).children(recursive=True)}


def _command(pid: str) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
            or f"[{pid}]"
        )
    except OSError:
        return f"[{pid}]"
