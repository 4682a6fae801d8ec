"""The end of what a job prints, as it grows. Knows frames; blocking, for a thread. Never holds more than it shows."""

from __future__ import annotations

import os
import re

from jupysched import spool

#: text kept of a log, and lines shown of it
MOST_BYTES = 64_000
MOST_LINES = 200
_PIECE = 1 << 20
#: what colours, moves or turns text
_UNSEEN = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]"
)
_PAINTED_OVER = re.compile(r"[^\n]*\r(?!\n)")


class LogTail:
    """One attempt's log."""

    def __init__(self, directory: str, attempt: int) -> None:
        self._path = os.path.join(spool.attempt_path(directory, attempt), spool.FRAMES)
        self._offset = 0
        self._kept = b""

    def read(self) -> str:
        """The last lines by now, as plain text."""
        self._skip()
        while frames := spool.read_frames(self._path, self._offset, _PIECE):
            self._offset = frames[-1].end
            text = b"".join(f.payload for f in frames if f.kind in (spool.Kind.STDOUT, spool.Kind.STDERR))
            self._kept = (self._kept + text)[-MOST_BYTES:]
        whole = self._kept.decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
        lines = _PAINTED_OVER.sub("", whole).split("\n")[-MOST_LINES:]
        return _UNSEEN.sub("", "\n".join(lines))

    def _skip(self) -> None:
        """Pass over what will not be shown: of a long log only the lengths of its frames are read."""
        try:
            file = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return
        try:
            most = os.fstat(file).st_size - _PIECE
            while self._offset < most:
                head = os.pread(file, spool.HEADER.size, self._offset)
                self._offset += spool.HEADER.size + spool.HEADER.unpack(head)[0]
        finally:
            os.close(file)
