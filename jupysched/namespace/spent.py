"""Buffers that no notebook holds any more: their pages in memory are where the next buffer goes. Their files stay.

Knows the page cache; knows nothing of arrays. Memory that was let go a moment ago takes a buffer at once, fresh memory
must first be found: 512 MB took 0.1 s instead of 1.2 on a virtual machine whose free memory goes back to its host. Who needs
such a buffer again reads it from the disk. Only pages that are on the disk already are let go: nobody waits for a disk.
"""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: smaller buffers are not worth a look
WORTH_BYTES = 1 << 20
#: in the object store; empty files, named as the buffers
_FOLDER = "spent"
#: cachestat(2), Linux 6.5; the same number on every machine
_CACHESTAT = 451

_libc = ctypes.CDLL(None, use_errno=True)


class Held:
    """The buffers of one notebook's variables. A hint: who is wrong reads from the disk what would have been in memory."""

    def __init__(self, store: Path) -> None:
        self._store = store
        #: address of a variable's memory -> name of the buffer that was put from there last
        self._places: dict[int, str] = {}
        #: keeps the references alive, and with them what they call; by id, for an array has no hash
        self._watched: dict[int, weakref.ref[Any]] = {}

    def moves_in(self, name: str, place: int, owner: Any) -> None:
        """The variable at this address holds this content now."""
        before = self._places.get(place)
        self._places[place] = name
        if before is None:
            self._watch(owner, lambda: self._leaves(self._places.pop(place, name)))
        elif before != name:
            self._leaves(before)

    def is_mapped(self, name: str, found: Any) -> None:
        """A variable lies in the buffer's file itself."""
        self._watch(found, lambda: self._leaves(name))

    def _watch(self, owner: Any, leave: Callable[[], None]) -> None:
        def gone(reference: weakref.ref[Any]) -> None:
            self._watched.pop(id(reference), None)
            leave()

        reference = weakref.ref(owner, gone)
        self._watched[id(reference)] = reference

    def _leaves(self, name: str) -> None:
        if name not in tuple(self._places.values()):
            mark(self._store, name)


def mark(store: Path, name: str) -> None:
    """Note that the notebook holds this buffer no more. Writes: an empty file."""
    marked = store / _FOLDER / name
    with contextlib.suppress(OSError):  # a hint, no promise
        marked.parent.mkdir(mode=0o700, exist_ok=True)
        marked.touch(mode=0o600)


def unmark(store: Path, name: str) -> None:
    """Note that it is used again."""
    with contextlib.suppress(OSError):
        os.unlink(store / _FOLDER / name)


def let_go(store: Path, nbytes: int) -> int:
    """Let go of marked buffers' pages until about `nbytes` are free; return how many became so."""
    freed = 0
    try:
        names = os.listdir(store / _FOLDER)
    except OSError:
        return 0
    for name in names:
        if freed >= nbytes:
            break
        try:
            fd = os.open(store / name[:2] / name, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            unmark(store, name)
            continue
        try:
            freed += _drop(fd)
            if _cached(fd)[0] == 0:
                unmark(store, name)
        finally:
            os.close(fd)
    return freed


def _drop(fd: int) -> int:
    """Return the bytes that left memory. Pages that somebody has mapped stay, and so does all of a file not yet on the disk."""
    before, unwritten = _cached(fd)
    if not before or unwritten:
        return 0
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return before - _cached(fd)[0]


def _cached(fd: int) -> tuple[int, int]:
    """Return the bytes of this file in memory, and those of them that the disk lacks; an old kernel does not tell: (0, 0)."""
    span = (ctypes.c_uint64 * 2)(0, 0)
    found = (ctypes.c_uint64 * 5)()
    if _libc.syscall(_CACHESTAT, fd, ctypes.byref(span), ctypes.byref(found), 0):
        return 0, 0
    cached, dirty, being_written = found[:3]
    return cached * mmap.PAGESIZE, (dirty + being_written) * mmap.PAGESIZE
