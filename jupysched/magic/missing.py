"""Names that a cell reads and nobody has: said when it is queued, not after it has waited for hours. Knows texts and names; runs nothing."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jupysched import phrases
from jupysched.namespace.capture import is_private
from jupysched.namespace.flow import analyse

#: what every notebook has, wherever this is asked
_GIVEN = frozenset({"display", "get_ipython"})


def names(source: str, user_ns: Mapping[str, Any], transform: Callable[[str], str] | None = None) -> list[str]:
    """Those that the cell reads before anything assigns them, and that neither the notebook nor Python has.

    None where magics, `exec` or `import *` may bring them."""
    text = transform(source) if transform else source
    tree = compile(text, "<cell>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST, dont_inherit=True)
    flow = analyse(tree, transform)
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    if flow.dynamic or flow.shell_calls or any(alias.name == "*" for node in imports for alias in node.names):
        return []
    return [
        n
        for n in flow.needed
        if n not in user_ns and n not in _GIVEN and not hasattr(builtins, n) and not is_private(n)
    ]


def sentence(missing: Sequence[str], after: Sequence[int]) -> str:
    """What the card says of them; `after`: the jobs that this one waits for."""
    was = "was" if len(missing) == 1 else "were"
    said = f"{phrases.listed(list(missing))} {was} not in the notebook when this was queued."
    if not after:
        return said
    return f"{said} --after brings no variables: in the cell, jupysched.job({after[-1]}).result() has those of job {after[-1]}."
