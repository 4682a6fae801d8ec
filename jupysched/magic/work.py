"""What can be submitted, and what is said of what can not. Knows functions, texts and what is mistaken for them; queues nothing."""

from __future__ import annotations

import inspect
import os
import shlex
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from jupysched.core.errors import BadRequest

_EXPECTED = "jupysched.submit takes a function, or the text of a cell"
#: ends of names of files that hold a program
_PROGRAMS = (".py", ".ipy", ".ipynb", ".sh")


RUNS_NOTEBOOKS = "`jupyter execute` runs it; its %%gpujob cells are queued, and each waits for its job."


def is_empty(text: str) -> bool:
    """Is there nothing to run?"""
    return not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines())


def check_text(text: str) -> None:
    """Raises BadRequest for a text that is no cell: an empty one, and the name of a file."""
    if is_empty(text):
        raise BadRequest("The text is empty: there is nothing to run.")
    word = text.strip()
    if "\n" not in word and word.lower().endswith(_PROGRAMS) and not set("()=") & set(word):
        raise _file(word)


def check_call(work: Any, args: Sequence[Any], kwargs: Any) -> None:
    """Raises BadRequest for what cannot be called so."""
    if isinstance(work, os.PathLike):
        raise _file(os.fspath(work))
    if not callable(work):
        raise BadRequest(f"{_EXPECTED}; this is {_a(type(work).__name__)}.", hint=_hint(work))
    if kwargs is None:
        kwargs = {}
    if not isinstance(kwargs, Mapping) or not all(isinstance(name, str) for name in kwargs):
        raise BadRequest("kwargs holds what the function takes by name; expected a dict with names as keys.")
    try:
        signature = inspect.signature(work)
    except (TypeError, ValueError):
        return  # written in C: it will say so itself
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        name = getattr(work, "__name__", type(work).__name__)
        raise BadRequest(f"{name}{_short(signature)} cannot be called with what was given: {error}.") from None


def _file(path: str) -> BadRequest:
    if path.lower().endswith(".ipynb"):
        hint = RUNS_NOTEBOOKS
    else:
        hint = f"In a terminal: `jupysched submit {shlex.quote(path)}`. Here: import it, and submit its function."
    return BadRequest(f"{_EXPECTED}; {path!r} is the name of a file.", hint=hint)


def _hint(work: object) -> str:
    if isinstance(work, ModuleType):
        return "Submit one of its functions."
    if isinstance(work, (list, tuple, set, dict)):
        return "Submit each by itself: [jupysched.submit(function, part) for part in parts]."
    return "Leave the brackets away: jupysched.submit(function, argument), not jupysched.submit(function(argument))."


def _short(signature: object) -> str:
    text = " ".join(str(signature).split())
    return text if len(text) <= 80 else f"{text[:78]}…)"


def _a(kind: str) -> str:
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"
