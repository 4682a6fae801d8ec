"""First come, first served: nothing else counts, and a job that does not fit holds the others back."""

from __future__ import annotations

from jupysched.core.policies.base import Order


class Fifo(Order):
    """`backfill` (none, skip, easy) says who may pass."""

    name = "fifo"
    summary = "first come, first served"
