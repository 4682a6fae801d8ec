"""A module that grows past 400 lines has a second noun in it (STYLE: 300 soft, 400 hard)."""

import ast
from pathlib import Path

import pytest

from tests.house.source import ROOT, in_git, modules, name, tree

MOST_LINES = 400
MOST_LINES_OF_A_TEST = 500
GENERATED = {"labextension/src/api/schema.ts"}


def lines(path: Path) -> int:
    """Return the length of a file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_module_is_longer_than_400_lines() -> None:
    typescript = [path for path in in_git() if path.suffix in (".ts", ".tsx") and name(path) not in GENERATED]
    long = {name(path): lines(path) for path in [*modules(), *typescript] if lines(path) > MOST_LINES}
    assert long == {}, "which second noun has moved in?"


def test_no_test_file_is_longer_than_500_lines() -> None:
    long = {
        name(path): lines(path) for path in sorted((ROOT / "tests").rglob("*.py")) if lines(path) > MOST_LINES_OF_A_TEST
    }
    assert long == {}, "which second promise is in there?"


@pytest.mark.parametrize("path", modules(), ids=name)
def test_every_module_says_what_it_knows(path: Path) -> None:
    assert ast.get_docstring(tree(path)) or not tree(path).body, f"{name(path)} has no docstring"
