"""What the job's own code imports is followed, and stays what it was in every other way."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from jupysched.runner.hooks import Imports

SOURCE = '"""A library."""\n\n\ndef log():\n    """Log."""\n    return "theirs"\n'


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package `followed_library` with a module `writer`, not imported yet."""
    folder = tmp_path / "followed_library"
    folder.mkdir()
    (folder / "__init__.py").write_text("from followed_library import writer\n")
    (folder / "writer.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield folder
    for name in [name for name in sys.modules if name.startswith("followed_library")]:
        del sys.modules[name]


@pytest.fixture
def follow() -> Callable[[Callable[[ModuleType], None]], list[tuple[str, str]]]:
    """Follows the module with a function, and returns the list of what fails."""

    def install(function: Callable[[ModuleType], None]) -> list[tuple[str, str]]:
        failed: list[tuple[str, str]] = []
        Imports({"followed_library.writer": function}, lambda name, error: failed.append((name, str(error)))).install()
        return failed

    return install


Install = Callable[[Callable[[ModuleType], None]], list[tuple[str, str]]]


def test_a_module_is_followed_once_it_is_whole_however_it_was_imported(library: Path, follow: Install) -> None:
    seen: list[object] = []
    follow(lambda module: seen.append(module.log()))
    assert seen == []
    importlib.import_module("followed_library")
    assert seen == ["theirs"]


def test_a_module_that_was_there_before_is_followed_too(library: Path, follow: Install) -> None:
    importlib.import_module("followed_library")
    seen: list[str] = []
    follow(lambda module: seen.append(module.__name__))
    assert seen == ["followed_library.writer"]


def test_its_source_and_its_loader_are_as_without_us(library: Path, follow: Install) -> None:
    follow(lambda _module: None)
    module = importlib.import_module("followed_library.writer")
    assert module.__spec__ is not None
    assert type(module.__spec__.loader) is importlib.machinery.SourceFileLoader
    assert "exec_module" not in vars(module.__spec__.loader)
    assert inspect.getsource(module) == SOURCE


def test_a_module_that_is_loaded_again_is_followed_again(library: Path, follow: Install) -> None:
    seen: list[str] = []
    follow(lambda module: seen.append(module.__name__))
    importlib.reload(importlib.import_module("followed_library.writer"))
    assert seen == ["followed_library.writer"] * 2


def test_what_we_do_wrong_is_told_and_the_import_succeeds(library: Path, follow: Install) -> None:
    def wrong(module: ModuleType) -> None:
        raise AttributeError("no such class")

    failed = follow(wrong)
    assert importlib.import_module("followed_library").writer.log() == "theirs"
    assert failed == [("followed_library.writer", "no such class")]


def test_an_error_of_the_library_itself_is_its_own(library: Path, follow: Install) -> None:
    (library / "writer.py").write_text("raise ImportError('libcuda is missing')\n")
    failed = follow(lambda _module: None)
    with pytest.raises(ImportError, match="libcuda is missing"):
        importlib.import_module("followed_library")
    assert failed == []


def test_what_is_not_there_is_not_found(library: Path, follow: Install) -> None:
    (library / "writer.py").unlink()
    (library / "__init__.py").write_text("")
    seen: list[ModuleType] = []
    follow(seen.append)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("followed_library.writer")
    assert seen == []
