"""What comes out of a job's pipes, made into frames: text as it is, messages in their places, no character in two.

Knows the two pipes and what may be held back from them. Must not know who reads the frames.
"""

from __future__ import annotations

import json
import os
from typing import Any

from jupysched import spool
from jupysched.runner.packets import LAST_WORD, Joiner, Message
from jupysched.runner.recorder import Recorder
from jupysched.spool import Kind

_READ_BYTES = 1 << 18


class Intake:
    """The pipes of one job, read into its recorder."""

    def __init__(self, recorder: Recorder, stdout: int, stderr: int, nonce: bytes) -> None:
        self.stdout, self.stderr = stdout, stderr
        #: pipes that may still have a writer
        self.open = {stdout, stderr}
        #: what the job said of its end
        self.last_word: dict[str, Any] | None = None
        self._recorder = recorder
        self._buffer = bytearray(_READ_BYTES)
        self._joiner = Joiner(nonce)
        self._held = {Kind.STDOUT: b"", Kind.STDERR: b""}

    def read(self) -> int:
        """Record what the pipes hold now, up to a chunk of each; return how many bytes that were."""
        # stderr first: what was written there before the next printed line is older than it.
        errors, text = self._take(self.stderr), self._take(self.stdout)
        if errors:
            self._record(Kind.STDERR, errors)
        for part in self._joiner.feed(text):
            if isinstance(part, Message) and part.kind == LAST_WORD:
                self.last_word = json.loads(part.payload)
            elif isinstance(part, Message):
                self._release(Kind.STDOUT)
                self._recorder.record(part.kind, part.payload)
            else:
                self._record(Kind.STDOUT, part)
        return len(errors) + len(text)

    def drain(self, most: int | None = None) -> None:
        """Record what is in the pipes, but not more than `most`.

        Never waits for their end: forked children may hold them for hours, and may write as fast as we read.
        """
        while (size := self.read()) and (most is None or most > 0):
            most = None if most is None else most - size

    def flush(self) -> None:
        """Record what was held back for a rest that will not come."""
        self._record(Kind.STDOUT, self._joiner.flush())
        for kind in (Kind.STDOUT, Kind.STDERR):
            self._release(kind)

    def notes(self) -> list[str]:
        """Return sentences for the exit record."""
        torn = self._joiner.torn
        return [f"{torn} displays were cut short by the death of their process."] if torn else []

    def _take(self, pipe: int) -> bytes:
        """Return what is in the pipe now; one without a writer is looked at no more."""
        if pipe not in self.open:
            return b""
        try:
            # Into memory that is there: as many fresh bytes for each read would be found, and given back, page by page.
            if size := os.readv(pipe, [self._buffer]):
                return bytes(memoryview(self._buffer)[:size])
        except BlockingIOError:
            return b""
        self.open.discard(pipe)
        return b""

    def _record(self, kind: Kind, data: bytes) -> None:
        data = self._held[kind] + data if self._held[kind] else data
        cut = spool.cut_utf8(data)
        self._held[kind] = data[len(data) - cut :] if cut else b""
        self._recorder.record(kind, data[: len(data) - cut] if cut else data)

    def _release(self, kind: Kind) -> None:
        """Record half a character that stays half."""
        rest, self._held[kind] = self._held[kind], b""
        self._recorder.record(kind, rest)
