"""What the loss panel says about runs, computed: smoothing, the table that compares them, and advice. Pure; knows no Bokeh."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from jupysched.panels.series import Sample, Series


class Line(NamedTuple):
    """One metric of one job, ready to draw; NaN is a gap."""

    x: list[float]
    y: list[float]
    step: list[float]
    #: where a value was not a finite number: x, and the nearest finite value before it
    broken_x: list[float]
    broken_y: list[float]


class Row(NamedTuple):
    """One line of the table."""

    job: str
    metric: str
    points: int
    last: float | None
    best: float | None
    best_step: float | None
    note: str


def smooth(values: Sequence[float], weight: float) -> list[float]:
    """Exponential moving average without the pull towards zero at the beginning; gaps stay gaps and are not averaged."""
    if weight <= 0:
        return list(values)
    found: list[float] = []
    total, norm = 0.0, 0.0
    for value in values:
        if not math.isfinite(value):
            found.append(math.nan)
            continue
        total = total * weight + (1 - weight) * value
        norm = norm * weight + (1 - weight)
        found.append(total / norm)
    return found


def x_of(sample: Sample, axis: str, started: float) -> float:
    """Where a point stands: step, epoch, time (ms, for a clock) or minutes since the start."""
    match axis:
        case "epoch":
            return math.nan if sample.epoch is None else sample.epoch
        case "time":
            return sample.time * 1000
        case "minutes":
            return (sample.time - started) / 60
        case _:
            return math.nan if sample.step is None else sample.step


def line(series: Series, *, axis: str, started: float, weight: float) -> Line:
    """The series as the panel draws it."""
    points = [p for p in series.points if not math.isnan(x_of(p, axis, started))]
    y = smooth([p.value for p in points], weight)
    x = [x_of(p, axis, started) for p in points]
    broken = [i for i, p in enumerate(points) if not math.isfinite(p.value)]
    last = [next((y[j] for j in range(i, -1, -1) if math.isfinite(y[j])), 0.0) for i in broken[:200]]
    return Line(
        x=x,
        y=[v if math.isfinite(v) else math.nan for v in y],
        step=[p.step if p.step is not None else math.nan for p in points],
        broken_x=[x[i] for i in broken[:200]],
        broken_y=last,
    )


def row(label: str, series: Series) -> Row:
    """The series in the table."""
    last = series.last.value if series.last is not None and math.isfinite(series.last.value) else None
    least = series.least
    return Row(
        job=label,
        metric=series.name,
        points=series.total,
        last=last,
        best=least.value if least else None,
        best_step=least.step if least else None,
        note=series.mark(),
    )


def advice(*, utilization: float | None, series: Sequence[Series]) -> str:
    """One sentence about what limits the run, or ''."""
    broken = next((s for s in series if s.broken_since is not None), None)
    if broken is not None:
        return f"{broken.name} is {broken.mark()}: a lower learning rate, gradient clipping or less aggressive mixed precision may help."
    if utilization is None:
        return ""
    shown = f"GPU busy {utilization:.0f} %"
    if utilization < 30:
        return f"{shown}: the data loader is the limit, not the GPU. More loader processes, pinned memory or larger batches feed it."
    if utilization < 70:
        return f"{shown}: it waits for data or for the CPU a good part of the time."
    return f"{shown}: it is well fed."
