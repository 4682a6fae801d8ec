"""Readings of the GPUs over time: a second each for an hour, ten seconds each for a day. Bounded; no input or output.

Knows GpuRecords. What a GPU does not tell stays None, never 0."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from jupysched.wire.records import GpuRecord

#: metric -> the GpuRecord's field
METRICS: dict[str, str] = {
    "utilization": "utilization_percent",
    "memory": "memory_used_bytes",
    "power": "power_w",
    "temperature": "temperature_c",
}
FINE_S, FINE_KEPT = 1.0, 3600
COARSE_S, COARSE_KEPT = 10.0, 8640
#: a reading may be late on a busy machine; after this it is missing
CARRY_S = 2.5


class Reading(NamedTuple):
    """One GPU at one moment, or over one stretch."""

    at: float
    #: in the order of METRICS
    values: tuple[float | None, ...]
    #: jobs that held it
    jobs: tuple[int, ...]


class Span(NamedTuple):
    """A job held a GPU from `start` to `end`, as far as was seen."""

    gpu: str
    job: int
    start: float
    end: float


@dataclass(slots=True)
class _Track:
    fine: deque[Reading] = field(default_factory=lambda: deque(maxlen=FINE_KEPT))
    coarse: deque[Reading] = field(default_factory=lambda: deque(maxlen=COARSE_KEPT))
    gathered: list[Reading] = field(default_factory=list)


class GpuHistory:
    """One per server. `take` is called with every reading of all GPUs."""

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._tracks: dict[str, _Track] = {}
        self.latest: dict[str, GpuRecord] = {}
        #: grows with every reading kept
        self.version = 0
        self._last = 0.0

    def take(self, gpus: list[GpuRecord]) -> None:
        """Keep this reading, unless the last is younger than most of a second (a push for another reason)."""
        now = self._clock()
        self.latest = {g.id: g for g in gpus}
        if now - self._last < FINE_S * 0.7:
            return
        self._last = now
        self.version += 1
        for gpu in gpus:
            track = self._tracks.setdefault(gpu.id, _Track())
            reading = Reading(now, tuple(getattr(gpu, name) for name in METRICS.values()), tuple(gpu.jobs))
            track.fine.append(reading)
            track.gathered.append(reading)
            if now - track.gathered[0].at >= COARSE_S - FINE_S / 2:
                track.coarse.append(mean(track.gathered))
                track.gathered = []

    def carry_on(self) -> None:
        """Keep what was last heard as the reading of this second, where nothing new came. Only who holds what is still
        true then; a number that nobody read again is not."""
        if self._clock() - self._last >= CARRY_S and self.latest:
            stale = dict.fromkeys(METRICS.values())
            self.take([msgspec.structs.replace(g, **stale) for g in self.latest.values()])

    def readings(self, gpu: str, *, since: float) -> list[Reading]:
        """Readings after `since`: fine where they are kept that far back, else coarse with the fine at its end."""
        track = self._tracks.get(gpu)
        if track is None:
            return []
        fine = [r for r in track.fine if r.at > since]
        if not track.fine or since >= track.fine[0].at or len(track.fine) < FINE_KEPT:
            return fine
        border = track.fine[0].at
        return [r for r in track.coarse if since < r.at < border] + fine

    def newer(self, gpu: str, *, than: float) -> list[Reading]:
        """Fine readings after `than`, cheaply: for those who look every second."""
        found: list[Reading] = []
        for reading in reversed(self._tracks[gpu].fine if gpu in self._tracks else ()):
            if reading.at <= than:
                break
            found.append(reading)
        return found[::-1]

    def spans(self, gpu: str, *, since: float) -> list[Span]:
        """Which job held it when."""
        found: list[Span] = []
        open_: dict[int, tuple[float, float]] = {}
        for reading in self.readings(gpu, since=since):
            for job in reading.jobs:
                start, _ = open_.get(job, (reading.at, reading.at))
                open_[job] = (start, reading.at)
            for job in [j for j in open_ if j not in reading.jobs]:
                # It was held until it was seen free, not until it was last seen held.
                found.append(Span(gpu, job, open_.pop(job)[0], reading.at))
        return found + [Span(gpu, job, *times) for job, times in open_.items()]

    def thinned(self, gpu: str, *, since: float, most: int) -> list[Reading]:
        """At most about `most` readings: each the mean of its neighbours."""
        readings = self.readings(gpu, since=since)
        size = -(-len(readings) // most) if most else 1
        if size <= 1:
            return readings
        return [mean(readings[i : i + size]) for i in range(0, len(readings), size)]


def mean(readings: list[Reading]) -> Reading:
    """One reading for several; what none of them told stays unknown."""
    values: list[float | None] = []
    for column in zip(*(r.values for r in readings), strict=True):
        known = [v for v in column if v is not None]
        values.append(sum(known) / len(known) if known else None)
    jobs = tuple(dict.fromkeys(j for r in readings for j in r.jobs))
    return Reading(readings[-1].at, tuple(values), jobs)
