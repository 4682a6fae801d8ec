"""What was sent or received, by number, and what of it has changed since. Knows facets; knows nothing of files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jupysched.namespace import buffer_facets  # noqa: F401  registers the facets of arrays and tensors
from jupysched.namespace.facets import FACETS, MISSING, facets_of

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


def names_that_reach(names: Mapping[str, Any], changed: set[int], parts: Any) -> list[str]:
    """Return the names from which one of these objects (by id) can be reached."""
    found = []
    for name, value in names.items():
        level, seen = [value], set()
        while level:
            obj = level.pop()
            if id(obj) in seen or type(obj) in (str, bytes, int, float):
                continue
            seen.add(id(obj))
            if id(obj) in changed:
                found.append(name)
                break
            level.extend(part for _, part in parts(obj))
    return found
