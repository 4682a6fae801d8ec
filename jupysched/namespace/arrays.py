"""How numpy arrays travel: big ones through the object store, views with the array they look into."""

from __future__ import annotations

import sys
from typing import Any, Protocol

from jupysched.namespace import restore
from jupysched.namespace.pages import untouched_name

_IN_BAND_BYTES = 64 * 1024
#: a view takes the array it looks into along up to this size, or up to this many times its own
_SMALL_ROOT_BYTES = 1 << 20
_ROOT_FACTOR = 4


class Putting(Protocol):
    """What is asked of a pickler."""

    #: ids of arrays and storages that travel whole, however small the views on them
    shared_roots: frozenset[int]

    def put(self, buffer: Any, *, owner: Any = None, name: str | None = None, place: int = 0) -> str:
        """Return the name of this buffer in the object store."""


def array_root(array: Any) -> Any:
    """Return the array that owns the memory which this one looks into."""
    numpy = sys.modules["numpy"]
    root = array
    while type(root.base) in (numpy.ndarray, numpy.memmap):
        root = root.base
    return root


def reduce_array(pickler: Putting, array: Any) -> Any:
    """Return how this array travels: as a map of its file, as a view, as a buffer, or the usual way."""
    numpy = sys.modules["numpy"]
    if array.dtype.hasobject:
        return NotImplemented
    root = array_root(array)
    if type(root) is numpy.memmap and root.filename is not None and root.mode != "c":
        if root is array:
            return _reduce_memmap(array)
        return _reduce_view(array, root)
    if root is not array and type(root) is numpy.ndarray and _travels_with(pickler, array, root):
        return _reduce_view(array, root)
    return reduce_whole(pickler, array)


def _travels_with(pickler: Putting, array: Any, root: Any) -> bool:
    if root.dtype.hasobject or root.nbytes == 0 or not (root.flags.c_contiguous or root.flags.f_contiguous):
        return False
    return id(root) in pickler.shared_roots or root.nbytes <= max(_SMALL_ROOT_BYTES, _ROOT_FACTOR * array.nbytes)


def _reduce_view(array: Any, root: Any) -> Any:
    offset = array.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    args = (root, array.dtype, array.shape, array.strides, offset)
    if array.flags.writeable:
        return restore.array_view, args
    return restore.array_view, args, False, None, None, restore.array_flags


def reduce_whole(pickler: Putting, array: Any) -> Any:
    """Return how an array travels by its own content."""
    numpy = sys.modules["numpy"]
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    plain = numpy.asarray(array, order=order) if not (array.flags.c_contiguous or order == "F") else array
    flat = plain.reshape(-1, order=order).view(numpy.uint8)
    if array.nbytes < _IN_BAND_BYTES:
        made: Any = (restore.small_array, (flat.tobytes(), array.dtype, array.shape, order))
    else:
        at = flat.__array_interface__["data"][0]
        known = untouched_name(at, flat.nbytes)
        stored = pickler.put(flat, owner=array, name=known, place=at if plain is array else 0)
        made = (restore.array, (stored, array.dtype, array.shape, order))
    return made if array.flags.writeable else (*made, False, None, None, restore.array_flags)


def _reduce_memmap(array: Any) -> Any:
    order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    mode = "r" if array.mode == "r" else "r+"
    array.flush()
    return restore.memmap, (str(array.filename), array.dtype, mode, array.offset, array.shape, order)
