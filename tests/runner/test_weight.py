"""Launcher and shim stay light: what they import is listed here, and nothing is imported without being asked for."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

RUNNER = Path(__file__).parents[2] / "jupysched" / "runner"
MODULES = [*sorted(RUNNER.glob("*.py")), RUNNER.parent / "spool.py"]

#: Every module of ours that the launcher loads; a shim loads fewer.
LAUNCHER = {
    "jupysched", "jupysched.spool", "jupysched.runner", "jupysched.runner.door", "jupysched.runner.environment",
    "jupysched.runner.launcher", "jupysched.runner.safe", "jupysched.runner.tree", "jupysched.runner.warm",
}  # fmt: skip
SHIM = {
    "jupysched", "jupysched.spool", "jupysched.runner", "jupysched.runner.attempt", "jupysched.runner.control", "jupysched.runner.gauge", "jupysched.runner.intake",
    "jupysched.runner.notify", "jupysched.runner.packets", "jupysched.runner.points", "jupysched.runner.recorder", "jupysched.runner.shim",
    "jupysched.runner.stopping", "jupysched.runner.tree",
}  # fmt: skip
#: Heavy parts of the standard library that neither may pull in.
HEAVY = {
    "asyncio",
    "ctypes.util",
    "email",
    "http",
    "inspect",
    "logging",
    "multiprocessing",
    "pydoc",
    "ssl",
    "typing_extensions",
    "unittest",
}


def loaded(module: str) -> set[str]:
    """Return what a fresh interpreter has loaded after importing the module."""
    code = f"import sys; before = set(sys.modules); import {module}; import json; print(json.dumps(sorted(set(sys.modules) - before)))"
    said = subprocess.run([sys.executable, "-S", "-c", code], cwd=RUNNER.parents[1], capture_output=True, check=True)
    return set(json.loads(said.stdout))


@pytest.mark.parametrize(("module", "ours"), [("jupysched.runner.launcher", LAUNCHER), ("jupysched.runner.shim", SHIM)])
def test_what_it_loads_is_listed(module: str, ours: set[str]) -> None:
    found = loaded(module)
    assert {name for name in found if name.startswith("jupysched")} == ours
    assert {name.partition(".")[0] for name in found} - {"jupysched"} <= set(sys.stdlib_module_names)
    assert HEAVY & found == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_only_the_standard_library_is_imported_at_module_level(path: Path) -> None:
    imported = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    allowed = {*sys.stdlib_module_names, "jupysched"}
    assert {name for name in imported if name.partition(".")[0] not in allowed} == set()
    assert {
        name
        for name in imported
        if name.startswith("jupysched.") and not name.startswith(("jupysched.runner", "jupysched.spool"))
    } == set()
