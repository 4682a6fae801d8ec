"""Metrics of jobs, read from their spools as they grow. Knows frames and printed losses; knows nothing of charts or routes.

What a job states counts (`jupysched.log`, or a library that it logs with); a loss that it also prints is not counted twice."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import OrderedDict
from collections.abc import Iterable

from jupysched import spool
from jupysched.metrics_text import Losses, foremost, kind
from jupysched.panels.series import Sample, Series
from jupysched.runner import points
from jupysched.spool import Frame, Kind
from jupysched.wire.browser import LossRecord, MetricsRecord
from jupysched.wire.records import JobRecord

#: jobs whose points are kept in memory; the spool has them all
MOST_JOBS = 64
#: bytes read in one go, so that one look never takes long
PIECE = 4 << 20


class AttemptMetrics:
    """All series of one attempt. `read` is blocking; one thread at a time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.offset = 0
        self.series: dict[str, Series] = {}
        #: names that the job states, and the kinds of metrics that they are
        self._stated: set[str] = set()
        self._stated_kinds: set[frozenset[str]] = set()
        self._losses = {Kind.STDOUT: Losses(), Kind.STDERR: Losses()}

    def read(self) -> bool:
        """Take in what is new; False if nothing is left to read."""
        frames = spool.read_frames(self.path, self.offset, PIECE)
        if not frames:
            return False
        self.offset = frames[-1].end
        self.feed(frames)
        return True

    def feed(self, frames: Iterable[Frame]) -> None:
        """Take in these frames."""
        new: dict[str, list[Sample]] = {}
        for frame in frames:
            if frame.kind == Kind.METRICS:
                self._report(frame, new)
            elif frame.kind in (Kind.STDOUT, Kind.STDERR):
                for point in self._losses[Kind(frame.kind)].feed(frame.payload.decode("utf-8", "replace")):
                    if kind(point.name) not in self._stated_kinds:
                        new.setdefault(point.name, []).append(Sample(frame.time, point.value, point.step, point.epoch))
        for name, samples in new.items():
            self.series.setdefault(name, Series(name)).add(samples)

    def _report(self, frame: Frame, new: dict[str, list[Sample]]) -> None:
        for point in points.read(frame.payload):
            at = frame.time if point.time is None else point.time
            for name, value in _numbers(point.values).items():
                if name not in self._stated:
                    self._state(name, new)
                new.setdefault(name, []).append(Sample(at, value, point.step, point.epoch))

    def _state(self, name: str, new: dict[str, list[Sample]]) -> None:
        """From now on this metric is what the job states; what was read of it in its output goes."""
        self._stated.add(name)
        self._stated_kinds.add(kind(name))
        for other in {*self.series, *new} - self._stated | {name}:
            if other == name or kind(other) == kind(name):
                self.series.pop(other, None)
                new.pop(other, None)

    def first(self) -> Series | None:
        """The series to show where there is room for one."""
        name = foremost(self.series)
        return None if name is None else self.series[name]


class MetricsBook:
    """The metrics of the jobs that somebody looks at, newest look last."""

    def __init__(self) -> None:
        self._attempts: OrderedDict[str, AttemptMetrics] = OrderedDict()
        self._reading: dict[str, asyncio.Lock] = {}

    async def of(self, record: JobRecord) -> AttemptMetrics:
        """The newest attempt's metrics, read up to now."""
        path = f"{spool.attempt_path(record.directory, record.attempt)}/{spool.FRAMES}"
        attempt = self._attempts.setdefault(path, AttemptMetrics(path))
        self._attempts.move_to_end(path)
        while len(self._attempts) > MOST_JOBS:
            old, _ = self._attempts.popitem(last=False)
            self._reading.pop(old, None)
        async with self._reading.setdefault(path, asyncio.Lock()):
            while spool_size(path) > attempt.offset and await asyncio.to_thread(attempt.read):
                pass
        return attempt

    async def metrics(self, record: JobRecord) -> MetricsRecord:
        """All series for a page."""
        attempt = await self.of(record)
        series = [s.record() for s in attempt.series.values()]
        return MetricsRecord(job=record.id, attempt=record.attempt, series=series)

    async def newest_loss(self, record: JobRecord) -> tuple[LossRecord | None, bool]:
        """The newest value of its first metric, if it has one; and whether the attempt had ended before it was read."""
        ended = record.ended_at is not None
        first = (await self.of(record)).first()
        if first is None or first.last is None:
            return None, ended
        last = first.last
        loss = LossRecord(
            job=record.id,
            name=first.name,
            value=last.value if math.isfinite(last.value) else None,
            step=last.step,
            epoch=last.epoch,
            spark=first.spark(),
            mark=first.mark(),
        )
        return loss, ended


def _numbers(values: dict[str, object]) -> dict[str, float]:
    """What is a number; NaN and infinities travel as text. A word that somebody logged is not drawn."""
    found: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, int | float | str):
            with contextlib.suppress(ValueError, OverflowError):
                found[name] = float(value)
    return found


def spool_size(path: str) -> int:
    """Bytes written so far."""
    try:
        with open(path, "rb") as file:
            return file.seek(0, 2)
    except OSError:
        return 0
