"""Times that may never come. Knows nothing else."""

from __future__ import annotations


def earliest(a: float | None, b: float | None) -> float | None:
    """The earlier of two times, either of which may never come."""
    if a is None or b is None:
        return b if a is None else a
    return min(a, b)
