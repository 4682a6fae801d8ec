"""How a job hears that it should end.

Knows SIGINT and SIGTERM in the job's process. Must not know who sends them or what follows. An interrupt is a
KeyboardInterrupt, as in a notebook. SIGTERM is the last notice: the cell is interrupted too, unless it asks
`should_stop()`, for then it means to end by itself.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

_owner = 0
_asked = False
_polled = False
_told = False


def should_stop() -> bool:
    """Return whether the job was asked to end. A cell that asks is trusted to end by itself when told to."""
    global _polled, _told  # noqa: PLW0603 - one process, one job, one answer
    _polled = True
    _told = _told or _asked
    return _asked


def was_told() -> bool:
    """Has the cell been told that it should end? Then its end is not that of its work."""
    return _told


def listen() -> None:
    """Answer the signals of this process from now on."""
    global _owner  # noqa: PLW0603
    _owner = os.getpid()
    signal.signal(signal.SIGINT, _interrupt)
    signal.signal(signal.SIGTERM, _told_to_end)
    signal.signal(signal.SIGURG, _nudged)


def _interrupt(number: int, frame: FrameType | None) -> None:
    global _asked  # noqa: PLW0603
    _asked = True
    raise KeyboardInterrupt


def _nudged(number: int, frame: FrameType | None) -> None:
    """Do nothing: what matters is that the system call has returned and Python looks at its signals."""


def _told_to_end(number: int, frame: FrameType | None) -> None:
    global _asked  # noqa: PLW0603
    if os.getpid() != _owner:
        # A forked child: it ends as a program does.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)
        return
    first, _asked = not _asked, True
    if not (_polled and first):
        raise KeyboardInterrupt


def deaf() -> None:
    """Hear nothing more: results are being written, and the shim's SIGKILL bounds how long that may take."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
