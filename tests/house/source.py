"""The house's own source, as the tests of this folder read it."""

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "jupysched"


def modules(under: str = "") -> list[Path]:
    """Return our Python modules, below a folder or file of the package."""
    start = PACKAGE / under
    found = [start] if start.is_file() else sorted(start.rglob("*.py"))
    return [path for path in found if "labextension" not in path.relative_to(PACKAGE).parts]


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def name(path: Path) -> str:
    """Return how a file is called in messages."""
    return str(path.relative_to(ROOT))


def imports_at_load(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield what is imported, and on which line, when the module is: everything outside functions."""
    pending: list[ast.AST] = [module]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "", node.lineno
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))


def imports_anywhere(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield what is imported, and on which line, inside functions too; `from a import b` as a.b, which may be a module."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def in_git() -> list[Path]:
    """Return the files that git holds, or will after `git add`."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [path for entry in listed.stdout.split(b"\0") if entry and (path := ROOT / entry.decode()).is_file()]
