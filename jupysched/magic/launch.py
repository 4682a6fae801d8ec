"""What a job inherits from the notebook, as launch.json: interpreter, environment, directory, the cell and its name.

Knows this process and IPython's compiler. Must not know the queue or what the job will do with it.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from jupysched.core.errors import ClusterError
from jupysched.magic.cell import number_in
from jupysched.magic.failure import from_job

#: packages worth having in the zygote, if the cell uses them: a fork of a zygote with torch costs four times one without
PRELOADED = ("numpy", "scipy", "pandas", "matplotlib", "sklearn", "torch")


def launch_record(
    cell: str,
    *,
    shell: Any,
    objects: Path,
    name: str,
    allow_stdin: bool,
    out_names: tuple[str, ...] | None,
    cell_name: str,
    packages: Collection[str],
) -> dict[str, Any]:
    """The whole record; `packages`: what the cell and its values import. Raises ClusterError if the working directory is gone."""
    return {
        "executable": sys.executable,
        "prefix": sys.prefix,
        "cwd": _cwd(),
        "env": dict(os.environ),
        "sys_path": [str(part) for part in sys.path],
        "umask": _umask(),
        "argv": [str(word) for word in getattr(sys, "argv", [""])],
        "preload": [m for m in PRELOADED if m in packages],
        "cell": cell,
        "cell_name": cell_name,
        "execution_count": number_in(shell) if shell is not None else 1,
        "interactivity": str(getattr(shell, "ast_node_interactivity", "last_expr")),
        "allow_stdin": allow_stdin,
        "matplotlib_inline": _draws_inline(),
        "objects": str(objects),
        "out_names": None if out_names is None else list(out_names),
        "name": name,
    }


def name_cell(cell: str, shell: Any) -> str:
    """The file name under which tracebacks show this cell, here and in the job; the kernel knows its lines from now on.

    Raises SyntaxError's twin, as IPython shows it, if the cell cannot be compiled."""
    compiler = shell.compile
    try:
        transformed = shell.transform_cell(cell)
        name: str = compiler.cache(transformed, number_in(shell), raw_code=cell)
        with compiler.extra_flags(ast.PyCF_ALLOW_TOP_LEVEL_AWAIT):
            compiler(compiler.ast_parse(transformed, name), name, "exec")
    except SyntaxError as error:
        lines = shell.SyntaxTB.structured_traceback(type(error), error, [])
        raise from_job(type(error).__name__, str(error), list(lines)) from None
    except (ValueError, OverflowError, RecursionError) as error:
        # A null byte, a number too large, a nest too deep: a plain cell shows them as errors of its own too.
        raise from_job(type(error).__name__, str(error), [f"{type(error).__name__}: {error}"]) from None
    return name


def _cwd() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise ClusterError(
            "The notebook's working directory no longer exists.",
            hint="Change to another one with %cd and submit again.",
        ) from None


def _umask() -> int:
    """os.umask can only be read by changing it, for every thread; the system tells it too."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        for line in file:
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o022


def _draws_inline() -> bool:
    return "inline" in os.environ.get("MPLBACKEND", "") or "matplotlib_inline.backend_inline" in sys.modules
