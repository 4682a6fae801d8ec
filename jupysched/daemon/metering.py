"""What a hold came to: on which days, how busy, how long idle. Pure; knows no disk and no clock but the local calendar."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

#: a GPU that is used less than this is idle ...
IDLE_PERCENT = 5.0
#: ... once that has gone on for so long: loading a model or a data set is no idling
IDLE_AFTER_S = 300.0
#: readings that are counted together: few enough for short jobs, enough to cost nothing
SETTLE_S = 10


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


class Came(NamedTuple):
    """What some readings came to."""

    #: what they add to the job's sums, in GPU-seconds; what was not told is not there
    sums: dict[str, float]
    #: most memory used at once
    peak: float | None


@dataclass(slots=True)
class Meter:
    """One job on one GPU, reading by reading (one a second); what they come to is asked for now and then."""

    #: how long it has been under IDLE_PERCENT without a break
    low_s: float = 0.0
    _utilization: list[float] = field(default_factory=list)
    _memory: list[float] = field(default_factory=list)
    _count: int = 0

    @property
    def idle_s(self) -> float:
        """How long it has been idle now; 0 while that is not long enough to be called so."""
        return self.low_s if self.low_s >= IDLE_AFTER_S else 0.0

    @property
    def is_due(self) -> bool:
        """Are there enough readings to be worth writing?"""
        return self._count >= SETTLE_S

    def add(self, *, utilization: float | None, memory: float | None) -> None:
        """One reading. What is None was not told."""
        self._count += 1
        if utilization is not None:
            self._utilization.append(utilization)
        if memory is not None:
            self._memory.append(memory)

    def settle(self, *, weight: float, capacity: float | None) -> Came:
        """What the readings since the last time came to."""
        sums: dict[str, float] = {}
        if self._utilization:
            seconds, mean = float(len(self._utilization)), fmean(self._utilization)
            before = self.idle_s
            self.low_s = self.low_s + seconds if mean < IDLE_PERCENT else 0.0
            sums = {
                "measured": seconds * weight,
                "busy": seconds * weight * min(100.0, mean) / 100,
                # The first minutes count as well, once it is clear what they were.
                "idle": max(0.0, self.idle_s - before) * weight,
            }
        if self._memory and capacity:
            seconds = float(len(self._memory)) * weight
            sums |= {"remembered": seconds, "memory": seconds * min(1.0, fmean(self._memory) / capacity)}
        came = Came(sums, max(self._memory, default=None))
        self._utilization, self._memory, self._count = [], [], 0
        return came
