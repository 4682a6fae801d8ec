"""Time, from the system."""

from __future__ import annotations

import time


class SystemClock:
    """ports.Clock."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()
