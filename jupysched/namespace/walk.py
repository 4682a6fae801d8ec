"""What was sent or received, by number, and what of it has changed since. Knows facets; knows nothing of files."""

from __future__ import annotations

import collections
import functools
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupysched.namespace import buffer_facets  # noqa: F401  registers the facets of arrays and tensors
from jupysched.namespace.arrays import array_root
from jupysched.namespace.facets import FACETS, MISSING, attributes, facets_of, is_by_value

_DULL = {str, bytes, int, float, bool, type(None), complex}
_ATOMS = {str, bytes, int, float, tuple, bool, type(None), frozenset}


@dataclass(slots=True)
class Tracked:
    """Numbered objects with a snapshot of each that can change."""

    numbered: dict[int, Any]
    #: (number, facet) -> snapshot
    snapshots: dict[tuple[int, str], Any] = field(default_factory=dict)
    #: facets are taken of objects from this number on; below it are the seeds
    first: int = 0

    def __post_init__(self) -> None:
        seen: set[int] = set()
        for number, obj in self.numbered.items():
            if number < self.first or type(obj) in _ATOMS or id(obj) in seen:
                continue
            seen.add(id(obj))
            for kind in facets_of(obj):
                facet = FACETS.get(kind)
                if facet is not None:
                    try:
                        self.snapshots[number, kind] = facet.take(obj)
                    except Exception:  # noqa: BLE001, S112  an object that can't be looked at is taken as constant
                        continue

    def patch(self, number: int, kind: str) -> Any:
        """Return the patch from the snapshot to now, or MISSING."""
        snapshot = self.snapshots.get((number, kind), MISSING)
        if snapshot is MISSING:
            return MISSING
        return FACETS[kind].change(self.numbered[number], snapshot)

    def patches(self) -> Iterator[tuple[int, str, Any]]:
        """Yield (number, facet, patch) for everything that has changed."""
        for number, kind in self.snapshots:
            try:
                patch = self.patch(number, kind)
            except Exception:  # noqa: BLE001, S112  as in __post_init__
                continue
            if patch is not MISSING:
                yield number, kind, patch

    def seeds(self) -> list[Any]:
        """Return the objects in the order of their numbers."""
        count = max(self.numbered, default=-1) + 1
        return [self.numbered.get(number) for number in range(count)]


def names_that_reach(names: Mapping[str, Any], changed: set[int]) -> list[str]:
    """Return the names from which one of these objects (by id) can be reached."""
    found = []
    for name, value in names.items():
        level: list[Any] = [value]
        seen: set[int] = set()
        while level:
            obj = level.pop()
            if id(obj) in seen:
                continue
            seen.add(id(obj))
            if id(obj) in changed:
                found.append(name)
                break
            level.extend(part for part in children(obj) if type(part) not in _DULL)
    return found


def children(obj: Any) -> Iterable[Any]:
    """Return what an object holds, without running its code; modules and what is imported from them hold nothing."""
    if isinstance(obj, types.ModuleType | types.CodeType):
        return ()
    if isinstance(obj, dict):
        return [*obj.keys(), *obj.values(), *vars_of(obj)]
    if isinstance(obj, list | tuple | set | frozenset | collections.deque):
        return [*obj, *vars_of(obj)]
    if isinstance(obj, types.FunctionType):
        if not is_by_value(obj):
            return ()
        return [*(obj.__closure__ or ()), *(obj.__defaults__ or ()), *obj.__dict__.values()]
    if isinstance(obj, types.CellType):
        return FACETS["cell"].take(obj)  # type: ignore[no-any-return]
    if isinstance(obj, type):
        return list(vars(obj).values()) if is_by_value(obj) else ()
    if isinstance(obj, types.MethodType):
        return (obj.__self__, obj.__func__)
    if isinstance(obj, functools.partial):
        return (obj.func, *obj.args, *obj.keywords.values())
    return [*_buffers_of(obj), *vars_of(obj)]


def vars_of(obj: Any) -> Iterable[Any]:
    """Return the values of the attributes that an object holds itself."""
    try:
        return attributes(obj).values()
    except Exception:  # noqa: BLE001  a slot with a getter that raises
        return ()


def _buffers_of(obj: Any) -> Iterable[Any]:
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and isinstance(obj, numpy.ndarray):
        return (array_root(obj), *(obj.ravel().tolist() if obj.dtype.hasobject else ()))
    if torch is not None and hasattr(torch, "Tensor") and isinstance(obj, torch.Tensor):
        try:
            return (obj.untyped_storage(), *((obj.grad,) if obj.is_leaf and obj.grad is not None else ()))
        except (NotImplementedError, RuntimeError):  # sparse and meta tensors have no storage
            return ()
    return ()
