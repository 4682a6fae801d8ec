"""What about an object can change, how a change is seen, and how it is put into the original. Knows no pickles.

Each facet takes a shallow snapshot: parts are compared by identity, because each part that can change has facets of its
own. Patches are applied in place, so that every alias in the notebook sees them.
"""

from __future__ import annotations

import collections
import operator
import sys
import types
from dataclasses import dataclass
from typing import Any, Protocol

import xxhash

#: classes whose objects never change, or travel by name
_CONSTANT = {
    *(int, float, str, bytes, bool, complex, type(None), tuple, frozenset, range, slice, type(Ellipsis)),
    *(types.CodeType, types.ModuleType, types.BuiltinFunctionType, types.MethodType, types.MappingProxyType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.WrapperDescriptorType, property, classmethod),
    *(types.MethodDescriptorType, staticmethod, types.GenericAlias),
}
_CONSTANT_NAMES = {
    *("datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta", "datetime.timezone"),
    *("decimal.Decimal", "fractions.Fraction", "uuid.UUID", "re.Pattern", "numpy.dtype", "torch.Size", "torch.dtype"),
    *("torch.device", "logging.Logger", "logging.RootLogger", "pathlib.PosixPath", "_weakref.ReferenceType"),
    *("weakref.ReferenceType", "operator.itemgetter", "operator.attrgetter", "functools.partial", "_io.TextIOWrapper"),
}
_CLASS_NOISE = {
    *("__dict__", "__weakref__", "__module__", "_abc_impl", "__abstractmethods__", "__doc__", "__qualname__"),
    *("__slotnames__", "__firstlineno__", "__static_attributes__"),
}
MISSING = object()


@dataclass(slots=True)
class Delta:
    """What changed in something that has named parts."""

    changed: dict[Any, Any]
    removed: list[Any]
    #: all keys in their new order; None where adding at the end gives that order
    order: list[Any] | None = None


class Facet(Protocol):
    """One side of an object that can change."""

    def take(self, obj: Any) -> Any:
        """Return a snapshot."""

    def change(self, obj: Any, before: Any) -> Any:
        """Return the patch that leads from the snapshot to the object as it is, or MISSING."""

    def apply(self, obj: Any, patch: Any) -> None:
        """Put the patch into an original."""


def delta(before: dict[Any, Any], after: dict[Any, Any]) -> Any:
    """Return what changed between two dictionaries, or MISSING; parts are compared by identity."""
    if len(before) == len(after) and all(map(operator.is_, before.values(), after.values())):
        if all(map(operator.is_, before, after)):
            return MISSING
    changed = {k: v for k, v in after.items() if before.get(k, MISSING) is not v}
    removed = [k for k in before if k not in after]
    order = [k for k in before if k in after] + [k for k in after if k not in before]
    return Delta(changed, removed, None if order == list(after) else list(after))


class ListFacet:
    def take(self, obj: Any) -> Any:
        return list(obj)

    def change(self, obj: Any, before: Any) -> Any:
        if len(obj) == len(before) and all(map(operator.is_, obj, before)):
            return MISSING
        return list(obj)

    def apply(self, obj: Any, patch: Any) -> None:
        obj[:] = patch


class DequeFacet(ListFacet):
    def apply(self, obj: Any, patch: Any) -> None:
        obj.clear()
        obj.extend(patch)


class DictFacet:
    def take(self, obj: Any) -> Any:
        # only an OrderedDict keeps an order of its own; other classes may compute their items()
        return dict(obj.items()) if type(obj) is collections.OrderedDict else dict(dict.items(obj))

    def change(self, obj: Any, before: Any) -> Any:
        return delta(before, self.take(obj))

    def apply(self, obj: Any, patch: Delta) -> None:
        cls: Any = collections.OrderedDict if isinstance(obj, collections.OrderedDict) else dict
        for key in patch.removed:
            cls.pop(obj, key, None)
        for key, value in patch.changed.items():
            cls.__setitem__(obj, key, value)
        if patch.order is not None:
            for key in patch.order:
                if dict.__contains__(obj, key):
                    cls.__setitem__(obj, key, cls.pop(obj, key))


class SetFacet:
    def take(self, obj: Any) -> Any:
        return frozenset(obj)

    def change(self, obj: Any, before: Any) -> Any:
        return MISSING if len(obj) == len(before) and {*map(id, obj)} == {*map(id, before)} else list(obj)

    def apply(self, obj: Any, patch: Any) -> None:
        obj.clear()
        obj.update(patch)


class BytearrayFacet:
    def take(self, obj: Any) -> Any:
        return xxhash.xxh3_128_digest(obj)

    def change(self, obj: Any, before: Any) -> Any:
        return MISSING if xxhash.xxh3_128_digest(obj) == before else bytes(obj)

    def apply(self, obj: Any, patch: Any) -> None:
        obj[:] = patch


