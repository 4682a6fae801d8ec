"""Names that a cell uses only through IPython's syntax: magics, shell lines, `{x}` and `$x`. Runs nothing."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

#: magics whose line is Python after their options
_CODE_LINE = frozenset(
    {"timeit", "time", "prun", "memit", "lprun", "mprun", "pinfo", "pinfo2", "psearch", "debug", "px"}
)
#: magics whose body is Python
_CODE_BODY = frozenset({"time", "timeit", "capture", "prun", "memit", "mprun", "px", "debug", "code_wrap"})
_OPTIONS_WITH_VALUE = re.compile(r"-[nrpsltD]\s*\S+")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_BRACES = re.compile(r"\{([^{}]+)\}")
_DOLLAR = re.compile(r"(?<!\\)\$\{?([^\W\d]\w*)")
WORD = re.compile(r"[^\W\d]\w*")


@dataclass(slots=True)
class ShellUse:
    """What the magics and shell lines of a cell use."""

    #: pieces of Python to analyse like the cell
    code: list[str] = field(default_factory=list)
    #: names that may be meant
    words: set[str] = field(default_factory=set)
    #: files run in the namespace of the notebook (%run -i)
    scripts: list[str] = field(default_factory=list)


def shell_use(calls: list[tuple[str, tuple[str, ...]]]) -> ShellUse:
    """Return what these calls of get_ipython().METHOD(constants) use."""
    use = ShellUse()
    for method, args in calls:
        if method in {"run_line_magic", "run_cell_magic", "magic"} and args:
            name, _, rest = args[0].partition(" ") if method == "magic" else (args[0], "", " ".join(args[1:2]))
            _magic(use, name.lstrip("%"), rest)
            if method == "run_cell_magic" and len(args) > 2:  # noqa: PLR2004  name, line, body
                _body(use, name, args[2])
        elif method in {"system", "getoutput", "getoutput_pipe", "var_expand"}:
            for text in args:
                _expansions(use, text)
        else:
            for text in args:
                use.words.update(WORD.findall(text))
    return use


def _magic(use: ShellUse, name: str, line: str) -> None:
    _expansions(use, line)
    if name in _CODE_LINE:
        use.code.append(_OPTION.sub("", _OPTIONS_WITH_VALUE.sub("", line)).strip())
    elif name == "run":
        _run(use, line)
    else:
        use.words.update(WORD.findall(line))


def _body(use: ShellUse, name: str, body: str) -> None:
    if name in _CODE_BODY:
        use.code.append(body)
    else:
        _expansions(use, body)


def _run(use: ShellUse, line: str) -> None:
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    options = [w for w in words if w.startswith("-")]
    script = next((w for w in words if not w.startswith("-")), None)
    if script and any("i" in o for o in options if not o.startswith("--")):
        use.scripts.append(script)


def _expansions(use: ShellUse, text: str) -> None:
    for expression in _BRACES.findall(text):
        use.words.update(WORD.findall(expression))
    use.words.update(_DOLLAR.findall(text))


def script_text(script: str) -> str | None:
    """Return the text of a script, or None when it can't be read."""
    for path in (Path(script), Path(script + ".py")):
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return None
