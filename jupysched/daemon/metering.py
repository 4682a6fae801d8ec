"""What a hold came to: on which days, how busy, how long idle. Pure; knows no disk and no clock but the local calendar."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

#: a GPU that is used less than this is idle ...
IDLE_PERCENT = 5.0
#: ... once that has gone on for so long: loading a model or a data set is no idling
IDLE_AFTER_S = 300.0


def day_of(at: float) -> str:
    """The day of the people here, as YYYY-MM-DD."""
    return time.strftime("%Y-%m-%d", time.localtime(at))


def midnight_after(at: float) -> float:
    """When the day of `at` ends, here."""
    local = time.localtime(at)
    return time.mktime((local.tm_year, local.tm_mon, local.tm_mday + 1, 0, 0, 0, 0, 0, -1))


def by_day(start: float, end: float) -> Iterator[tuple[str, float]]:
    """The seconds of a time, by day."""
    while start < end:
        until = min(end, midnight_after(start))
        yield day_of(start), until - start
        start = until


@dataclass(slots=True)
class Meter:
    """One job on one GPU, as its readings come."""

    #: how long it has been under IDLE_PERCENT without a break
    low_s: float = 0.0

    @property
    def idle_s(self) -> float:
        """How long it has been idle now; 0 while that is not long enough to be called so."""
        return self.low_s if self.low_s >= IDLE_AFTER_S else 0.0

    def take(
        self,
        *,
        seconds: float,
        weight: float,
        utilization: float | None,
        memory: float | None,
        capacity: float | None,
    ) -> dict[str, float]:
        """What a stretch of readings adds to the job's sums, in GPU-seconds. Nothing where nothing was told."""
        sums: dict[str, float] = {}
        if utilization is not None:
            before = self.idle_s
            self.low_s = self.low_s + seconds if utilization < IDLE_PERCENT else 0.0
            sums = {
                "measured": seconds * weight,
                "busy": seconds * weight * min(100.0, utilization) / 100,
                # The first minutes count as well, once it is clear what they were.
                "idle": max(0.0, self.idle_s - before) * weight,
            }
        if memory is not None and capacity:
            sums |= {"remembered": seconds * weight, "memory": seconds * weight * min(1.0, memory / capacity)}
        return sums
