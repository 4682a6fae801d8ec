"""What a cell shows: text streams, displays, results, errors; each on its way to the shim in the order it was made.

Knows Jupyter's message contents and the pipes. Must not know how a cell is run. Nothing here may raise into the
user's code: broken unicode, unserialisable metadata or a closed descriptor cost at most the one output.
"""

from __future__ import annotations

import _thread
import base64
import io
import itertools
import json
import math
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from jupysched.runner import packets
from jupysched.spool import Kind

#: Private descriptors lie above those that programs close in loops ("for fd in range(3, 64)").
_FIRST_PRIVATE_FD = 200
#: Text without a line end is shown after so long.
_FLUSH_S = 0.1
#: There is no comm to the browser: a widget's view would be a dead box, its text form is not.
_DEAD_VIEWS = ("application/vnd.jupyter.widget-view+json",)
_B64_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf")


class Channel:
    """The way from this process to its shim."""

    def __init__(self, stdout: int, stderr: int, nonce: bytes) -> None:
        """Take over the pipes: descriptors 1 and 2 for everybody, a private way in for Python."""
        os.dup2(stdout, 1)
        os.dup2(stderr, 2)
        self._out = _private(1, stdout)
        self._err = _private(2, stderr)
        self._nonce = nonce
        self._numbers = itertools.count()
        self.stdout = _text(self._out)
        self.stderr = _text(self._err)
        self._flushing = threading.Lock()
        self._stop_flushing = threading.Event()
        #: sends what others gathered for this channel
        self.before_flush: Callable[[], None] = _nothing

    def become_standard(self) -> None:
        """Make these the streams of Python."""
        sys.stdout = sys.__stdout__ = self.stdout  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = self.stderr  # type: ignore[misc]

    def send(self, kind: int, content: dict[str, Any]) -> bool:
        """Send a message; it stands where it was made between printed text. False where the pipe is no more."""
        payload = encode(content)
        self.flush()
        try:
            for packet in packets.split(self._nonce, next(self._numbers), kind, payload):
                os.write(self._out, packet)
        except OSError:
            return False  # the cell closed every descriptor
        return True

    def message(self, type_: str, content: dict[str, Any]) -> None:
        """Send what a kernel would send as a message of this type."""
        self.send(Kind.MESSAGE, {"type": type_, "content": content})

    def flush(self) -> None:
        self.before_flush()
        for stream in (self.stdout, self.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, RuntimeError):
                continue  # closed by the cell, or flushed from a signal's middle

    # --- text without a line end -----------------------------------------------------------------------------------

    def keep_flushing(self) -> None:
        """Show text without a line end soon: `print(".", end="")` is a progress bar too.

        Line ends flush by themselves, in C. A fork must not find the streams' locks taken, hence the lock around it.
        """
        os.register_at_fork(
            before=self._flushing.acquire,
            after_in_parent=self._flushing.release,
            after_in_child=self._flushing.release,
        )
        # Without the wait for the thread's first step that threading.Thread.start() has: a cell begins at once.
        _thread.start_new_thread(self._flush_for_ever, ())

    def _flush_for_ever(self) -> None:
        while not self._stop_flushing.wait(_FLUSH_S):
            with self._flushing:
                self.flush()

    def stop_flushing(self) -> None:
        self._stop_flushing.set()


def _nothing() -> None:
    return


def _private(number: int, fallback: int) -> int:
    """Return an own open file on the pipe: what the cell does to the flags of 1 and 2 must not touch it."""
    import fcntl

    try:
        opened = os.open(f"/proc/self/fd/{number}", os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        opened = fallback
    private = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _FIRST_PRIVATE_FD)
    for descriptor in {opened, fallback} - {0, 1, 2}:
        os.close(descriptor)
    return private


def _text(descriptor: int) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "w", closefd=False)
    buffer: Any = io.BufferedWriter(raw, 1 << 16)
    return io.TextIOWrapper(buffer, encoding="utf-8", errors="backslashreplace", line_buffering=True)


# --- JSON that always succeeds -----------------------------------------------------------------------------------------


def encode(content: object) -> bytes:
    """Return JSON in UTF-8, whatever the content is made of."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, default=_plain)
    except (ValueError, TypeError, RecursionError):
        text = json.dumps(_clean(content), ensure_ascii=False, default=_plain)
    return text.encode("utf-8", "replace")


def _plain(value: object) -> object:
    """Return a stand-in for what JSON does not know."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, (set, frozenset, tuple)) or hasattr(value, "__iter__"):
        try:
            return list(value)
        except Exception:
            return _safe_repr(value)
    for convert in ("item", "__index__", "__float__"):
        if hasattr(value, convert):
            try:
                return getattr(value, convert)()
            except Exception:
                return _safe_repr(value)
    return _safe_repr(value)


def _clean(value: object, depth: int = 0) -> object:
    """Return the value with keys as text and without the numbers that JSON lacks."""
    if depth > 100:
        return _safe_repr(value)
    if isinstance(value, dict):
        return {key if isinstance(key, str) else _safe_repr(key): _clean(v, depth + 1) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(v, depth + 1) for v in value]
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    return value


def _safe_repr(value: object) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} whose repr fails>"


def bundle(data: dict[str, Any]) -> dict[str, Any]:
    """Return a MIME bundle as it may travel: images as base64, no view that needs a comm."""
    ready = {mime: value for mime, value in data.items() if mime not in _DEAD_VIEWS}
    for mime in _B64_TYPES:
        if isinstance(ready.get(mime), bytes):
            ready[mime] = base64.b64encode(ready[mime]).decode("ascii")
    return ready
