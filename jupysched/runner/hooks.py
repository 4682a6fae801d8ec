"""Runs a function of ours when the job's own code imports a certain module. Knows Python's import; knows no library.

Nothing is imported by us, and a module that is not awaited costs one look into a dictionary. What goes wrong in a function of
ours is said once on the job's card and never reaches the code that imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

#: What is done with a module once it is there.
Follow = Callable[[ModuleType], None]
#: Told the module's name and what went wrong.
Failed = Callable[[str, Exception], None]


class Imports:
    """A finder that lets others find, and adds a step after the module has been executed."""

    def __init__(self, awaited: Mapping[str, Follow], failed: Failed) -> None:
        self._awaited = awaited
        self._failed = failed

    def install(self) -> None:
        """Look from now on; what is imported already is followed now."""
        sys.meta_path.insert(0, self)
        for name in self._awaited:
            module = sys.modules.get(name)
            if module is not None:
                self._follow(name, module)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return what the other finders find, its loader extended; None for what is not awaited."""
        if name not in self._awaited:
            return None
        for finder in list(sys.meta_path):
            found = None if finder is self else finder.find_spec(name, path, target)
            if found is not None:
                self._extend(name, found)
                return found
        return None

    def _extend(self, name: str, spec: ModuleSpec) -> None:
        # The loader itself stays what it is, with all that tools ask of it; one of its methods is covered until it is called.
        loader: Any = spec.loader
        execute = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)
            execute(module)
            self._follow(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError as error:
            self._failed(name, error)

    def _follow(self, name: str, module: ModuleType) -> None:
        try:
            self._awaited[name](module)
        except Exception as error:
            self._failed(name, error)