class InstanceFacet:
    """Attributes in __dict__ and __slots__."""

    def take(self, obj: Any) -> Any:
        return attributes(obj)

    def change(self, obj: Any, before: Any) -> Any:
        return delta(before, attributes(obj))

    def apply(self, obj: Any, patch: Delta) -> None:
        held = getattr(obj, "__dict__", None)
        for name in patch.removed:
            if isinstance(held, dict) and name in held:
                del held[name]
            else:
                object.__delattr__(obj, name)
        for name, value in patch.changed.items():
            if isinstance(held, dict) and name not in slot_names(type(obj)):
                held[name] = value
            else:
                object.__setattr__(obj, name, value)


class FunctionFacet:
    names = ("__defaults__", "__kwdefaults__", "__code__")

    def take(self, obj: Any) -> Any:
        return dict(obj.__dict__) | {name: getattr(obj, name) for name in self.names}

    def change(self, obj: Any, before: Any) -> Any:
        return delta(before, self.take(obj))

    def apply(self, obj: Any, patch: Delta) -> None:
        for name in patch.removed:
            obj.__dict__.pop(name, None)
        for name, value in patch.changed.items():
            setattr(obj, name, value)


class CellFacet:
    """The contents of a closure's variable, as a tuple that is empty when it is unbound."""

    def take(self, obj: Any) -> Any:
        try:
            return (obj.cell_contents,)
        except ValueError:
            return ()

    def change(self, obj: Any, before: Any) -> Any:
        now = self.take(obj)
        return MISSING if len(now) == len(before) and all(map(operator.is_, now, before)) else now

    def apply(self, obj: Any, patch: Any) -> None:
        if patch:
            obj.cell_contents = patch[0]
        else:
            del obj.cell_contents


class ClassFacet:
    def take(self, obj: Any) -> Any:
        return {k: v for k, v in vars(obj).items() if k not in _CLASS_NOISE}

    def change(self, obj: Any, before: Any) -> Any:
        return delta(before, self.take(obj))

    def apply(self, obj: Any, patch: Delta) -> None:
        for name in patch.removed:
            type.__delattr__(obj, name)
        for name, value in patch.changed.items():
            type.__setattr__(obj, name, value)


def slot_names(cls: type) -> list[str]:
    """Return the slots of a class and its bases."""
    names: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in {"__dict__", "__weakref__"}:
                continue
            names.append(
                f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
            )
    return names


def attributes(obj: Any) -> dict[str, Any]:
    """Return the attributes that an object itself holds."""
    held = getattr(obj, "__dict__", None)
    found = dict(held) if isinstance(held, dict) else {}
    for name in slot_names(type(obj)):
        value = getattr(obj, name, MISSING)
        if value is not MISSING:
            found[name] = value
    return found


def is_by_value(obj: Any) -> bool:
    """Return whether a function or class belongs to the notebook or a function, not to a module."""
    return getattr(obj, "__module__", None) == "__main__" or "<locals>" in getattr(obj, "__qualname__", "")


FACETS: dict[str, Facet] = {
    "list": ListFacet(),
    "deque": DequeFacet(),
    "dict": DictFacet(),
    "set": SetFacet(),
    "bytearray": BytearrayFacet(),
    "instance": InstanceFacet(),
    "function": FunctionFacet(),
    "cell": CellFacet(),
    "class": ClassFacet(),
}
_BY_BASE: tuple[tuple[type, str], ...] = (
    (list, "list"),
    (dict, "dict"),
    (set, "set"),
    (collections.deque, "deque"),
    (bytearray, "bytearray"),
)
_known: dict[type, tuple[str, ...]] = {}


def facets_of(obj: Any) -> tuple[str, ...]:
    """Return the names of the facets of this object; empty for what never changes."""
    cls = type(obj)
    found = _known.get(cls)
    if found is None:
        found = _known[cls] = _facets_of_class(cls)
    if found and found[0] in ("function", "class") and not is_by_value(obj):
        return ()
    return found


def _facets_of_class(cls: type) -> tuple[str, ...]:
    from enum import Enum, EnumMeta

    if cls in _CONSTANT or f"{cls.__module__}.{cls.__qualname__}" in _CONSTANT_NAMES or issubclass(cls, Enum):
        return ()
    if cls is types.FunctionType:
        return ("function",)
    if cls is types.CellType:
        return ("cell",)
    if issubclass(cls, type):
        return () if issubclass(cls, EnumMeta) else ("class",)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and issubclass(cls, numpy.generic):
        return ()
    if numpy is not None and cls is numpy.ndarray:
        return ("array",)
    if torch is not None and hasattr(torch, "UntypedStorage"):
        if cls is torch.UntypedStorage:
            return ("storage",)
        if cls is torch.Tensor or cls is torch.nn.Parameter:
            return ("tensor",)
    kinds = [kind for base, kind in _BY_BASE if issubclass(cls, base)]
    if _has_hidden_state(cls):
        kinds.append("opaque")
    elif cls.__dictoffset__ or slot_names(cls):
        kinds.append("instance")
    return tuple(kinds)


def _has_hidden_state(cls: type) -> bool:
    """Return whether objects of this class say themselves what of them travels."""
    own = [vars(base) for base in cls.__mro__ if base.__module__ not in {"builtins", "collections"}]
    return any(name in names for names in own for name in ("__reduce__", "__reduce_ex__", "__getstate__"))
