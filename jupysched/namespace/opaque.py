"""Objects whose state is not in their attributes: what they would pickle tells whether they changed.

What an object pickles is compared shallowly: everything that was numbered counts by its number, since it is compared
for itself. Knows the pickler; knows nothing of files.
"""

from __future__ import annotations

import copyreg
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupysched.namespace.facets import MISSING
from jupysched.namespace.objects import ObjectStore, content_name
from jupysched.namespace.pickling import NotebookPickler, unique


class HashOnly(ObjectStore):
    """An object store that keeps nothing, for pickles that nobody reads."""

    def put(self, buffer: object, *, name: str | None = None, owner: object = None, place: int = 0) -> str:
        """Return the name that the buffer would have."""
        return name or content_name(memoryview(buffer).cast("B"))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class State:
    """The state of an object as its own __setstate__ takes it."""

    value: Any


#: what change() returns for objects that can't be changed in place
REPLACED = object()


class Opaque:
    """Sees changes of objects that only pickle can look into; one of these for each set of numbered objects."""

    def __init__(self, numbered: dict[int, Any]) -> None:
        count = max(numbered, default=-1) + 1
        self.file = io.BytesIO()
        self.pickler = NotebookPickler(
            self.file,
            home=numbered.get(0) or {},
            objects=HashOnly(Path()),
            seeds=unique([numbered.get(n) for n in range(count)]),
        )
        # no numbers for what is only met here: the same state gives the same bytes
        self.pickler.fast = True

    def __del__(self) -> None:
        # A pickler knows itself, and would hold all that is numbered until the collector comes by.
        self.pickler.clear_memo()

    def take(self, obj: Any) -> tuple[bytes, bytes] | None:
        """Return digests of how the object is made and of its state; None when it can't be told."""
        made = reduced(obj)
        if isinstance(made, str):
            return None
        return self._bytes(made[:2]), self._bytes([*map(_listed, made[2:])])

    def change(self, obj: Any, before: tuple[bytes, bytes] | None) -> Any:
        """Return the patch that leads from the snapshot to the object as it is, or MISSING."""
        if before is None:
            return MISSING
        made = reduced(obj)
        try:
            now = self.take(obj)
        except Exception:  # noqa: BLE001  it can't be pickled any more: packing will say why
            now = None
        if now == before:
            return MISSING
        has_state = not isinstance(made, str) and len(made) > 2 and made[2] is not None  # noqa: PLR2004
        if now is None or (has_state and now[0] == before[0]):
            return State(made[2]) if has_state else REPLACED
        return REPLACED

    def _bytes(self, value: Any) -> bytes:
        self.file.seek(0)
        self.file.truncate()
        self.pickler.dump(value)
        return self.file.getvalue()


def _listed(part: Any) -> Any:
    """Return items as a list: an iterator would be used up."""
    return list(part) if hasattr(part, "__next__") else part


def reduced(obj: Any) -> Any:
    """Return what an object says of itself to pickle."""
    reduce = copyreg.dispatch_table.get(type(obj))
    return reduce(obj) if reduce is not None else obj.__reduce_ex__(4)


def apply_state(obj: Any, state: Any) -> None:
    """Give an original the state, as pickle would."""
    if hasattr(type(obj), "__setstate__"):
        obj.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:  # noqa: PLR2004  (attributes, slots)
        state, slots = state
    if state:
        obj.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(obj, name, value)
