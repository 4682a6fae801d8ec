"""The functions that our pickles call on arrival. Knows how to build; decides nothing. Their names are a file format.

`loading(...)` says which object store buffers come from while a pickle is read.
"""

from __future__ import annotations

import contextlib
import functools
import types
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pages import remember_map

_stores: list[ObjectStore] = []


#: arrays and storages made within loading(), and the names of their contents
_made: list[tuple[Any, str]] = []


@contextlib.contextmanager
def loading(objects: ObjectStore) -> Iterator[list[tuple[Any, str]]]:
    """Make buffers come from this store within the block; the list tells what was made of which buffer."""
    _stores.append(objects)
    _made.clear()
    try:
        yield _made
    finally:
        _stores.pop()
        _made.clear()


class LeftBehind:
    """Stands for a value that did not travel: the cell only deletes its name, or it could not be rebuilt."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name or 'a value'} did not travel>"


def empty_cell() -> types.CellType:
    """Return a closure cell that is filled later."""
    return types.CellType()


def fill_cell(cell: types.CellType, state: tuple[Any, ...]) -> None:
    """Put the contents into a closure cell; an empty tuple leaves it empty."""
    if state:
        cell.cell_contents = state[0]


def function(
    code: types.CodeType, home: dict[str, Any] | types.ModuleType, name: str, closure: tuple[types.CellType, ...] | None
) -> types.FunctionType:
    """Return a function that lives in this namespace or module."""
    return types.FunctionType(code, vars(home) if isinstance(home, types.ModuleType) else home, name, None, closure)


def function_state(made: types.FunctionType, state: dict[str, Any]) -> None:
    """Give a function its defaults, attributes and names."""
    made.__dict__.clear()
    made.__dict__.update(state.pop("__dict__"))
    made.__globals__.update(state.pop("__globals__", {}))
    for name, value in state.items():
        setattr(made, name, value)


def lru_cached(wrapped: Any, maxsize: int | None, typed: bool) -> Any:  # noqa: FBT001  pickles call by position
    """Return the function with an empty cache."""
    return functools.lru_cache(maxsize=maxsize, typed=typed)(wrapped)


def lru_state(made: Any, state: dict[str, Any]) -> None:
    """Give a cached function its attributes."""
    made.__dict__.update(state)


def named_attributes(made: Any, state: tuple[None, dict[str, Any]]) -> None:
    """Set these attributes."""
    for name, value in state[1].items():
        setattr(made, name, value)


def proxy(mapping: Mapping[Any, Any]) -> types.MappingProxyType[Any, Any]:
    """Return a read-only view of this very mapping."""
    return types.MappingProxyType(mapping)


class _Gone:
    pass


def dead_ref() -> weakref.ref[Any]:
    """Return a reference to something that is gone."""
    return weakref.ref(_Gone())


def weak_values() -> weakref.WeakValueDictionary[Any, Any]:
    """Return an empty dictionary with weak values."""
    return weakref.WeakValueDictionary()


def weak_keys() -> weakref.WeakKeyDictionary[Any, Any]:
    """Return an empty dictionary with weak keys."""
    return weakref.WeakKeyDictionary()


def big_bytes(name: str) -> bytes:
    """Return bytes from the object store."""
    return bytes(_stores[-1].map(name))


def big_bytearray(name: str) -> bytearray:
    """Return a bytearray from the object store."""
    return bytearray(_stores[-1].map(name))


def array(name: str, dtype: Any, shape: tuple[int, ...], order: Any) -> Any:
    """Return a numpy array that is a writable private map of a stored buffer."""
    import numpy as np

    found = _stores[-1].map(name)
    made = np.ndarray(shape, dtype, buffer=found, order=order)
    _made.append((made, name))
    remember_map(made.__array_interface__["data"][0], made.nbytes, name, found)
    return made


def small_array(data: bytes, dtype: Any, shape: tuple[int, ...], order: Any) -> Any:
    """Return a numpy array that owns its few bytes."""
    import numpy as np

    made = np.empty(shape, dtype, order=order)
    made.reshape(-1, order=order).view(np.uint8)[...] = np.frombuffer(data, np.uint8)
    return made


def array_flags(made: Any, writeable: bool) -> None:  # noqa: FBT001  pickles call by position
    """Make an array read-only if its original is."""
    made.flags.writeable = writeable


def array_view(root: Any, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    """Return a view that shares its memory with `root`."""
    import numpy as np

    flat = root.reshape(-1, order="C" if root.flags.c_contiguous else "F").view(np.uint8)
    view = np.ndarray(shape, dtype, buffer=flat, offset=offset, strides=strides)
    return view


def memmap(filename: str, dtype: Any, mode: Any, offset: int, shape: tuple[int, ...], order: Any) -> Any:
    """Return a memory map of the same file as the original's."""
    import numpy as np

    return np.memmap(filename, dtype, mode, offset, shape, order)


def storage(name: str) -> Any:
    """Return a torch storage that is a writable private map of a stored buffer."""
    import torch

    buffer = _stores[-1].map(name)
    if not len(buffer):
        return torch.UntypedStorage(0)
    made = torch.frombuffer(buffer, dtype=torch.uint8).untyped_storage()
    _made.append((made, name))
    remember_map(made.data_ptr(), made.nbytes(), name, buffer)
    return made


def small_storage(data: bytes) -> Any:
    """Return a torch storage that owns its few bytes."""
    import torch

    made = torch.UntypedStorage(len(data))
    if data:
        torch.empty(0, dtype=torch.uint8).set_(made).copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))
    return made


def tensor(
    cls: Any,
    held: Any,
    dtype: Any,
    offset: int,
    size: tuple[int, ...],
    stride: tuple[int, ...],
    requires_grad: bool,  # noqa: FBT001  pickles call by position
) -> Any:
    """Return a tensor or parameter on this storage."""
    import torch

    made = torch.empty(0, dtype=dtype)
    with torch.no_grad():
        made.set_(held, offset, torch.Size(size), stride)
    if cls is torch.nn.Parameter:
        return torch.nn.Parameter(made, requires_grad=requires_grad)
    if requires_grad:
        made.requires_grad_(True)
    return made


def tensor_state(made: Any, state: tuple[Any, dict[str, Any]]) -> None:
    """Give a tensor its gradient and attributes."""
    grad, attributes = state
    if grad is not None:
        made.grad = grad
    made.__dict__.update(attributes)


def compiled(module: Any, arguments: dict[str, Any]) -> Any:
    """Return the module compiled anew."""
    import torch

    return torch.compile(module, **arguments)


class Raw:
    """Makes an array or storage travel by its content, even if the reader has the original."""

    def __init__(self, value: Any) -> None:
        self.value = value
