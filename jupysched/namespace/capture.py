"""Which variables a cell reads. Knows the cell's text and the names of the notebook; runs nothing.

The functions and classes that a variable holds are followed while they are pickled (`pack`), where every function
passes by: no second walk can disagree with it.
"""

from __future__ import annotations

import ast
import contextlib
import re
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from jupysched.namespace.flow import analyse
from jupysched.namespace.names import Flow
from jupysched.namespace.shell_syntax import WORD, script_text, shell_use

_HISTORY = re.compile(r"_i{0,3}\d*|_oh|_dh|_ih|_i{1,3}|In|Out")
#: names that IPython puts into every notebook
SHELL_NAMES = frozenset({"exit", "quit", "get_ipython", "open"})
_AT_NAME = re.compile(r"@([^\W\d]\w*)")
_SIMPLE = (int, float, complex, str, bytes, bool, type(None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a cell reads, assigns and imports."""

    #: must travel
    needed: tuple[str, ...]
    #: travel if they can; the cell may do without
    wanted: tuple[str, ...]
    #: only deleted by the cell: the name must exist in the job, its value need not
    dropped: frozenset[str]
    #: assigned by the cell's own lines
    stored: frozenset[str]
    #: modules that the cell imports
    imports: frozenset[str]
    #: every name and attribute that the cell mentions
    mentioned: frozenset[str]
    #: the numbers n of Out[n] that the cell uses
    outputs: tuple[int, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """Every name that travels when it can."""
        return frozenset(self.needed) | frozenset(self.wanted)


def is_private(name: str) -> bool:
    """Return whether IPython owns this name: In, Out, _, _i3, _12 ..."""
    return _HISTORY.fullmatch(name) is not None or (
        name.startswith("__") and name.endswith("__") and name != "__annotations__"
    )


def is_shell_value(name: str, value: object) -> bool:
    """Return whether this is IPython's own exit, quit, open or get_ipython, not a variable of that name."""
    if name not in SHELL_NAMES:
        return False
    module = str(getattr(value, "__module__", "") or type(value).__module__)
    return module.split(".", maxsplit=1)[0] in {"IPython", "ipykernel", "_io", "io", "_sitebuiltins"} or (
        type(value).__module__.split(".")[0] in {"IPython", "ipykernel", "_sitebuiltins"}
    )


def reads(
    cell: str,
    user_ns: Mapping[str, object],
    *,
    transform: Callable[[str], str] | None = None,
) -> Reads:
    """Return what this cell reads of the notebook's variables.

    `transform` turns IPython's syntax into Python (shell.transform_cell). Raises: SyntaxError, with the cell's lines.
    """
    flow = _analyse_text(cell, transform)
    needed: dict[str, None] = dict(flow.needed)
    wanted: dict[str, None] = dict(flow.wanted)
    wanted.update(dict.fromkeys(_read_by_scripts(flow, user_ns, transform)))
    wanted.update(dict.fromkeys(_names_in_strings(flow)))
    return Reads(
        needed=tuple(n for n in needed if _is_variable(n, user_ns)),
        wanted=tuple(n for n in wanted if n not in needed and _is_variable(n, user_ns)),
        dropped=frozenset(n for n in flow.dropped if n in user_ns and n not in needed and n not in wanted),
        stored=frozenset(flow.stored),
        imports=frozenset(flow.imports),
        mentioned=frozenset(flow.mentioned),
        outputs=_outputs(cell, flow, user_ns),
    )


def _analyse_text(text: str, transform: Callable[[str], str] | None) -> Flow:
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    text = transform(text) if transform else text
    tree = compile(text, "<cell>", "exec", flags=flags | ast.PyCF_ONLY_AST, dont_inherit=True)
    # The parser accepts what the compiler refuses ('return' outside a function, a nonlocal at top level).
    compile(text, "<cell>", "exec", flags=flags, dont_inherit=True)
    return analyse(tree, transform)


def _read_by_scripts(
    flow: Flow, user_ns: Mapping[str, object], transform: Callable[[str], str] | None
) -> Iterable[str]:
    """Yield the names that scripts of %run -i may read."""
    for script in shell_use(flow.shell_calls).scripts:
        text = script_text(script)
        inner = None
        if text is not None:
            with contextlib.suppress(SyntaxError):
                inner = _analyse_text(text, transform)
        if inner is None:  # an unknown script may read any simple variable
            yield from (n for n, v in user_ns.items() if type(v) in _SIMPLE)
        else:
            yield from (*inner.needed, *inner.wanted)


def _names_in_strings(flow: Flow) -> Iterable[str]:
    for text in flow.strings:
        yield from _AT_NAME.findall(text)  # pandas: df.query("x > @limit")
        if flow.dynamic:
            yield from WORD.findall(text)


def _is_variable(name: str, user_ns: Mapping[str, object]) -> bool:
    if name not in user_ns:
        return False
    value = user_ns[name]
    if is_shell_value(name, value):
        return False
    if name in {"_", "__", "___"} or re.fullmatch(r"_\d+", name):
        return not (isinstance(value, str) and value == "")
    return not is_private(name)


def _outputs(cell: str, flow: Flow, user_ns: Mapping[str, object]) -> tuple[int, ...]:
    kept = user_ns.get("Out")
    if "Out" not in flow.needed or not isinstance(kept, Mapping):
        return ()
    literal = [int(n) for n in re.findall(r"\bOut\[(\d+)\]", cell)]
    return tuple(k for k in (literal or kept) if k in kept)


def module_parts(module: types.ModuleType, mentioned: Iterable[str], loaded: Iterable[str]) -> list[str]:
    """Return the loaded submodules of this package that code with these names may reach as attributes."""
    words = set(mentioned)
    prefix = module.__name__ + "."
    return [name for name in loaded if name.startswith(prefix) and words.issuperset(name[len(prefix) :].split("."))]
