"""The panel of the queue: how many waited and ran over time, and how long jobs of which class and width waited."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.models import ColumnDataSource, DataRange1d, HoverTool, NumeralTickFormatter, Range1d, Scatter
from bokeh.models.glyphs import Step
from bokeh.models.renderers import GlyphRenderer

from jupysched.panels import facts, look
from jupysched.panels.page import Page, fill, number
from jupysched.panels.views import World

RANGES: tuple[tuple[str, float], ...] = (("1 h", 3600.0), ("24 h", 86_400.0), ("7 d", 7 * 86_400.0))
PERIOD_MS = 2000
LINES = (("waiting", "waiting"), ("running", "running"), ("gpus", "GPUs held"))
MARKS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "star", "hex", "plus")
#: kinds with a mark of their own; the others are one
MOST_KINDS = 8
CLOCK = "@time{%d %b %H:%M:%S}"


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._page = Page(document, title="GPU queue", file_name="gpu-queue")
        self._span_s = RANGES[0][1]
        now = time.time() * 1000
        self._x = Range1d(now - self._span_s * 1000, now)
        self._over_time = ColumnDataSource({"time": [], "waiting": [], "running": [], "gpus": []})
        self._waits = ColumnDataSource({name: [] for name in facts.Wait._fields})
        self._dots = ColumnDataSource(_dots([]))
        self._kinds: list[str] = []
        self._by_kind: dict[str, ColumnDataSource] = {}
        self._stand()
        self._page.keep_true(self._tick, period_ms=PERIOD_MS)

    def _stand(self) -> None:
        page = self._page
        seconds, count = number("00:00:00"), number("0")
        titles = {
            "kind": "Class and size",
            "jobs": ("Jobs", count),
            "waiting": ("Waiting", count),
            "median_s": ("Median", seconds),
            "p95_s": ("95 %", seconds),
            "longest_s": ("Longest", seconds),
        }
        title = page.text("<b>Waits</b> <span class='soft'>of jobs that began to run in this time, or wait now</span>")
        page.charts.children = [self._counts()]
        sources = [("", self._over_time), ("", self._waits), ("", self._dots)]
        ranges = page.ranges([label for label, _ in RANGES], self._show_range)
        page.show([ranges], title, page.table(self._waits, titles, most=10), sources=sources)

    def _counts(self) -> Any:
        tips = [("", "$name"), ("", "@$name"), ("", CLOCK)]
        made = look.chart("Waiting and running", self._page.theme, height=250, x_range=self._x, tooltips=tips)
        for index, (name, label) in enumerate(LINES):
            glyph = Step(
                x="time",
                y=name,
                mode="after",
                line_color=look.colour(index),
                line_width=2,
                line_dash=look.DASHES[index],
            )
            renderer = GlyphRenderer(data_source=self._over_time, glyph=glyph, name=name)
            made.plot.renderers.append(renderer)
            made.entry(label, renderer)
        # There is no half a job.
        made.plot.left[0].ticker.min_interval = 1
        return made.with_legend()

    def _waits_chart(self, kinds: Sequence[str]) -> Any:
        """A mark for each job, where its wait ended; another colour and shape for each class and width."""
        made = look.chart(
            "Wait until a job began",
            self._page.theme,
            height=220,
            x_range=self._x,
            y_range=DataRange1d(start=0, range_padding=0.1),
        )
        # Bokeh leaves what has no data out of its legend, also when data comes later.
        nothing = facts.Waited(math.nan, math.nan, "", 0, "", "")
        self._by_kind = {kind: ColumnDataSource(_dots([nothing])) for kind in kinds}
        for index, (kind, source) in enumerate(self._by_kind.items()):
            colour = look.colour(index)
            glyph = Scatter(
                x="time", y="wait_s", marker=MARKS[index % len(MARKS)], size=8, fill_color=colour, line_color=colour,
                fill_alpha=0.5,
            )  # fmt: skip
            renderer = GlyphRenderer(data_source=source, glyph=glyph, name=kind)
            made.plot.renderers.append(renderer)
            made.entry(kind, renderer)
        made.plot.left[0].update(formatter=NumeralTickFormatter(format="00:00:00"))
        made.plot.left[0].ticker.update(min_interval=1, base=60, mantissas=[1, 2, 5, 10, 15, 20, 30])
        tips = [("", "@name (@job), @user"), ("", "@kind"), ("waited", "@wait_s{00:00:00}"), ("", CLOCK)]
        made.plot.add_tools(HoverTool(tooltips=tips, formatters={"@time": "datetime"}))
        return made.with_legend()

    def _show_range(self, index: int) -> None:
        self._span_s = RANGES[index][1]
        self._page.again()

    async def _tick(self) -> None:
        now = time.time()
        since = now - self._span_s
        self._x.update(start=since * 1000, end=now * 1000)
        jobs = self._world.picture.jobs.values()
        found = facts.steps(jobs, since=since, now=now)
        self._over_time.data = {
            "time": np.array(found.at) * 1000,
            "waiting": found.waiting,
            "running": found.running,
            "gpus": found.gpus,
        }
        waited = facts.waited(jobs, since=since, now=now)
        fill(self._waits, waits := facts.waits(waited, now=now), facts.Wait._fields)
        kinds = [wait.kind for wait in waits]
        if len(kinds) > MOST_KINDS:
            kinds = [*kinds[: MOST_KINDS - 1], "others"]
        if kinds != self._kinds:
            self._kinds = kinds
            charts = self._page.charts.children[:1]
            self._page.charts.children = [*charts, self._waits_chart(kinds)] if kinds else charts
        self._draw_dots(waited)

    def _draw_dots(self, waited: Sequence[facts.Waited]) -> None:
        data = _dots(waited)
        if data == dict(self._dots.data):
            return
        self._dots.data = data
        for kind, source in self._by_kind.items():
            source.data = _dots([w for w in waited if (w.kind if w.kind in self._by_kind else "others") == kind])


def _dots(waited: Sequence[facts.Waited]) -> dict[str, list[Any]]:
    return {
        "time": [w.time * 1000 for w in waited],
        "wait_s": [w.wait_s for w in waited],
        "kind": [w.kind for w in waited],
        "job": [w.job for w in waited],
        "name": [w.name[:80] for w in waited],
        "user": [w.user for w in waited],
    }
