"""The last value of each metric of one attempt, and when to tell it. Knows metrics frames and printed losses; knows nothing of
who listens.

Readers of the spool have every point. This is for those who only want to know how it stands: the queue, the sidebar."""

from __future__ import annotations

import json
from typing import Any

#: told at most this often
EVERY_S = 1.0


class Gauge:
    """Keeps the newest values; `due` says when they are worth a datagram."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self._is_new = False
        self._next_at = 0.0

    def take(self, payload: bytes) -> None:
        """Take in one metrics frame; what is not one is passed over (the job's own code wrote it)."""
        try:
            content = json.loads(payload)
            values, step, epoch = content["values"], content.get("step"), content.get("epoch")
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        if isinstance(values, dict):
            self.values.update(values)
            self.values.update({name: at for name, at in (("step", step), ("epoch", epoch)) if at is not None})
            self._is_new = True

    def read(self, text: bytes) -> None:
        """Take in the last loss that was printed, in any of the usual shapes. Costs a search for three letters where there is none:
        all output of the job passes here."""
        at = text.rfind(b"oss")
        if at < 0:
            return
        # The zygote has it loaded already (see zygote._prepare).
        from jupysched.metrics_text import LONGEST_LINE, parse_line

        start = 1 + max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at))
        end = min((e for e in (text.find(b"\n", at), text.find(b"\r", at)) if e >= 0), default=len(text))
        if end - start > LONGEST_LINE:
            return
        for point in parse_line(text[start:end].decode("utf-8", "replace")):
            finite = point.value - point.value == 0
            self.values[point.name] = point.value if finite else repr(point.value)
            self.values.update(
                {name: at for name, at in (("step", point.step), ("epoch", point.epoch)) if at is not None}
            )
            self._is_new = True

    def seconds_left(self, now: float) -> float | None:
        """Seconds until there is something to tell; None if there is nothing new."""
        return max(0.0, self._next_at - now) if self._is_new else None

    def due(self, now: float) -> dict[str, Any] | None:
        """The values, if they are new and the last ones were told long enough ago."""
        if not self._is_new or now < self._next_at:
            return None
        self._is_new, self._next_at = False, now + EVERY_S
        return self.values
