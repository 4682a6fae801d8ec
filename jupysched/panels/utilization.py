"""The panel of the GPUs: utilization, memory, power, temperature, and which job held which GPU. Reads the history."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from bokeh.document import Document
from bokeh.models import (
    CategoricalAxis,
    Column,
    ColumnDataSource,
    Div,
    FactorRange,
    GlyphRenderer,
    HBar,
    HoverTool,
    RadioButtonGroup,
    Range1d,
    Row,
    Text,
)

from jupysched.panels import look
from jupysched.panels.files import csv_button
from jupysched.panels.history import METRICS, GpuHistory, Reading, mean
from jupysched.panels.views import World
from jupysched.wire.records import GpuRecord

RANGES: tuple[tuple[str, float], ...] = (("10 min", 600.0), ("1 h", 3600.0), ("24 h", 86_400.0))
#: points of one line; more cannot be seen
MOST = 600
#: each update draws all charts anew: at this pace an open panel costs a browser less than 5 % of a core
UPDATE_S = 5.0
PERIOD_MS = 1000


class Metric(NamedTuple):
    """One chart."""

    name: str
    title: str
    unit: str
    #: what the record's number is divided by
    divisor: float


CHARTS = (
    Metric("utilization", "Utilization", "%", 1.0),
    Metric("memory", "Memory used", "GB", 1e9),
    Metric("power", "Power", "W", 1.0),
    Metric("temperature", "Temperature", "°C", 1.0),
)
_PLACE = {name: i for i, name in enumerate(METRICS)}


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true once a second."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._theme = look.theme_of(document)
        self._gpus: list[GpuRecord] = list(world.history.latest.values()) or list(world.picture.gpus)
        self._span_s = RANGES[0][1]
        now = time.time() * 1000
        self._x = Range1d(now - self._span_s * 1000, now)
        self._lines = {g.id: ColumnDataSource(_columns([])) for g in self._gpus}
        self._bands = ColumnDataSource(_no_bands())
        self._newest: dict[str, float] = {}
        self._moved_at = 0.0
        look.dress(document, self._theme, "GPU utilization")
        document.add_root(self._layout())
        self._fill()
        document.add_periodic_callback(self._tick, PERIOD_MS)

    # --- what stands where ---------------------------------------------------------------------------------------------

    def _layout(self) -> Column:
        ranges = RadioButtonGroup(
            labels=[label for label, _ in RANGES], active=0, width=200, stylesheets=[look.style(self._theme)]
        )
        ranges.on_change("active", lambda _a, _o, new: self._show_range(int(new)))
        sources = [(self._label(g), self._lines[g.id]) for g in self._gpus]
        csv = csv_button(sources, name="gpu-utilization", theme=self._theme)
        charts = self._make_charts()
        said = self._said(bool(charts))
        head = Row(children=[ranges, csv], sizing_mode="stretch_width", styles=look.WRAP)
        return Column(children=[head, *said, self._holders(), *charts], sizing_mode="stretch_width")

    def _said(self, has_charts: bool) -> list[Div]:  # noqa: FBT001  one caller
        if not self._gpus:
            text = "No GPU is known yet: the queue is not running, or no node has joined."
        elif not has_charts:
            text = "CPU slots stand in for GPUs here: they have no utilization of their own, only jobs that hold them."
        else:
            return []
        return [
            Div(
                text=f"<span class='soft'>{text}</span>",
                sizing_mode="stretch_width",
                stylesheets=[look.style(self._theme)],
            )
        ]

    def _is_told(self, metric: Metric) -> bool:
        """Does any GPU tell it? What none tells gets no empty chart."""
        kept = any(
            r.values[_PLACE[metric.name]] is not None
            for g in self._gpus
            for r in self._world.history.readings(g.id, since=0.0)
        )
        return kept or any(getattr(g, METRICS[metric.name]) is not None for g in self._gpus)

    def _label(self, gpu: GpuRecord) -> str:
        several = len({g.node for g in self._gpus}) > 1
        return f"{gpu.node} {gpu.label}" if several else gpu.label

    def _make_charts(self) -> list[Any]:
        """One chart a metric, one legend for all of them below the first: an entry hides its GPU everywhere."""
        charts = [self._chart(metric) for metric in CHARTS if self._is_told(metric)]
        if not charts:
            return []
        first, *others = charts
        for place, entry in enumerate(first.legend):
            entry.renderers = [chart.legend[place].renderers[0] for chart in charts]
        return [first.with_legend(), *(chart.plot for chart in others)]

    def _chart(self, metric: Metric) -> look.Chart:
        y_range = look.percent() if metric.unit == "%" else None
        tips = [("", "$name"), ("", f"@{metric.name}{{0.0}} {metric.unit}"), ("", "@time{%H:%M:%S}")]
        made = look.chart(
            f"{metric.title} ({metric.unit})", self._theme, x_range=self._x, y_range=y_range, tooltips=tips
        )
        for index, gpu in enumerate(self._gpus):
            made.line(self._lines[gpu.id], x="time", y=metric.name, label=self._label(gpu), index=index)
        return made

    def _holders(self) -> Any:
        labels = [self._label(g) for g in self._gpus]
        height = 66 + 20 * max(1, len(labels))
        made = look.chart(
            "Jobs", self._theme, height=height, x_range=self._x, y_range=FactorRange(factors=labels[::-1])
        )
        plot = made.plot
        plot.left.clear()
        look.categories(plot, CategoricalAxis(), self._theme, "left")
        bar = HBar(y="gpu", left="start", right="end", height=0.8, fill_color="colour", line_color=self._theme.ground)
        bars = GlyphRenderer(data_source=self._bands, glyph=bar)
        name = Text(
            x="start",
            y="gpu",
            text="short",
            x_offset=4,
            text_color="#ffffff",
            text_font_size="11px",
            text_baseline="middle",
        )
        plot.renderers.extend([bars, GlyphRenderer(data_source=self._bands, glyph=name)])
        tips = [("", "@name"), ("", "@user, job @job"), ("", "@start{%H:%M:%S} to @end{%H:%M:%S}")]
        plot.add_tools(
            HoverTool(renderers=[bars], tooltips=tips, formatters={"@start": "datetime", "@end": "datetime"})
        )
        return plot

    # --- keeping it true -----------------------------------------------------------------------------------------------

    def _show_range(self, index: int) -> None:
        self._span_s = RANGES[index][1]
        self._fill()

    def _fill(self) -> None:
        """All lines anew, thinned to what can be seen."""
        now = time.time()
        for gpu in self._gpus:
            readings = self._world.history.thinned(gpu.id, since=now - self._span_s, most=MOST)
            self._lines[gpu.id].data = _columns(readings)
            self._newest[gpu.id] = readings[-1].at if readings else now - self._span_s
        self._move(now)

    def _tick(self) -> None:
        now = time.time()
        step_s = self._span_s / MOST
        if now - self._moved_at < max(UPDATE_S, step_s) - 0.5:
            return
        history: GpuHistory = self._world.history
        for gpu in self._gpus:
            if new := history.newer(gpu.id, than=self._newest[gpu.id]):
                self._newest[gpu.id] = new[-1].at
                self._lines[gpu.id].stream(_columns(new if step_s <= 1 else [mean(new)]), rollover=MOST)
        self._move(now)

    def _move(self, now: float) -> None:
        self._moved_at = now
        self._x.update(start=(now - self._span_s) * 1000, end=now * 1000)
        held = self._held(now)
        if held != self._bands.data:
            self._bands.data = held

    def _held(self, now: float) -> dict[str, Any]:
        found = _no_bands()
        for gpu in self._gpus:
            for span in self._world.history.spans(gpu.id, since=now - self._span_s):
                job = self._world.picture.jobs.get(span.job)
                name = job.name if job is not None else f"job {span.job}"
                wide = (span.end - span.start) / self._span_s * 90
                row = {
                    "gpu": self._label(gpu),
                    "start": span.start * 1000,
                    "end": max(span.end, span.start + 1) * 1000,
                    "job": span.job,
                    "name": name[:80],
                    "user": job.user if job is not None else "",
                    "short": name[: int(wide)] if wide > 3 else "",
                    "colour": look.colour(span.job),
                }
                for key, value in row.items():
                    found[key].append(value)
        return found


def _no_bands() -> dict[str, list[Any]]:
    return {key: [] for key in ("gpu", "start", "end", "job", "name", "user", "short", "colour")}


def _columns(readings: Sequence[Reading]) -> dict[str, Any]:
    """As Bokeh takes them; a gap is NaN there."""
    found: dict[str, Any] = {"time": np.array([r.at * 1000 for r in readings], dtype=float)}
    for metric in CHARTS:
        place = _PLACE[metric.name]
        values = [r.values[place] for r in readings]
        found[metric.name] = np.array([np.nan if v is None else v / metric.divisor for v in values], dtype=float)
    return found
