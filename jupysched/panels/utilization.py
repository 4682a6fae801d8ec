"""The panel of the GPUs: what each does, what its links carry, and which job held which GPU. Reads the daemon's past."""

from __future__ import annotations

import time
from typing import Any

from bokeh.document import Document
from bokeh.models import CategoricalAxis, ColumnDataSource, FactorRange, GlyphRenderer, HBar, HoverTool, Range1d, Text

from jupysched.panels import look, past
from jupysched.panels.page import Page, say
from jupysched.panels.views import World
from jupysched.wire import requests as ask
from jupysched.wire.records import GpuRecord
from jupysched.wire.samples import SamplesRecord, TrackRecord

#: label, seconds, points of one line: no more than can be seen, no fewer than the daemon has
RANGES: tuple[tuple[str, float, int], ...] = (
    ("10 min", 600.0, 240), ("1 h", 3600.0, 360), ("24 h", 86_400.0, 480), ("7 d", 7 * 86_400.0, 500),
    ("30 d", 30 * 86_400.0, 500),
)  # fmt: skip
#: each update draws all charts anew: at this pace an open panel costs a browser less than 5 % of a core
UPDATE_S = 10.0
PERIOD_MS = 1000
CLOCK = "{%d %b %H:%M:%S}"


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._page = Page(document, title="GPU utilization", file_name="gpu-utilization")
        self._range = 0
        now = time.time() * 1000
        self._x = Range1d(now - self._span_s * 1000, now)
        self._said = self._page.text("")
        self._head = self._page.ranges([label for label, _, _ in RANGES], self._show_range)
        self._bands = ColumnDataSource(_coloured({key: [] for key in past.BANDS}))
        self._gpus: list[GpuRecord] = []
        self._metrics: list[past.Metric] = []
        self._lines: dict[str, ColumnDataSource] = {}
        self._newest: dict[str, float] = {}
        #: until when readings were asked for, and how far apart they were; none yet
        self._asked_at, self._step_s = 0.0, 1.0
        # The charts come with their first readings: drawn empty before, they would be drawn twice.
        self._page.show([self._head], self._said, sources=[])
        self._meet(list(world.picture.gpus))
        self._page.keep_true(self._tick, period_ms=PERIOD_MS)

    @property
    def _span_s(self) -> float:
        return RANGES[self._range][1]

    # --- what stands where ---------------------------------------------------------------------------------------------

    def _meet(self, gpus: list[GpuRecord]) -> None:
        """There are other GPUs than before: everything is to be asked and drawn anew."""
        self._gpus, self._metrics, self._lines, self._newest = gpus, [], {}, {}
        self._asked_at = 0.0
        say(self._said, self._sentence())
        self._page.charts.children = [self._page.text("")]

    def _stand(self, tracks: dict[str, TrackRecord]) -> None:
        """The charts anew, when there are other GPUs or other things are told."""
        self._lines = {g.id: ColumnDataSource(self._columns(tracks.get(g.id))) for g in self._gpus}
        self._page.charts.children = [self._holders(), *self._make_charts()]
        self._page.save([*((self._label(g), self._lines[g.id]) for g in self._gpus), ("", self._bands)])

    def _columns(self, track: TrackRecord | None) -> dict[str, Any]:
        return past.columns(track or TrackRecord(gpu="", at=[], mean={}, peak={}), self._metrics, step_s=self._step_s)

    def _sentence(self) -> str:
        if not self._gpus:
            text = "No GPU is known yet: the queue is not running, or no node has joined."
        elif all(g.kind == "cpu_slot" for g in self._gpus):
            text = "CPU slots stand in for GPUs here: what is drawn is what the processes of their jobs use; 100 % is a core."
        else:
            return ""
        return f"<span class='soft'>{text}</span>"

    def _label(self, gpu: GpuRecord) -> str:
        several = len({g.node for g in self._gpus}) > 1
        return f"{gpu.node} {gpu.label}" if several else gpu.label

    def _make_charts(self) -> list[Any]:
        """One chart a metric, one legend for all of them below the first: an entry hides its GPU everywhere."""
        charts = [self._chart(metric) for metric in self._metrics]
        if not charts:
            return []
        first, *others = charts
        for place, entry in enumerate(first.legend):
            entry.renderers = [chart.legend[place].renderers[0] for chart in charts]
        return [first.with_legend(), *(chart.plot for chart in others)]

    def _chart(self, metric: past.Metric) -> look.Chart:
        y_range = look.percent() if metric.unit == "%" else None
        drawn, *more = past.columns_of(metric)
        tips = [("", "$name"), ("", f"@{drawn}{{0.0[0]}} {metric.unit}")]
        tips += [(name.rpartition("_")[2], f"@{name}{{0.0[0]}} {metric.unit}") for name in more]
        tips.append(("", f"@time{CLOCK}"))
        made = look.chart(
            f"{metric.title} ({metric.unit})", self._page.theme, x_range=self._x, y_range=y_range, tooltips=tips
        )
        for index, gpu in enumerate(self._gpus):
            made.line(self._lines[gpu.id], x="time", y=drawn, label=self._label(gpu), index=index)
        return made

    def _holders(self) -> Any:
        labels = [self._label(g) for g in self._gpus]
        theme = self._page.theme
        made = look.chart(
            "Jobs",
            theme,
            height=66 + 20 * max(1, len(labels)),
            x_range=self._x,
            y_range=FactorRange(factors=labels[::-1]),
        )
        plot = made.plot
        plot.left.clear()
        look.categories(plot, CategoricalAxis(), theme, "left")
        bar = HBar(y="gpu", left="start", right="end", height=0.8, fill_color="_colour", line_color=theme.ground)
        bars = GlyphRenderer(data_source=self._bands, glyph=bar)
        name = Text(
            x="_at",
            y="gpu",
            text="_short",
            x_offset=4,
            text_color="_ink",
            text_font_size="11px",
            text_baseline="middle",
        )
        plot.renderers.extend([bars, GlyphRenderer(data_source=self._bands, glyph=name)])
        tips = [("", "@name"), ("", "@user, job @job"), ("", f"@start{CLOCK} to @end{CLOCK}")]
        plot.add_tools(
            HoverTool(renderers=[bars], tooltips=tips, formatters={"@start": "datetime", "@end": "datetime"})
        )
        return plot

    # --- keeping it true -----------------------------------------------------------------------------------------------

    def _show_range(self, index: int) -> None:
        self._range = index
        self._asked_at = 0.0
        self._page.again()

    async def _tick(self) -> None:
        now = time.time()
        gpus = list(self._world.picture.gpus)
        if [g.id for g in gpus] != [g.id for g in self._gpus]:
            self._meet(gpus)
        if not gpus or now - self._asked_at < max(UPDATE_S, self._step_s) - 0.5:
            return
        if self._asked_at:
            await self._more(now)
        else:
            await self._fill(now)

    async def _fill(self, now: float) -> None:
        """All lines anew."""
        _, span_s, most = RANGES[self._range]
        found: SamplesRecord = await self._world.call(ask.Samples(since=now - span_s, until=now, most=most))
        self._step_s = found.step_s
        tracks = {track.gpu: track for track in found.tracks}
        told = [m for m in past.CHARTS if any(past.is_told(m, g, tracks.get(g.id)) for g in self._gpus)]
        if told != self._metrics or not self._lines:
            self._metrics = told
            self._stand(tracks)
        else:
            for gpu in self._gpus:
                self._lines[gpu.id].data = self._columns(tracks.get(gpu.id))
        self._newest = {g.id: (tracks[g.id].at or [now - span_s])[-1] for g in self._gpus if g.id in tracks}
        self._move(now, found)

    async def _more(self, now: float) -> None:
        """What was read since the last time. A stretch is told once it is over, so it may lie before that."""
        since = max(self._asked_at - 2 * self._step_s - UPDATE_S, now - self._span_s)
        most = max(1, round((now - since) / self._step_s))
        found: SamplesRecord = await self._world.call(ask.Samples(since=since, until=now, most=most))
        for track in found.tracks:
            newest = self._newest.get(track.gpu)
            if newest is None or track.gpu not in self._lines:
                continue
            fresh = _after(track, newest)
            if fresh.at:
                new = past.columns(fresh, self._metrics, step_s=self._step_s, before=newest)
                self._lines[track.gpu].stream(new, rollover=2 * RANGES[self._range][2])
                self._newest[track.gpu] = fresh.at[-1]
        whole: SamplesRecord = await self._world.call(
            ask.Samples(since=now - self._span_s, until=now, gpus=[g.id for g in self._gpus], most=1)
        )
        self._move(now, whole)

    def _move(self, now: float, found: SamplesRecord) -> None:
        self._asked_at = now
        since = now - self._span_s
        self._x.update(start=since * 1000, end=now * 1000)
        labels = {g.id: self._label(g) for g in self._gpus}
        held = _coloured(past.bands(found.holds, labels, since=since, until=now))
        if held != self._bands.data:
            self._bands.data = held


def _coloured(bands: dict[str, list[Any]]) -> dict[str, list[Any]]:
    colours = [look.colour(job) for job in bands["job"]]
    return {**bands, "_colour": colours, "_ink": [look.ink_on(colour) for colour in colours]}


def _after(track: TrackRecord, at: float) -> TrackRecord:
    """The part of it that is newer."""
    first = next((i for i, t in enumerate(track.at) if t > at), len(track.at))
    return TrackRecord(
        gpu=track.gpu,
        at=track.at[first:],
        mean={name: column[first:] for name, column in track.mean.items()},
        peak={name: column[first:] for name, column in track.peak.items()},
    )
