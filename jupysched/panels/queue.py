"""The panel of the queue: how many waited and ran over time, and how long which kind of job waited."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.models import (
    Column,
    ColumnDataSource,
    DataTable,
    Div,
    NumberFormatter,
    RadioButtonGroup,
    Range1d,
    Row,
    TableColumn,
)
from bokeh.models.glyphs import Step
from bokeh.models.renderers import GlyphRenderer

from jupysched.panels import facts, look
from jupysched.panels.files import csv_button
from jupysched.panels.views import World

RANGES: tuple[tuple[str, float], ...] = (("1 h", 3600.0), ("24 h", 86_400.0), ("7 days", 7 * 86_400.0))
PERIOD_MS = 2000
LINES = (("waiting", "waiting"), ("running", "running"), ("gpus", "GPUs held"))


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._theme = look.theme_of(document)
        self._span_s = RANGES[0][1]
        self._seen = -1
        now = time.time() * 1000
        self._x = Range1d(now - self._span_s * 1000, now)
        self._over_time = ColumnDataSource({"time": [], "waiting": [], "running": [], "gpus": []})
        self._waits = ColumnDataSource({name: [] for name in facts.Wait._fields})
        look.dress(document, self._theme, "GPU queue")
        document.add_root(self._layout())
        self._tick()
        document.add_periodic_callback(self._tick, PERIOD_MS)

    def _layout(self) -> Column:
        sheet = [look.style(self._theme)]
        ranges = RadioButtonGroup(labels=[label for label, _ in RANGES], active=0, width=200, stylesheets=sheet)
        ranges.on_change("active", lambda _a, _o, new: self._show_range(int(new)))
        csv = csv_button([("", self._over_time)], name="gpu-queue", theme=self._theme)
        title = Div(
            text="<b>Waits of jobs that have started</b> <span class='soft'>by class and number of GPUs</span>",
            stylesheets=sheet,
        )
        seconds = NumberFormatter(format="00:00:00")
        columns = [
            TableColumn(field="kind", title="Class and size"),
            TableColumn(field="jobs", title="Jobs"),
            TableColumn(field="median_s", title="Median wait", formatter=seconds),
            TableColumn(field="longest_s", title="Longest wait", formatter=seconds),
        ]
        table = DataTable(
            source=self._waits,
            columns=columns,
            height=200,
            index_position=None,
            sizing_mode="stretch_width",
            stylesheets=[*sheet, look.table_style(self._theme)],
        )
        return Column(
            children=[Row(children=[ranges, csv], sizing_mode="stretch_width"), self._chart(), title, table],
            sizing_mode="stretch_width",
        )

    def _chart(self) -> Any:
        tips = [("", "$name"), ("", "@$name"), ("", "@time{%d %b %H:%M:%S}")]
        made = look.chart("Waiting and running", self._theme, height=280, x_range=self._x, tooltips=tips)
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
        return made.with_legend()

    def _show_range(self, index: int) -> None:
        self._span_s = RANGES[index][1]
        self._seen = -1
        self._tick()

    def _tick(self) -> None:
        now = time.time()
        self._x.update(start=(now - self._span_s) * 1000, end=now * 1000)
        jobs = self._world.picture.jobs.values()
        found = facts.steps(jobs, since=now - self._span_s, now=now)
        self._over_time.data = {
            "time": np.array(found.at) * 1000,
            "waiting": found.waiting,
            "running": found.running,
            "gpus": found.gpus,
        }
        if self._seen != len(jobs) or self._seen < 0:
            self._seen = len(jobs)
            rows = facts.waits(jobs)
            self._waits.data = {name: [getattr(r, name) for r in rows] for name in facts.Wait._fields}
