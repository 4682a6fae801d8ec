"""Lets children that start from nothing find what the cell defined, as if the cell were a script.

Knows multiprocessing's "spawn" and "forkserver", whose children import the parent's main file. A cell has none, and
running it again in every child would be worse than none: instead the children get the functions and classes of
`__main__`, and what those use, packed as for a job. Written only when a first child is about to start.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_MAIN = """\
# What children started by multiprocessing's "spawn" find as their main module.
import sys
try:
    import jupysched
except ImportError:
    sys.path.append({package!r})
from jupysched.runner.spawned import restore
restore({packed!r}, {objects!r}, globals())
del restore
"""


class Spawned:
    """What one job's spawned children need."""

    def __init__(self, path: str, objects: str, shell: Any) -> None:
        self._path = path
        self._objects = objects
        self._shell = shell

    def install(self) -> None:
        """Tell multiprocessing, when it asks what its child should import."""
        from multiprocessing import spawn

        original = spawn.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, Any]:
            data: dict[str, Any] = original(name)
            if "init_main_from_name" not in data and "init_main_from_path" not in data:
                main = self.write()
                if main is not None:
                    data["init_main_from_path"] = main
            return data

        spawn.get_preparation_data = get_preparation_data

    def write(self) -> str | None:
        """Return the main file for the children to come, or None if nothing of ours can be packed.

        Writes: main.py and main.pickle in the attempt's directory, anew each time: the cell may have defined more.
        """
        names = [name for name, value in self._shell.user_ns.items() if self._is_defined_here(name, value)]
        packed = os.path.join(self._path, "main.pickle")
        while names:
            try:
                self._pack(names, packed)
                break
            except Exception as error:
                # What can't travel stays behind by itself; a child that needs it says so.
                bad = getattr(error, "name", None)
                if bad not in names:
                    return None
                names.remove(bad)
        if not names:
            return None
        main = os.path.join(self._path, "main.py")
        with open(main, "w", encoding="utf-8") as file:
            file.write(_MAIN.format(package=_PACKAGE, packed=packed, objects=self._objects))
        return main

    def _is_defined_here(self, name: str, value: Any) -> bool:
        if name in self._shell.user_ns_hidden or name.startswith("_"):
            return False
        return callable(value) and getattr(value, "__module__", None) == "__main__" and hasattr(value, "__qualname__")

    def _pack(self, names: list[str], path: str) -> None:
        from jupysched.namespace.objects import ObjectStore
        from jupysched.namespace.pack import pack_inputs

        store = ObjectStore(Path(self._objects))
        pack_inputs("", self._shell.user_ns, objects=store, in_names=names).write(Path(path))


def restore(path: str, objects: str, namespace: dict[str, Any]) -> None:
    """Put what was packed into the child's main module. Random numbers start anew in each child, as they would."""
    import random

    from jupysched.namespace.objects import ObjectStore
    from jupysched.namespace.unpack import load_inputs

    load_inputs(Path(path), namespace, ObjectStore(Path(objects)))
    random.seed()
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()
