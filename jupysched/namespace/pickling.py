"""The pickler for variables. Knows which objects need care, and hands buffers to the object store.

It numbers what it writes: `memo` maps every object to its number, and the reader's memo maps the same number to the
copy. The way back refers to what already exists by that number, so nothing is identified twice.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import sys
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
from cloudpickle import cloudpickle as internals

from jupysched.namespace import restore
from jupysched.namespace.arrays import reduce_array, reduce_whole
from jupysched.namespace.names import code_globals, code_mentions
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.refusals import REFUSED, full_name, refuse
from jupysched.namespace.tensors import TensorReducer

#: smaller buffers travel within the pickle
IN_BAND_BYTES = 64 * 1024
_FUNCTION_NAMES = ("__defaults__", "__kwdefaults__", "__annotations__", "__qualname__", "__module__", "__doc__")
_LruWrapper = type(functools.lru_cache(lambda: None))


def package_of(obj: Any, kind: type) -> str:
    """Return the top-level package that rebuilding this object imports."""
    if kind is types.ModuleType:
        name = obj.__name__
    else:
        name = (
            getattr(obj, "__module__", None)
            if kind is types.FunctionType or issubclass(kind, type)
            else kind.__module__
        )
    return str(name).partition(".")[0]


class NotebookPickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles variables of `home`, the namespace of a notebook or job."""

    def __init__(
        self,
        file: io.BytesIO,
        *,
        home: dict[str, Any],
        objects: ObjectStore,
        seeds: Sequence[object] = (),
        shared_roots: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(file, protocol=5, buffer_callback=self.take_buffer)
        self.home = home
        self.objects = objects
        #: ids of arrays and storages that travel whole, however small the views on them
        self.shared_roots = shared_roots
        #: names of buffers in the order in which the reader asks for them
        self.buffers: list[str] = []
        #: names that functions of the notebook read, in the order in which they were met
        self.globals_read: dict[str, None] = {}
        #: packages that whoever rebuilds these values imports (top-level names)
        self.packages: set[str] = set()
        #: every name and attribute that functions of the notebook mention
        self.mentioned: set[str] = set()
        #: files whose source may exist in the notebook only
        self.filenames: set[str] = set()
        #: id of an array or storage -> name of its content
        self.content: dict[int, str] = {}
        #: bytes that this pickler put out of band
        self.out_of_band_bytes = 0
        self.tensors = TensorReducer(self.put, shared_roots)
        self.privates: dict[int, tuple[Any, Any]] = {}
        self.memo = {id(seed): (number, seed) for number, seed in enumerate(seeds)}

    def put(self, buffer: Any, *, owner: Any = None, name: str | None = None, place: int = 0) -> str:
        """Return the name of this buffer in the object store; `owner` is the array or storage that it belongs to."""
        view = memoryview(buffer)
        self.out_of_band_bytes += view.nbytes
        name = self.objects.put(view, name=name, owner=owner, place=place)
        if owner is not None:
            self.content[id(owner)] = name
        return name

    def take_buffer(self, buffer: Any) -> bool:
        """Put a buffer out of band; true means: keep it in the pickle."""
        try:
            raw = buffer.raw()
        except BufferError:
            return True
        if raw.nbytes < IN_BAND_BYTES:
            return True
        self.buffers.append(self.put(raw))
        return False

    def reducer_override(self, obj: Any) -> Any:
        """Return how this object travels, or NotImplemented for the usual way."""
        kind = type(obj)
        self.packages.add(package_of(obj, kind))
        if kind is types.FunctionType:
            return self.reduce_function(obj)
        special = _REDUCERS.get(kind)
        if special is not None:
            return special(self, obj)
        numpy = sys.modules.get("numpy")
        if numpy is not None and kind in (numpy.ndarray, getattr(numpy, "memmap", None)):
            return reduce_array(self, obj)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "Tensor"):
            answer = self.tensors.reduce(torch, obj)
            if answer is not NotImplemented:
                return answer
        if issubclass(kind, type):
            return super().reducer_override(obj)
        if full_name(kind) in REFUSED:
            refuse(obj)
        return NotImplemented

    def reduce_function(self, func: types.FunctionType) -> Any:
        """Return a function by name if it can be imported, else by code, at home in the reader's namespace."""
        if internals._should_pickle_by_reference(func):
            return NotImplemented
        code = func.__code__
        self.filenames.add(code.co_filename)
        state: dict[str, Any] = {name: getattr(func, name) for name in _FUNCTION_NAMES}
        state["__dict__"] = func.__dict__
        if getattr(func, "__type_params__", ()):
            state["__type_params__"] = func.__type_params__  # type: ignore[attr-defined]
        home: Any = func.__globals__
        if home is self.home:
            self.globals_read.update(code_globals(code))
            self.mentioned |= code_mentions(code)
        else:
            module = sys.modules.get(str(home.get("__name__")))
            if module is not None and vars(module) is home:
                home = module
            else:
                state["__globals__"] = {n: home[n] for n in code_globals(code) if n in home}
                home = self._private_home(home)
        return (
            restore.function,
            (code, home, func.__name__, func.__closure__),
            state,
            None,
            None,
            restore.function_state,
        )

    def _private_home(self, original: dict[str, Any]) -> dict[str, Any]:
        if id(original) not in self.privates:
            kept: dict[str, Any] = {
                n: original[n] for n in ("__name__", "__package__", "__file__", "__builtins__") if n in original
            }
            self.privates[id(original)] = (original, kept)
        kept_before: dict[str, Any] = self.privates[id(original)][1]
        return kept_before


