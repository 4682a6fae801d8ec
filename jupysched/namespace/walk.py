"""What was sent or received, by number, and what of it has changed since. Knows facets; knows nothing of files."""

from __future__ import annotations

import collections
import functools
import itertools
import sys
import types
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from jupysched.namespace import buffer_facets  # noqa: F401  registers the facets of arrays and tensors
from jupysched.namespace.arrays import array_root
from jupysched.namespace.facets import FACETS, MISSING, Delta, attributes, delta, facets_of, is_by_value
from jupysched.namespace.opaque import REPLACED, Opaque, State, apply_state, reduced

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
    #: id of an array or storage -> name of its content, where it is known already
    content: Mapping[int, str] = field(default_factory=dict)
    _opaque: Opaque | None = None

    def __post_init__(self) -> None:
        seen: set[int] = set()
        snapshots = self.snapshots
        for number, obj in self.numbered.items():
            cls = type(obj)
            if cls in _ATOMS or number < self.first or id(obj) in seen:
                continue
            seen.add(id(obj))
            if cls is list:
                snapshots[number, "list"] = obj.copy()
            elif cls is dict:
                snapshots[number, "dict"] = obj.copy()
            else:
                for kind in facets_of(obj):
                    self._take(number, kind, obj)

    def _take(self, number: int, kind: str, obj: Any) -> None:
        if id(obj) in self.content:
            self.snapshots[number, kind] = self.content[id(obj)]
            return
        try:
            self.snapshots[number, kind] = self._facet(kind).take(obj)
        except Exception:  # noqa: BLE001  an object that can't be looked at is taken as constant
            if kind == "opaque":
                self._take(number, "instance", obj)
            return
        if kind == "opaque" and is_by_value(type(obj)):
            # the attributes of a class of the notebook can be set even if it has a __reduce__ of its own
            self.snapshots[number, "attributes"] = attributes(obj)

    def _facet(self, kind: str) -> Any:
        if kind != "opaque":
            return FACETS["instance" if kind == "attributes" else kind]
        if self._opaque is None:
            self._opaque = Opaque(self.numbered)
        return self._opaque

    def patch(self, number: int, kind: str) -> Any:
        """Return the patch from the snapshot to now, MISSING, or REPLACED for what can't be patched in place."""
        snapshot = self.snapshots.get((number, kind), MISSING)
        if snapshot is MISSING and kind == "instance":
            snapshot = self.snapshots.get((number, "attributes"), MISSING)
        if snapshot is MISSING:
            return MISSING
        return self._facet(kind).change(self.numbered[number], snapshot)

    def apply(self, number: int, kind: str, patch: Any) -> None:
        """Put a patch into the original."""
        if kind == "opaque":
            apply_state(self.numbered[number], patch.value)
        else:
            FACETS[kind].apply(self.numbered[number], patch)

    def patches(self) -> tuple[list[tuple[int, str, Any]], set[int]]:
        """Return (number, facet, patch) for all that changed, and the ids of objects that must travel as new ones."""
        found: dict[tuple[int, str], Any] = {}
        replaced: set[int] = set()
        for number, kind in self.snapshots:
            if kind == "attributes":
                continue
            try:
                patch = self.patch(number, kind)
            except Exception:  # noqa: BLE001, S112  as in _take
                continue
            if patch is REPLACED and (number, "attributes") in self.snapshots:
                patch, kind = self.patch(number, "attributes"), "instance"  # noqa: PLW2901
            if patch is REPLACED:
                replaced.add(id(self.numbered[number]))
            elif patch is not MISSING:
                found[number, kind] = patch
        if replaced:
            self._patch_holders(found, replaced)
        return [(number, kind, patch) for (number, kind), patch in found.items()], replaced

    def _patch_holders(self, found: dict[tuple[int, str], Any], replaced: set[int]) -> None:
        """Make every holder of a replaced object point to the new one: in place, or by being replaced itself."""
        growing = True
        while growing:
            growing = False
            for number, obj in self.numbered.items():
                if number < self.first or id(obj) in replaced or type(obj) in _DULL:
                    continue
                if not any(id(part) in replaced for part in children(obj)):
                    continue
                kind = next(
                    (
                        k
                        for k in ("list", "dict", "set", "deque", "instance", "cell", "function", "class")
                        if (number, k) in self.snapshots
                    ),
                    None,
                )
                if kind is not None:
                    found[number, kind] = _whole(self.snapshots[number, kind], self._facet(kind).take(obj), replaced)
                elif (number, "opaque") in self.snapshots and (state := _state_of(obj)) is not None:
                    found[number, "opaque"] = state
                else:
                    replaced.add(id(obj))
                    growing = True

    def seeds(self, *, without: Set[int] = frozenset()) -> list[Any]:
        """Return the objects in the order of their numbers; None for those that must travel as new ones."""
        count = max(self.numbered, default=-1) + 1
        every = [self.numbered.get(number) for number in range(count)]
        return [None if id(obj) in without else obj for obj in every] if without else every


def _whole(before: Any, now: Any, replaced: set[int]) -> Any:
    """Return a patch that sets at least the parts that are replaced."""
    if not isinstance(now, dict):
        return list(now) if isinstance(now, frozenset) else now
    patch = delta(before, now)
    patch = Delta({}, []) if patch is MISSING else patch
    patch.changed.update({k: v for k, v in now.items() if id(v) in replaced or id(k) in replaced})
    return patch


def _state_of(obj: Any) -> State | None:
    made = reduced(obj)
    return State(made[2]) if not isinstance(made, str) and len(made) > 2 and made[2] is not None else None  # noqa: PLR2004


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


def home_types(values: Iterable[Any], *, most: int = 2000) -> list[Any]:
    """Return the classes of the notebook whose objects these values hold, as far as a short look tells."""
    found: dict[int, Any] = {}
    level = collections.deque(values)
    seen: set[int] = set()
    while level and len(seen) < most:
        obj = level.popleft()
        if id(obj) in seen or type(obj) in _DULL:
            continue
        seen.add(id(obj))
        cls = type(obj)
        if is_by_value(cls) and not isinstance(obj, type):
            found[id(cls)] = cls
        level.extend(part for part in itertools.islice(children(obj), most) if type(part) not in _DULL)
    return list(found.values())
