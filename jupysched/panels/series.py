"""One metric over a job's life in bounded memory. Pure: points in, thinned points out; knows nothing of files or charts."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from jupysched.wire.browser import SeriesRecord

#: points kept; when twice as many are there, neighbours are merged
MOST = 2000


class Sample(NamedTuple):
    """One value. `value` may be NaN or infinite: that is what people look for."""

    time: float
    value: float
    step: float | None = None
    epoch: float | None = None


class Series:
    """Keeps the first and the last point, the least and the greatest of each stretch, and every first non-finite one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.points: list[Sample] = []
        self.total = 0
        self.least: Sample | None = None
        #: the newest point, and the newest that is a number
        self.last: Sample | None = None
        self.broken_since: Sample | None = None
        #: steps of the epochs before
        self._base = 0.0
        self._stride = 1.0
        self._first_step = 0.0
        self._last_as_told: Sample | None = None

    def add(self, points: Iterable[Sample]) -> None:
        """Points in the order in which they came. Without a step, the count stands in; a step that begins anew with each
        epoch goes on from where the last epoch ended."""
        for point in points:
            sample = point._replace(step=self._step(point))
            self.total += 1
            self.points.append(sample)
            self.last = sample
            if not math.isfinite(sample.value):
                self.broken_since = self.broken_since or sample
            else:
                self.broken_since = None
                if self.least is None or sample.value < self.least.value:
                    self.least = sample
        if len(self.points) > 2 * MOST:
            self.points = thin(self.points, MOST)

    def _step(self, point: Sample) -> float:
        if point.step is None:
            return float(self.total)
        last = self._last_as_told
        if last is not None and last.step is not None and point.step < last.step:
            is_next_epoch = point.epoch is not None and last.epoch is not None and point.epoch > last.epoch
            if is_next_epoch or (point.epoch is None and point.step <= self._first_step):
                self._base += last.step + self._stride - point.step
        elif last is not None and last.step is not None and point.step > last.step:
            self._stride = point.step - last.step
        if last is None:
            self._first_step = point.step
        self._last_as_told = point
        return self._base + point.step

    def record(self, most: int = MOST) -> SeriesRecord:
        """For a page: gaps are None, and `marks` says what stood there."""
        points = thin(self.points, most)
        marks = {i: _word(p.value) for i, p in enumerate(points) if not math.isfinite(p.value)}
        return SeriesRecord(
            name=self.name,
            steps=[p.step for p in points],
            epochs=[p.epoch for p in points],
            times=[p.time for p in points],
            values=[p.value if math.isfinite(p.value) else None for p in points],
            marks=marks,
            total=self.total,
        )

    def spark(self, most: int = 40) -> list[float | None]:
        """A few values for a small picture."""
        points = self.points if len(self.points) <= most else thin(self.points, most)
        return [float(f"{p.value:.5g}") if math.isfinite(p.value) else None for p in points]

    def mark(self) -> str:
        """What to call out, or ''."""
        if self.broken_since is None:
            return ""
        step = self.broken_since.step
        at = "" if step is None else f" since step {step:g}"
        return f"{_word(self.broken_since.value)}{at}"


def _word(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "infinite" if value > 0 else "minus infinite"


def thin(points: list[Sample], most: int) -> list[Sample]:
    """At most about `most` points: of each stretch its least, its greatest and its first gap; always the first and last."""
    if len(points) <= most:
        return points
    size = len(points) / max(1, most // 2)
    kept: list[Sample] = []
    start = 0.0
    while start < len(points):
        kept.extend(_representatives(points[int(start) : max(int(start) + 1, int(start + size))]))
        start += size
    if kept[0] is not points[0]:
        kept.insert(0, points[0])
    if kept[-1] is not points[-1]:
        kept.append(points[-1])
    return kept


def _representatives(stretch: list[Sample]) -> list[Sample]:
    finite = [(p.value, i) for i, p in enumerate(stretch) if math.isfinite(p.value)]
    chosen = {min(finite)[1], max(finite)[1]} if finite else set()
    gap = next((i for i, p in enumerate(stretch) if not math.isfinite(p.value)), None)
    if gap is not None:
        chosen.add(gap)
    return [stretch[i] for i in sorted(chosen)]
