"""The environment variables that people set, and what each may hold. Knows words; knows nothing of what they are for.

One that is set and cannot be read is refused, never passed over: who wrote it meant something by it."""

from __future__ import annotations

import os
from pathlib import Path

from jupysched.core.errors import BadRequest

_ON = frozenset({"1", "on", "yes", "true"})
#: those of runner.libraries too
_OFF = frozenset({"0", "off", "no", "false"})


def whole_number(name: str) -> int | None:
    """The variable as a number of at least 1; None if it is not set. Raises BadRequest."""
    word = os.environ.get(name)
    if word is None:
        return None
    if not (word.isascii() and word.isdecimal()) or int(word) < 1:
        raise _refused(name, word, "a whole number of at least 1")
    return int(word)


def absolute_path(name: str) -> Path | None:
    """The variable as a path; None if it is not set. Raises BadRequest: a relative one would mean another place to each process."""
    word = os.environ.get(name)
    if word is not None and not word.startswith("/"):
        raise _refused(name, word, "a path that begins with /")
    return None if word is None else Path(word)


def is_on(name: str) -> bool | None:
    """The variable as a switch; None if it is not set. Raises BadRequest."""
    word = os.environ.get(name)
    if word is not None and word.lower() not in _ON | _OFF:
        raise _refused(name, word, "1 or 0")
    return None if word is None else word.lower() in _ON


def _refused(name: str, word: str, expected: str) -> BadRequest:
    return BadRequest(f"{name} is {word!r}; expected {expected}.", hint="Set it so, or unset it.")
