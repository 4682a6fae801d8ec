"""A twin of the journal: in memory, with faults that can be ordered. Passes the same contract tests as the real one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jupysched.core.errors import DiskFull
from jupysched.core.events import Event


class MemoryJournal:
    """ports.Journal. `full` refuses appends as a full disk does; `dies_after` raises Died once so many were made durable."""

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.events: list[Event] = list(events)
        self.full = False
        self.dies_before: int | None = None
        self.dies_after: int | None = None

    def read(self) -> Iterable[Event]:
        """Every event, oldest first."""
        return tuple(self.events)

    def append(self, events: Sequence[Event]) -> None:
        """Raises DiskFull if `full`, Died at the ordered moment."""
        if self.full:
            raise DiskFull("The disk of the journal is full.")
        if self.dies_before is not None and len(self.events) >= self.dies_before:
            raise Died
        self.events += events
        if self.dies_after is not None and len(self.events) >= self.dies_after:
            raise Died

    def forget(self, jobs: Sequence[int]) -> None:
        """Drop the events of these jobs."""
        self.events = [e for e in self.events if getattr(e, "job", None) not in jobs]

    def close(self) -> None:
        """Nothing to close."""


class Died(BaseException):
    """The process ended on this line."""
