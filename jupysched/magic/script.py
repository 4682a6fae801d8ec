"""A Python file as a job: it runs as `python FILE args` would. Knows files; how a job is queued stands in `submit`."""

from __future__ import annotations

import os
import sys
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from jupysched.core.errors import BadRequest
from jupysched.magic import preview
from jupysched.magic.args import Asked
from jupysched.magic.desk import Desk
from jupysched.magic.submit import dry_run, submit
from jupysched.magic.work import RUNS_NOTEBOOKS
from jupysched.wire.records import JobRecord


@dataclass(frozen=True, slots=True)
class Script:
    """A file that was read and can be compiled."""

    #: as it was given
    path: str
    args: tuple[str, ...]
    source: str

    @property
    def full_path(self) -> str:
        """What `__file__` is."""
        return os.path.abspath(self.path)


def read_script(path: str, args: Sequence[str] = ()) -> Script:
    """The script. Raises BadRequest for what is no Python file, with the line that is wrong."""
    if path.lower().endswith(".ipynb"):
        raise BadRequest(f"{path} is a notebook, no Python program.", hint=RUNS_NOTEBOOKS)
    try:
        with tokenize.open(path) as file:
            source = file.read()
        compile(source, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        where = f"line {error.lineno}: " if error.lineno else ""
        line = f" {error.text.strip()}" if error.text else ""
        raise BadRequest(f"{path} is no Python program: {where}{error.msg}.{line}") from None
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        raise BadRequest(f"{path} cannot be read: {said}.") from None
    return Script(path, tuple(args), source)


def submit_script(script: Script, asked: Asked) -> JobRecord:
    """The queued job. Raises what `submit` raises."""
    desk, asked = _surroundings(script, asked)
    return submit(desk, asked, script.source, cell=None, instead=_instead(script)).refresh()


def preview_script(script: Script, asked: Asked) -> str:
    """What would be queued, in words; queues nothing."""
    desk, asked = _surroundings(script, asked)
    record, _ = dry_run(desk, asked, script.source, cell=None)
    return "\n".join([preview.head(asked, record), *preview.start(record)])


def _surroundings(script: Script, asked: Asked) -> tuple[Desk, Asked]:
    if asked.in_names:
        raise BadRequest("--in is for cells: a file finds no variables of a notebook.")
    desk = Desk(namespace={"__name__": "__main__", "__file__": script.full_path})
    name = asked.name or os.path.basename(script.path)
    # A script keeps what it computes in files: its variables stay where they are, unless some are asked for.
    return desk, replace(asked, name=name, in_names=("__file__",), out_names=asked.out_names or ())


def _instead(script: Script) -> dict[str, Any]:
    """What Python would have set for this file, and this command has set otherwise."""
    here = os.path.dirname(os.path.realpath(script.path))
    mine = {os.path.dirname(os.path.abspath(sys.argv[0])), ""}
    others = sys.path[1:] if sys.path and sys.path[0] in mine else sys.path
    return {
        "argv": [script.path, *script.args],
        "sys_path": [here, *map(str, others)],
        "cell_name": script.full_path,
        # A program shows nothing but what it prints.
        "interactivity": "none",
    }
