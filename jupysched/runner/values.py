"""The job's side of what travels: the cell's variables in, what changed out.

Knows the namespace package's two calls. Must not know how anything is packed. The only module of the runner that
touches `jupysched.namespace`.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from jupysched import spool


class Packed(NamedTuple):
    """What goes back, as told to whoever waits for it."""

    names: list[str]
    notes: list[str]


class Values:
    """The variables of one job, between the moment they came and the moment they leave."""

    def __init__(self, directory: str, objects: str, namespace: dict[str, Any]) -> None:
        self._directory = directory
        self._objects = objects
        self._namespace = namespace
        self._baseline: Any = None

    def load(self) -> None:
        """Put what the cell reads into the namespace."""
        path = os.path.join(self._directory, spool.INPUT)
        if os.path.exists(path):
            from jupysched.namespace import unpack

            self._baseline = unpack.load_inputs(path, self._namespace, self._objects)

    def pack(self, path: str, out_names: list[str] | None) -> Packed:
        """Write what changed to `path`, whole or not at all."""
        from jupysched.namespace import diff

        returned = diff.pack_changes(path, self._namespace, self._baseline, self._objects, out_names=out_names)
        return Packed(list(returned.names), [str(note) for note in returned.notes])


def preload() -> None:
    """Import what loading and packing need; called in the zygote."""
    from importlib import import_module

    for name in ("cloudpickle", "jupysched.namespace.unpack", "jupysched.namespace.diff"):
        try:
            import_module(name)
        except ImportError:
            continue
