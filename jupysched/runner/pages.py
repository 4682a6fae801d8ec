"""Makes a process cheap to fork: its heap in huge pages, of which a fork copies one entry where there were 512.

Knows /proc/self/maps, madvise and what CPython keeps in one large table. Must not know what else lies in the pages. Best
effort: a kernel before 6.1 refuses, and a fork then costs what it costs. With torch imported: 1.3 ms instead of 4.3.
"""

from __future__ import annotations

import ctypes
import resource
import sys

_MADV_COLLAPSE = 25
_HUGE_BYTES = 2 << 20
#: that many new strings cause fewer page faults, unless their table moves
_STRINGS, _FAULTS = 64, 32
_MOST_STRINGS = 1 << 19


def gather() -> int:
    """Put private writable memory into huge pages where it fills them; return how many were made."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    made = 0
    for begin, end in _private_memory():
        at = (begin + _HUGE_BYTES - 1) // _HUGE_BYTES * _HUGE_BYTES
        while at + _HUGE_BYTES <= end:
            made += libc.madvise(at, _HUGE_BYTES, _MADV_COLLAPSE) == 0
            at += _HUGE_BYTES
    return made


def make_room_for_strings() -> None:
    """Have the table of interned strings grow now, if not long from now: a job in which it grows pays 300 pages for that.

    Strings that nobody holds take their places in it too; it grows when all places are taken.
    """
    for first in range(0, _MOST_STRINGS, _STRINGS):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for number in range(first, first + _STRINGS):
            sys.intern(f"jupysched {number}")
        if resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before > _FAULTS:
            return


def _private_memory() -> list[tuple[int, int]]:
    """Return the heap and the anonymous mappings that can be written to."""
    found = []
    with open("/proc/self/maps") as file:
        for line in file:
            span, mode, *rest = line.split()
            if mode.startswith("rw") and (len(rest) < 4 or rest[3] == "[heap]"):
                begin, _, end = span.partition("-")
                found.append((int(begin, 16), int(end, 16)))
    return found
