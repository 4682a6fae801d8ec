"""What stands in for the browser's half of a widget, which a job does not have.

Knows which packages look for a comm. Must not know how output travels. A bar that never moves is worse than a plain
one: tqdm.notebook gives text bars here, as tqdm.auto does by itself when there is no kernel.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


class TextBars:
    """Finds `tqdm.notebook` and has its bars written as text."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != "tqdm.notebook":
            return None
        sys.meta_path.remove(self)
        try:
            spec = importlib.util.find_spec(name)
        finally:
            sys.meta_path.insert(0, self)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenText(spec.loader)
        return spec


class _ThenText(Loader):
    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        bar = _text_bar()
        module.tqdm = module.tqdm_notebook = bar  # type: ignore[attr-defined]

        def trange(*args: Any, **kwargs: Any) -> Any:
            return bar(range(*args), **kwargs)

        module.trange = module.tnrange = trange  # type: ignore[attr-defined]


def _text_bar() -> Any:
    """Return tqdm's plain bar, taking the arguments of the notebook's."""
    plain: Any = importlib.import_module("tqdm.std").tqdm

    def begin(self: Any, *args: Any, display: object = True, **kwargs: Any) -> None:
        plain.__init__(self, *args, **kwargs)

    return type("tqdm_notebook", (plain,), {"__init__": begin, "__module__": "tqdm.notebook"})


def install() -> None:
    """Stand in from now on, in this process and those forked from it."""
    sys.meta_path.insert(0, TextBars())
