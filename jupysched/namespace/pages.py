"""Which private maps of stored buffers were never written to. Knows the kernel's page table; knows nothing of arrays.

A page of a private map belongs to the file until somebody writes to it: one look at /proc/self/pagemap replaces reading
the whole buffer. Where the table can't be read, or lies, the content is hashed instead.
"""

from __future__ import annotations

import functools
import mmap
import os
import sys
import tempfile
import weakref

#: address of a private map -> (bytes, name of its content, the map: no other can get the address while it lives)
_maps: dict[int, tuple[int, str, weakref.ref[mmap.mmap]]] = {}
_PRESENT, _SWAPPED, _OF_FILE = 1 << 63, 1 << 62, 1 << 61


def remember_map(address: int, nbytes: int, name: str, found: object) -> None:
    """Note that the bytes at this address are a private map of this buffer."""
    if isinstance(found, mmap.mmap):
        _maps[address] = (nbytes, name, weakref.ref(found, lambda _: _maps.pop(address, None)))


def untouched_name(address: int, nbytes: int) -> str | None:
    """Return the name of the buffer that is mapped there if nobody wrote to it, else None."""
    known = _maps.get(address)
    if known is None or known[0] != nbytes or known[2]() is None or not _table_is_true():
        return None
    return None if _has_own_pages(address, nbytes) else known[1]


def _has_own_pages(address: int, nbytes: int) -> bool:
    page = mmap.PAGESIZE
    count = (nbytes + page - 1) // page
    with open("/proc/self/pagemap", "rb", buffering=0) as table:
        data = os.pread(table.fileno(), count * 8, address // page * 8)
    if len(data) != count * 8:
        return True
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        entries = numpy.frombuffer(data, dtype=numpy.uint64) >> numpy.uint64(61)
        # of the three bits (present, swapped, of a file): swapped, or present and not of a file
        return bool(((entries & 2) != 0).any() or ((entries & 5) == 4).any())  # noqa: PLR2004
    return any(entry & _SWAPPED or (entry & _PRESENT and not entry & _OF_FILE) for entry in memoryview(data).cast("Q"))


@functools.cache
def _table_is_true() -> bool:
    """Return whether the table tells a written page from an untouched one on this machine."""
    page = mmap.PAGESIZE
    try:
        with tempfile.TemporaryFile() as file:
            file.write(bytes(2 * page))
            file.flush()
            found = mmap.mmap(file.fileno(), 2 * page, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
            view = memoryview(found)
            address = _address(view)
            view[page - 1], view[page]  # both are read, one is written
            before = _has_own_pages(address, 2 * page)
            view[page] = 1
            return not before and _has_own_pages(address, 2 * page) and not _has_own_pages(address, page)
    except (OSError, ValueError):
        return False


def _address(view: memoryview) -> int:
    import ctypes

    return ctypes.addressof(ctypes.c_char.from_buffer(view))
