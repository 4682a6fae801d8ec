"""The last value of each metric of one attempt, and when to tell it. Knows metrics frames; knows nothing of who listens.

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

    def seconds_left(self, now: float) -> float | None:
        """Seconds until there is something to tell; None if there is nothing new."""
        return max(0.0, self._next_at - now) if self._is_new else None

    def due(self, now: float) -> dict[str, Any] | None:
        """The values, if they are new and the last ones were told long enough ago."""
        if not self._is_new or now < self._next_at:
            return None
        self._is_new, self._next_at = False, now + EVERY_S
        return self.values
