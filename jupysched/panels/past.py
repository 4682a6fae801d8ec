"""The daemon's readings and holds as the columns that charts draw. Pure; knows no Bokeh and asks nobody.

A value that was not told, and the time in which nothing was read, are NaN: a gap, never a line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jupysched.wire.records import GpuRecord
from jupysched.wire.samples import HoldRecord, TrackRecord

#: readings come about once a step; when one is this many steps late (or this many seconds), there was none
GAP_STEPS, GAP_S = 3.0, 5.0


class Metric(NamedTuple):
    """One chart."""

    name: str
    title: str
    unit: str
    #: what the daemon's number is divided by
    divisor: float
    #: the daemon's metrics that are added up in it: in and out of a link are two numbers and one line
    of: tuple[str, ...]
    #: the fields of GpuRecord that have its newest value
    fields: tuple[str, ...]


def _link(name: str, title: str) -> Metric:
    fields = (f"{name}_rx_bytes_per_s", f"{name}_tx_bytes_per_s")
    return Metric(name, title, "GB/s", 1e9, (f"{name}_rx", f"{name}_tx"), fields)


CHARTS = (
    Metric("utilization", "Utilization", "%", 1.0, ("utilization",), ("utilization_percent",)),
    Metric("memory", "Memory used", "GB", 1e9, ("memory",), ("memory_used_bytes",)),
    Metric("power", "Power", "W", 1.0, ("power",), ("power_w",)),
    Metric("temperature", "Temperature", "°C", 1.0, ("temperature",), ("temperature_c",)),
    _link("pcie", "PCIe, in and out"),
    _link("nvlink", "NVLink, in and out"),
)
#: what has a peak that is worth telling beside its mean
PEAKS = ("utilization", "memory")


def columns_of(metric: Metric) -> tuple[str, ...]:
    """The names of the columns of one chart, the drawn one first."""
    if len(metric.of) > 1:
        return (metric.name, f"{metric.name}_in", f"{metric.name}_out")
    return (metric.name, f"{metric.name}_peak") if metric.name in PEAKS else (metric.name,)


def is_told(metric: Metric, gpu: GpuRecord, track: TrackRecord | None = None) -> bool:
    """Does the GPU tell it now, or did it in this time?"""
    if any(getattr(gpu, name) is not None for name in metric.fields):
        return True
    return track is not None and any(name in track.mean for name in metric.of)


def columns(
    track: TrackRecord, metrics: Sequence[Metric], *, step_s: float, before: float | None = None
) -> dict[str, Any]:
    """As Bokeh takes them; `before`: when the last reading was that is drawn already. Never no row at all: Bokeh leaves what has no
    data out of its legend, also when data comes later."""
    at, places = _with_gaps(track.at, step_s, before)
    if not len(at):
        at, places = np.array([math.nan]), np.array([-1])
    found: dict[str, Any] = {"time": at}
    for metric in metrics:
        means = [_column(track.mean, name, places) / metric.divisor for name in metric.of]
        if len(means) > 1:
            # A link of which one way is not told has no sum.
            drawn: list[Any] = [sum(means), *means]
        elif metric.name in PEAKS:
            drawn = [*means, _column(track.peak, metric.of[0], places) / metric.divisor]
        else:
            drawn = means
        found.update(zip(columns_of(metric), drawn, strict=True))
    return found


def _with_gaps(times: Sequence[float], step_s: float, before: float | None) -> tuple[Any, Any]:
    """Times in ms, one more in each gap; and where each value comes from (-1: from nowhere)."""
    at: list[float] = []
    places: list[int] = []
    longest = max(GAP_S, GAP_STEPS * step_s)
    for place, time in enumerate(times):
        if before is not None and time - before > longest:
            at.append((before + step_s) * 1000)
            places.append(-1)
        at.append(time * 1000)
        places.append(place)
        before = time
    return np.array(at, dtype=float), np.array(places, dtype=int)


def _column(told: dict[str, list[float | None]], name: str, places: Any) -> Any:
    values = np.array([*(math.nan if v is None else v for v in told.get(name, ())), math.nan], dtype=float)
    if len(values) == 1:
        return np.full(len(places), math.nan)
    return values[places]


BANDS = ("gpu", "start", "end", "job", "name", "user", "jobs", "_at", "_short")


def bands(holds: Iterable[HoldRecord], labels: dict[str, str], *, since: float, until: float) -> dict[str, list[Any]]:
    """Which job held which GPU, as bars with as much of a name as fits."""
    found: dict[str, list[Any]] = {key: [] for key in BANDS}
    for hold in holds:
        if hold.gpu not in labels:
            continue
        start, end = max(hold.start, since), min(hold.end or until, until)
        name = f"{hold.jobs} short jobs" if hold.jobs > 1 else hold.name
        room = int((end - start) / (until - since) * 100) if until > since else 0
        row = {
            "gpu": labels[hold.gpu],
            "start": hold.start * 1000,
            "end": max(end, hold.start) * 1000,
            "job": hold.job,
            "name": name[:80],
            "user": hold.user,
            "jobs": hold.jobs,
            "_at": start * 1000,
            "_short": name[:room] if room > 3 else "",
        }
        for key, value in row.items():
            found[key].append(value)
    return found


class Busy(NamedTuple):
    """How busy the GPUs of one job were while it held them."""

    #: unix seconds, and percent
    at: list[float]
    percent: list[float | None]

    @property
    def mean(self) -> float | None:
        """In all; None where that is less than ten readings."""
        known = [p for p in self.percent if p is not None]
        return sum(known) / len(known) if len(known) >= 10 else None


def busy(tracks: Sequence[TrackRecord]) -> Busy:
    """The mean over a job's GPUs; they are read together, so the first one's times serve for all."""
    told = [t for t in tracks if "utilization" in t.mean]
    if not told:
        return Busy([], [])
    length = min(len(t.at) for t in told)
    percent: list[float | None] = []
    for place in range(length):
        known = [v for t in told if (v := t.mean["utilization"][place]) is not None]
        percent.append(sum(known) / len(known) if known else None)
    return Busy(told[0].at[:length], percent)
