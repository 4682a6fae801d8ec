"""The job's side of what travels: the cell's variables in, what changed out.

Knows the namespace package's calls. Must not know how anything is packed. With `spawned`, all of the runner that
touches `jupysched.namespace`.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, NamedTuple

from jupysched import spool

_PRELOADED = ("jupysched.namespace.unpack", "jupysched.namespace.diff", "jupysched.namespace.pack")


class Packed(NamedTuple):
    """What goes back, as told to whoever waits for it."""

    names: list[str]
    notes: list[str]


class Values:
    """The variables of one job, between the moment they came and the moment they leave."""

    def __init__(self, directory: str, objects: str, namespace: dict[str, Any]) -> None:
        self._input = Path(directory, spool.INPUT)
        self._objects = objects
        self._namespace = namespace
        #: as it was when the cell began; the namespace's own record
        self._baseline: Any = None

    def load(self) -> None:
        """Put what the cell reads into the namespace. Raises: whatever a variable's own code raises."""
        from jupysched.namespace.objects import ObjectStore
        from jupysched.namespace.unpack import load_inputs

        self._baseline = load_inputs(self._input, self._namespace, ObjectStore(Path(self._objects)))

    def pack(self, path: str, out_names: list[str] | None) -> Packed:
        """Write what changed to `path`, whole or not at all; nothing where nothing was loaded."""
        if self._baseline is None:
            return Packed([], [])
        from jupysched.namespace.diff import pack_changes
        from jupysched.namespace.objects import ObjectStore

        store = ObjectStore(Path(self._objects))
        returned = pack_changes(Path(path), self._namespace, self._baseline, store, out_names=out_names)
        return Packed(list(returned.names), [str(note) for note in returned.notes])


def rehearse() -> None:
    """Load nothing, from a file in memory: what a job does first has been done once then. Changes nothing that a job reads."""
    from jupysched.namespace.objects import ObjectStore
    from jupysched.namespace.pack import pack_inputs
    from jupysched.namespace.unpack import load_inputs

    nowhere = ObjectStore(Path(os.devnull))
    with contextlib.suppress(Exception), open(os.memfd_create("jupysched"), "wb") as file:
        packed = pack_inputs("pass", {"__name__": "__main__"}, objects=nowhere)
        packed.writer.write_to(file, packed.header)
        file.flush()
        load_inputs(Path(f"/proc/self/fd/{file.fileno()}"), {}, nowhere)


def preload() -> None:
    """Import what loading and packing need; called in the zygote. What fails here fails again where it is seen."""
    from importlib import import_module

    for name in _PRELOADED:
        try:
            import_module(name)
        except ImportError:
            continue
