"""Which frames of an error are the user's own: those are shown, and a debugger may enter them. Knows tracebacks; knows no jobs.

The frames of an error that happened in a job are in the job's process, and ours, which raised it again, are nobody's business:
where the user's own code called us, `%debug` and `%pdb` stop there; where only a magic did, there is nothing to debug.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from types import TracebackType

#: what a submitted function returned travels under this name
RESULT = "jupysched_result"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")


def leave_to_user(error: BaseException) -> None:
    """Let debuggers find the user's frames, or none."""
    ipython = getattr(sys.modules.get("IPython"), "__file__", None)
    nobodys = (_OURS, os.path.join(os.path.dirname(ipython), "")) if ipython else (_OURS,)
    last: TracebackType | None = None
    link = error.__traceback__
    while link is not None:
        if not link.tb_frame.f_code.co_filename.startswith(nobodys):
            last = link
        link = link.tb_next
    after = last.tb_next if last is not None else None
    if last is not None and after is None:
        return
    if last is not None and after is not None and after.tb_frame.f_code.co_filename.startswith(_OURS):
        last.tb_next = None
    elif getattr(sys, "last_value", None) is error:
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)


def without_call(traceback: Iterable[str]) -> list[str]:
    """The traceback of a submitted function without the line of ours that called it."""
    return [part for part in traceback if f"{RESULT} = " not in _COLOURS.sub("", part)]
