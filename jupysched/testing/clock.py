"""A clock that goes when it is told to."""

from __future__ import annotations


class FakeClock:
    """ports.Clock."""

    def __init__(self, at: float = 1_000_000.0) -> None:
        self.at = at

    def now(self) -> float:
        """Unix seconds."""
        return self.at

    def advance(self, seconds: float) -> None:
        """Let time pass; negative for a clock that jumps back."""
        self.at += seconds
