"""From a job's frames to a cell's messages: joined, cleaned, capped. Knows frames and message contents; knows no sockets.

The first text waits for nothing, what follows soon QUICK_S for more, and in a flood that lasts COALESCE_S: a line is seen within
milliseconds, and a front end is not buried in messages. No byte that a job can write may stop what follows:
what is not UTF-8 is replaced, and a message that cannot be read costs itself alone.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from jupysched.magic.frames import without_call
from jupysched.spool import Frame, Kind

COALESCE_S = 0.015
QUICK_S = 0.003
#: messages of text that may follow each other quickly, and how many come to that each second
BURST, BURST_PER_S = 300.0, 60.0
#: of the text under one cell, this much of the beginning and of the end is kept; `%gpujob logs` shows all of it
HEAD_BYTES = 8_000_000
TAIL_BYTES = 2_000_000

Send = Callable[[str, dict[str, Any]], None]
_STREAMS: dict[int, str] = {Kind.STDOUT: "stdout", Kind.STDERR: "stderr"}
_SHOWN = frozenset({"display_data", "execute_result", "update_display_data", "clear_output", "error"})


class Outlet:
    """One job's way into one cell. Not for two threads at a time."""

    def __init__(
        self,
        send: Send,
        *,
        job: int,
        execution_count: int | None = None,
        hold_error: bool = False,
        head: Callable[[], dict[str, Any] | None] = lambda: None,
    ) -> None:
        """`head` is what stands above the outputs and is not the job's to clear: a card, to be displayed."""
        self._to_cell = send
        self._head = head
        self._clear_due = False
        self._job = job
        self._execution_count = execution_count
        self._hold_error = hold_error
        self._pending: list[tuple[str, list[bytes]]] = []
        self._sent_at = 0.0
        self._burst = BURST
        self._text_bytes = 0
        self._tail: deque[tuple[str, bytes]] = deque()
        self._tail_bytes = 0
        self._dropped_bytes = 0
        #: the error that ended the newest attempt, kept back for who raises it
        self.error: dict[str, Any] | None = None

    # --- frames in ---------------------------------------------------------------------------------------------------

    def take(self, frame: Frame) -> None:
        """One frame of output or a message; others are not for the cell."""
        stream = _STREAMS.get(frame.kind)
        if stream is not None:
            self._text(stream, frame.payload)
        elif frame.kind == Kind.MESSAGE:
            self._message(frame.payload)

    def _text(self, stream: str, payload: bytes) -> None:
        room = HEAD_BYTES - self._text_bytes
        self._text_bytes += len(payload)
        if room < len(payload):
            # The cap bites: the head goes out, the rest waits for the end.
            cut = _whole_characters(payload, max(0, room))
            self._keep_tail(stream, payload[cut:])
            payload = payload[:cut]
        if not payload:
            return
        if self._pending and self._pending[-1][0] == stream:
            self._pending[-1][1].append(payload)
        else:
            self._pending.append((stream, [payload]))

    def _keep_tail(self, stream: str, payload: bytes) -> None:
        if not self._tail and not self._dropped_bytes:
            self._pending.append(("stderr", [self._cap_sentence().encode()]))
        self._tail.append((stream, payload))
        self._tail_bytes += len(payload)
        while self._tail_bytes > TAIL_BYTES:
            name, oldest = self._tail.popleft()
            over = self._tail_bytes - TAIL_BYTES
            if len(oldest) > over:
                cut = _whole_characters(oldest, over)
                self._tail.appendleft((name, oldest[cut:]))
                self._dropped_bytes += cut
                self._tail_bytes -= cut
                if cut < over:
                    break
            else:
                self._dropped_bytes += len(oldest)
                self._tail_bytes -= len(oldest)

    def _cap_sentence(self) -> str:
        return (
            f"\n[more than {HEAD_BYTES // 1_000_000} MB of text: the last {TAIL_BYTES // 1_000_000} MB follow when the job"
            f" ends, all of it is in `%gpujob logs {self._job}`]\n"
        )

    def _message(self, payload: bytes) -> None:
        message = _read(payload)
        if message is None or message.get("type") not in _SHOWN or not isinstance(message.get("content"), dict):
            return
        kind, content = message["type"], message["content"]
        self.flush()
        if kind == "error" and isinstance(content.get("traceback"), list):
            content["traceback"] = without_call(map(str, content["traceback"]))
        if kind == "error" and self._hold_error:
            self.error = content
            return
        if kind == "execute_result" and self._execution_count is not None:
            content["execution_count"] = self._execution_count
        if kind == "clear_output":
            self._clear(wait=bool(content.get("wait")))
        else:
            self._send(kind, _filled(kind, content))

    def _clear(self, *, wait: bool) -> None:
        """What the reader no longer sees does not count. A clearing that waits is kept back until there is something new:
        the card has to be shown again after it, and alone it would clear too early."""
        self._text_bytes = self._tail_bytes = self._dropped_bytes = 0
        self._tail.clear()
        self._clear_due = wait
        if not wait:
            self._send_clear(wait=False)

    def _send_clear(self, *, wait: bool) -> None:
        self._to_cell("clear_output", {"wait": wait})
        if (head := self._head()) is not None:
            self._to_cell("display_data", head)

    # --- messages out ------------------------------------------------------------------------------------------------

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        if self._clear_due and kind != "update_display_data":
            self._clear_due = False
            self._send_clear(wait=True)
        self._to_cell(kind, content)

    def due_in(self) -> float | None:
        """Seconds until `flush` should be called; None if nothing waits."""
        if not self._pending:
            return None
        wait_s = QUICK_S if self._burst >= 1 else COALESCE_S
        return max(0.0, self._sent_at + wait_s - time.monotonic())

    def flush(self) -> None:
        """Send the text that waits."""
        pending, self._pending = self._pending, []
        for stream, parts in pending:
            self._send("stream", {"name": stream, "text": b"".join(parts).decode("utf-8", "replace")})
        if pending:
            now = time.monotonic()
            self._burst = max(0.0, min(BURST, self._burst + (now - self._sent_at) * BURST_PER_S) - len(pending))
            self._sent_at = now

    def new_attempt(self) -> None:
        """Another attempt follows: the error of the last one is shown, nobody will raise it."""
        error, self.error = self.error, None
        if error is not None:
            self.flush()
            self._send("error", _filled("error", error))

    def close(self) -> None:
        """Send what waits, and the end of a text that was too long."""
        self.flush()
        if self._dropped_bytes:
            left_out = f"\n[{self._dropped_bytes / 1e6:,.1f} MB left out: `%gpujob logs {self._job}` shows them]\n"
            self._send("stream", {"name": "stderr", "text": left_out})
        tail, self._tail = self._tail, deque()
        for stream, payload in tail:
            if self._pending and self._pending[-1][0] == stream:
                self._pending[-1][1].append(payload)
            else:
                self._pending.append((stream, [payload]))
        self.flush()


def _whole_characters(payload: bytes, at: int) -> int:
    """The nearest cut at or before `at` that splits no character."""
    back = 0
    while 0 < at - back < len(payload) and back < 4 and payload[at - back] & 0xC0 == 0x80:
        back += 1
    return at if back == 4 else at - back


def _read(payload: bytes) -> dict[str, Any] | None:
    message: Any
    try:
        message = json.loads(payload.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    # Half a surrogate pair is legal in JSON and cannot be sent.
    return clean(message) if b"\\ud" in payload.lower() else message


def clean(value: Any) -> Any:
    """The value with every text fit for UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if not value.isascii() else value
    if isinstance(value, dict):
        return {clean(key): clean(part) for key, part in value.items()}
    return [clean(part) for part in value] if isinstance(value, list) else value


def _filled(kind: str, content: dict[str, Any]) -> dict[str, Any]:
    """The content with the fields that its message must have."""
    if kind in ("display_data", "execute_result", "update_display_data"):
        return {"metadata": {}, "transient": {}, **content}
    return content
