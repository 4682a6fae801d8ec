"""Time, from the system: unix seconds that never jump while the daemon lives."""

from __future__ import annotations

import time


class SystemClock:
    """ports.Clock. The wall clock is read once; from then on the clock that counts since boot carries it on, so that somebody
    who sets the time neither ends a job by its --time nor makes one run for a negative while. A suspended machine counts."""

    def __init__(self) -> None:
        self._epoch = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)

    def now(self) -> float:
        """Unix seconds."""
        return self._epoch + time.clock_gettime(time.CLOCK_BOOTTIME)