def _reduce_cell(_: NotebookPickler, cell: types.CellType) -> Any:
    try:
        state: tuple[Any, ...] = (cell.cell_contents,)
    except ValueError:
        state = ()
    return restore.empty_cell, (), state, None, None, restore.fill_cell


def _reduce_lru(_: NotebookPickler, cached: Any) -> Any:
    found: Any = sys.modules.get(cached.__module__) if cached.__module__ != "__main__" else None
    for part in cached.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is cached:
        return NotImplemented
    options = cached.cache_parameters()
    args = (cached.__wrapped__, options["maxsize"], options["typed"])
    return restore.lru_cached, args, cached.__dict__, None, None, restore.lru_state


def _reduce_cached_property(_: NotebookPickler, made: Any) -> Any:
    # up to Python 3.11 it holds a lock
    state = {"attrname": made.attrname, "__doc__": made.__doc__}
    return functools.cached_property, (made.func,), (None, state), None, None, restore.named_attributes


def _reduce_code(_: NotebookPickler, code: types.CodeType) -> Any:
    made, args = internals._code_reduce(code)
    # cloudpickle hides the file name, and with it the source that tracebacks and inspect look for
    return made, (*args[:10], code.co_filename, *args[11:])


def _reduce_proxy(_: NotebookPickler, view: Any) -> Any:
    inner = [o for o in gc.get_referents(view) if isinstance(o, dict)]
    return restore.proxy, (inner[0] if inner else dict(view),)


def _reduce_weakref(_: NotebookPickler, reference: weakref.ref[Any]) -> Any:
    target = reference()
    return (restore.dead_ref, ()) if target is None else (weakref.ref, (target,))


def _reduce_weak_values(_: NotebookPickler, mapping: Any) -> Any:
    return restore.weak_values, (), None, None, iter(list(mapping.items()))


def _reduce_weak_keys(_: NotebookPickler, mapping: Any) -> Any:
    return restore.weak_keys, (), None, None, iter(list(mapping.items()))


def _reduce_raw(pickler: NotebookPickler, raw: restore.Raw) -> Any:
    if type(raw.value).__name__ == "UntypedStorage":
        return pickler.tensors.reduce(sys.modules["torch"], raw.value)
    return reduce_whole(pickler, raw.value)


def _reduce_file(_: NotebookPickler, file: Any) -> Any:
    refuse(file)
    return NotImplemented


_REDUCERS: dict[type, Callable[[NotebookPickler, Any], Any]] = {
    types.CellType: _reduce_cell,
    functools.cached_property: _reduce_cached_property,
    types.CodeType: _reduce_code,
    _LruWrapper: _reduce_lru,
    types.MappingProxyType: _reduce_proxy,
    weakref.ref: _reduce_weakref,
    weakref.WeakValueDictionary: _reduce_weak_values,
    weakref.WeakKeyDictionary: _reduce_weak_keys,
    restore.Raw: _reduce_raw,
    io.TextIOWrapper: _reduce_file,
}


def standard_seeds(home: dict[str, Any]) -> list[object]:
    """Return what both sides have of their own: the namespace, the main module, builtins, the output streams."""
    import builtins

    main = sys.modules.get("__main__")
    seeds: list[object] = [home, main, vars(builtins), builtins, sys.stdout, sys.stderr]
    seeds += [sys.__stdout__, sys.__stderr__, sys.stdin, sys.__stdin__]
    for name in ("get_ipython",):
        with contextlib.suppress(Exception):
            shell = home[name]()
            seeds += [shell, home[name]]
    seeds += [None] * (12 - len(seeds))
    return unique(seeds)


def unique(seeds: Sequence[object]) -> list[object]:
    """Return the seeds with repeated ones replaced: every number must have an object of its own."""
    seen: set[int] = set()
    result: list[object] = []
    for seed in seeds:
        own = seed if seed is not None and id(seed) not in seen else restore.LeftBehind()
        seen.add(id(own))
        result.append(own)
    return result
