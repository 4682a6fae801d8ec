"""The panel of training losses: any metric of any of one's own jobs, overlaid and compared; under it the GPU of each job."""

from __future__ import annotations

import math
import time
from datetime import datetime
from html import escape
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.models import (
    Column,
    ColumnDataSource,
    DataTable,
    Div,
    NumberFormatter,
    StringFormatter,
    TableColumn,
)

from jupysched.panels import look, runs
from jupysched.panels.files import csv_button
from jupysched.panels.history import METRICS
from jupysched.panels.loss_controls import Controls
from jupysched.panels.training import AttemptMetrics
from jupysched.panels.views import World
from jupysched.wire.records import JobRecord

PERIOD_MS = 1000
#: jobs offered for choosing
MOST_OFFERED = 200
#: jobs drawn when none was named
MOST_FIRST = 4
_UTILIZATION = list(METRICS).index("utilization")


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true once a second."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._theme = look.theme_of(document)
        self._read: dict[int, AttemptMetrics] = {}
        self._drawn: dict[tuple[int, str], tuple[Any, ...]] = {}
        self._sources: dict[tuple[int, str], ColumnDataSource] = {}
        self._broken: dict[tuple[int, str], ColumnDataSource] = {}
        self._stands: tuple[Any, ...] = ()
        named = [int(w) for w in look.argument(document, "jobs").split(",") if w.isdigit()]
        wanted = [w for w in look.argument(document, "metrics").split(",") if w]
        self._controls = Controls(self._theme, jobs=named, metrics=wanted, changed=self._drawn.clear)
        self._has_chosen = bool(named)
        self._charts = Column(children=[], sizing_mode="stretch_width")
        self._advice = Div(text="", sizing_mode="stretch_width", stylesheets=[look.style(self._theme)])
        self._table = ColumnDataSource({name: [] for name in runs.Row._fields})
        look.dress(document, self._theme, "Training loss")
        document.add_root(self._layout())
        document.add_next_tick_callback(self._tick)
        document.add_periodic_callback(self._tick, PERIOD_MS)

    # --- controls ------------------------------------------------------------------------------------------------------

    def _layout(self) -> Column:
        formats = NumberFormatter(format="0.[00000]", nan_format="")
        names = {
            "job": "Job",
            "metric": "Metric",
            "points": "Points",
            "last": "Last",
            "best": "Least",
            "best_step": "at step",
            "note": "",
        }
        columns = [
            TableColumn(field=f, title=t, formatter=StringFormatter() if f in ("job", "metric", "note") else formats)
            for f, t in names.items()
        ]
        table = DataTable(
            source=self._table,
            columns=columns,
            height=150,
            index_position=None,
            sizing_mode="stretch_width",
            stylesheets=[look.style(self._theme), look.table_style(self._theme)],
        )
        csv = csv_button([("", self._table)], name="training-loss-table", theme=self._theme)
        self._csv = Column(children=[csv])
        first, second = self._controls.rows()
        second.children.append(self._csv)
        return Column(children=[first, second, self._charts, self._advice, table], sizing_mode="stretch_width")

    def _own(self) -> list[JobRecord]:
        own = [j for j in self._world.picture.jobs.values() if j.directory and j.attempt]
        return sorted(own, key=lambda j: (j.ended_at is not None, -j.id))[:MOST_OFFERED]

    # --- keeping it true -----------------------------------------------------------------------------------------------

    async def _tick(self) -> None:
        self._controls.offer_jobs([(j.id, f"{j.name[:60]} ({j.id})") for j in self._own()])
        if not self._has_chosen:
            await self._choose()
        known = self._world.picture.jobs
        jobs = [known[j] for j in self._controls.jobs if j in known]
        self._read = {j.id: await self._world.book.of(j) for j in jobs if j.directory and j.attempt}
        jobs = [j for j in jobs if j.id in self._read]
        self._controls.offer_metrics(sorted({n for attempt in self._read.values() for n in attempt.series}))
        shown = self._controls.shown_metrics()
        lines = [(j, name) for j in jobs for name in self._read[j.id].series if name in shown]
        self._rebuild(lines)
        for job, name in lines:
            self._update(job, name)
        self._compare(lines)

    async def _choose(self) -> None:
        """Without a choice: what runs now and has a loss, else the newest that has one."""
        for job in self._own()[:20]:
            attempt = await self._world.book.of(job)
            chosen = self._controls.jobs
            if attempt.series and len(chosen) < MOST_FIRST and (job.ended_at is None or not chosen):
                self._controls.choose(job.id)
        self._has_chosen = bool(self._controls.jobs)

    def _rebuild(self, lines: list[tuple[JobRecord, str]]) -> None:
        """The charts anew, when other lines or other axes are wanted."""
        stands = (
            tuple((j.id, n) for j, n in lines),
            self._controls.axis,
            self._controls.x_is_log,
            self._controls.y_is_log,
        )
        if stands == self._stands and self._charts.children:
            return
        self._stands = stands
        self._drawn.clear()
        self._sources = {(j.id, n): ColumnDataSource({"x": [], "y": [], "step": []}) for j, n in lines}
        self._broken = {key: ColumnDataSource({"x": [], "y": []}) for key in self._sources}
        if not lines:
            self._charts.children = [self._nothing()]
            return
        labelled = [(f"{j.name[:40]} ({j.id}) {n}", self._sources[j.id, n]) for j, n in lines]
        self._csv.children = [csv_button(labelled, name="training-loss", theme=self._theme)]
        self._charts.children = [self._losses(lines), *self._gpus([j for j, _ in lines])]

    def _nothing(self) -> Div:
        text = (
            '<p>No metric yet. Print it (<code>print(f"step {i} loss: {loss}")</code>), show it in a progress bar, or report it:'
            "</p><pre>import jupysched\njupysched.log(step=i, loss=loss, val_loss=val)</pre>"
        )
        return Div(text=text, stylesheets=[look.style(self._theme)])

    def _losses(self, lines: list[tuple[JobRecord, str]]) -> Any:
        axis = self._controls.axis
        tips = [("", "$name"), ("", "@y{0.00000}"), ("step", "@step{0}")]
        made = look.chart(
            "Training loss",
            self._theme,
            height=320,
            is_time=axis == "time",
            x_is_log=self._controls.x_is_log,
            is_log=self._controls.y_is_log,
            x_label=self._controls.axis_label,
            tooltips=tips,
        )
        several = len({n for _, n in lines}) > 1
        for index, (job, name) in enumerate(lines):
            label = f"{job.name[:32]} ({job.id})" + (f" {name}" if several else "")
            made.line(self._sources[job.id, name], x="x", y="y", label=label, index=index)
            made.marks(self._broken[job.id, name], x="x", y="y", index=index)
        return made.with_legend()

    def _gpus(self, jobs: list[JobRecord]) -> list[Any]:
        """The utilization of each job's GPUs on the clock, where it is known."""
        made = look.chart(
            "GPU utilization of these jobs (%)",
            self._theme,
            height=150,
            y_range=look.percent(),
            tooltips=[("", "$name"), ("", "@y{0.0} %")],
        )
        drawn = 0
        for index, job in enumerate({j.id: j for j in jobs}.values()):
            readings = [
                r for g in job.gpu_ids[:1] for r in self._world.history.readings(g, since=0.0) if job.id in r.jobs
            ]
            points = [(r.at * 1000, r.values[_UTILIZATION]) for r in readings if r.values[_UTILIZATION] is not None]
            if points:
                source = ColumnDataSource(
                    {"x": np.array([p[0] for p in points]), "y": np.array([p[1] for p in points])}
                )
                made.line(source, x="x", y="y", label=f"{job.name[:32]} ({job.id})", index=index)
                drawn += 1
        return [made.with_legend()] if drawn else []

    def _update(self, job: JobRecord, name: str) -> None:
        series = self._read[job.id].series[name]
        key = (job.id, name)
        state = (series.total, self._controls.axis, self._controls.weight)
        if self._drawn.get(key) == state:
            return
        self._drawn[key] = state
        started = _unix(job.started_at)
        made = runs.line(series, axis=self._controls.axis, started=started, weight=self._controls.weight)
        self._sources[key].data = {"x": np.array(made.x), "y": np.array(made.y), "step": np.array(made.step)}
        self._broken[key].data = {"x": made.broken_x, "y": made.broken_y}

    def _compare(self, lines: list[tuple[JobRecord, str]]) -> None:
        rows = [runs.row(f"{j.name[:60]} ({j.id})", self._read[j.id].series[n]) for j, n in lines]
        data = {f: [math.nan if getattr(r, f) is None else getattr(r, f) for r in rows] for f in runs.Row._fields}
        if repr(data) != repr(dict(self._table.data)):
            self._table.data = data
        said = [
            f"<b>{escape(j.name[:60])}</b> {escape(text)}"
            for j in {j.id: j for j, _ in lines}.values()
            if (
                text := runs.advice(
                    utilization=runs.mean_utilization(self._world.history, j),
                    series=list(self._read[j.id].series.values()),
                )
            )
        ]
        text = "<br>".join(said)
        if text != self._advice.text:
            self._advice.text = text


def _unix(iso: str | None) -> float:
    return datetime.fromisoformat(iso).timestamp() if iso else time.time()
