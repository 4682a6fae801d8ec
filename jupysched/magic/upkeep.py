"""Old files of ended jobs go, now and then. Knows the home's folders and their ages; asks the daemon what still waits."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from pathlib import Path

from jupysched import places, spool
from jupysched.client import Client
from jupysched.core.errors import JupyschedError
from jupysched.namespace.objects import collect_garbage

#: files of an ended job are kept this long; after that it can neither be fetched nor queued again
KEPT_S = 7 * 86_400
#: one look a day, whichever kernel is the first
EVERY_S = 86_400
#: the object store may hold this much; what was not used for longest goes first
MOST_STORE_BYTES = 200 << 30
_STAMP = "upkeep"


def begin_upkeep() -> None:
    """Look in a thread of its own, if nobody did today. Nothing of it reaches the notebook."""
    with contextlib.suppress(OSError, JupyschedError):
        stamp = places.home() / _STAMP
        if stamp.exists() and time.time() - stamp.stat().st_mtime < EVERY_S:
            return
        stamp.touch(mode=0o600)
        threading.Thread(target=_look, name="jupysched-upkeep", daemon=True).start()


def _look() -> None:
    with contextlib.suppress(OSError, JupyschedError):
        remove_old(places.home() / "jobs", now=time.time())
        collect_garbage(places.objects(), max_age_s=KEPT_S, max_bytes=MOST_STORE_BYTES)


def remove_old(folder: Path, *, now: float) -> list[str]:
    """The jobs' directories that were removed. Writes: removes them."""
    if not folder.is_dir():
        return []
    old = [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and now - last_touched(entry) > KEPT_S]
    if not old:
        return []
    needed = _still_needed()
    removed = [entry for entry in old if str(entry) not in needed and has_settled(entry)]
    for entry in removed:
        shutil.rmtree(entry, ignore_errors=True)
    return [str(entry) for entry in removed]


def last_touched(directory: Path) -> float:
    """When something was last written into it or into an attempt's directory."""
    times = [directory.stat().st_mtime]
    for entry in directory.iterdir():
        with contextlib.suppress(OSError):
            times.append(entry.stat().st_mtime)
    return max(times)


def has_settled(directory: Path) -> bool:
    """Does no shim watch over any of its attempts?"""
    attempts = [entry for entry in directory.iterdir() if entry.is_dir() and entry.name.startswith("a")]
    return not any(spool.is_watched(os.fspath(entry)) for entry in attempts)


def _still_needed() -> set[str]:
    """Directories of jobs that have not ended. Where no daemon listens, nobody knows: raises DaemonMissing."""
    with Client(start=False) as client:
        page = client.jobs(states=["pending", "held", "starting", "running", "stopping"], limit=1_000_000)
        return {record.directory for record in page.jobs if record.directory}
