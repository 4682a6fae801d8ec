"""The panel of training losses: any metric of any of one's own jobs, overlaid and compared; under it the GPU of each job."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Any

import numpy as np
from bokeh.document import Document
from bokeh.models import ColumnDataSource, Div, NumberFormatter

from jupysched.panels import look, past, runs, theme
from jupysched.panels.loss_controls import Controls
from jupysched.panels.page import Page, fill, number, say
from jupysched.panels.training import AttemptMetrics
from jupysched.panels.views import World
from jupysched.wire import requests as ask
from jupysched.wire.records import JobRecord
from jupysched.wire.samples import SamplesRecord

PERIOD_MS = 1000
#: jobs offered for choosing
MOST_OFFERED = 200
#: jobs drawn when none was named
MOST_FIRST = 4
#: points of the utilization under a job's losses, and how often it is asked for anew while the job runs
MOST_BUSY, BUSY_EVERY_S = 300, 10.0


def draw(document: Document, world: World) -> None:
    """Fill the document, and keep it true once a second."""
    View(document, world)


class View:
    """One open panel."""

    def __init__(self, document: Document, world: World) -> None:
        self._world = world
        self._page = Page(document, title="Training loss", file_name="training-loss")
        self._read: dict[int, AttemptMetrics] = {}
        self._drawn: dict[tuple[int, str], tuple[Any, ...]] = {}
        self._sources: dict[tuple[int, str], ColumnDataSource] = {}
        self._broken: dict[tuple[int, str], ColumnDataSource] = {}
        self._busy: dict[int, Busyness] = {}
        self._stands: tuple[Any, ...] | None = None
        named = [int(w) for w in theme.argument(document, "jobs").split(",") if w.isdigit()]
        wanted = [w for w in theme.argument(document, "metrics").split(",") if w]
        self._controls = Controls(self._page.theme, jobs=named, metrics=wanted, changed=self._drawn.clear)
        self._has_chosen = bool(named)
        self._advice = self._page.text("")
        self._table = ColumnDataSource({name: [] for name in runs.Row._fields})
        self._stand()
        self._page.keep_true(self._tick, period_ms=PERIOD_MS)

    # --- controls ------------------------------------------------------------------------------------------------------

    def _stand(self) -> None:
        figure = NumberFormatter(format="0.[00000]", nan_format="", null_format="")
        titles = {
            "job": "Job",
            "metric": "Metric",
            "points": ("Points", number("0")),
            "last": ("Last", figure),
            "best": ("Least", figure),
            "best_step": ("at step", figure),
            "note": "",
        }
        first, second = self._controls.rows()
        table = self._page.table(self._table, titles, most=10)
        self._page.show(second.children, self._advice, table, sources=[("", self._table)], above=[first])

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
        for job in jobs:
            await self._look_busy(job)
        self._rebuild(lines)
        for job, name in lines:
            self._update(job, name)
        self._compare(lines)

    async def _look_busy(self, job: JobRecord) -> None:
        """How busy its GPUs were: once after it has ended, again and again before."""
        now = time.time()
        known = self._busy.setdefault(job.id, Busyness())
        if not job.gpu_ids or job.started_at is None or known.is_final or now - known.asked_at < BUSY_EVERY_S:
            return
        since, until = _unix(job.started_at), _unix(job.ended_at)
        found: SamplesRecord = await self._world.call(
            ask.Samples(since=since, until=until, gpus=job.gpu_ids, most=MOST_BUSY)
        )
        known.asked_at = now
        # The last stretch is told when it is over.
        known.is_final = job.ended_at is not None and now - until > 2 * found.step_s + BUSY_EVERY_S
        known.busy = past.busy(found.tracks)

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
        jobs = list({j.id: j for j, _ in lines}.values())
        stands = (
            tuple((j.id, n) for j, n in lines),
            self._controls.axis,
            self._controls.x_is_log,
            self._controls.y_is_log,
            tuple(j.id for j in jobs if self._busy[j.id].busy.at),
        )
        if stands == self._stands:
            return
        self._stands = stands
        self._drawn.clear()
        axis = self._controls.axis
        columns = dict.fromkeys((axis, "value", "step"))
        # Bokeh leaves what has no data out of its legend, also when data comes later.
        self._sources = {(j.id, n): ColumnDataSource({name: [math.nan] for name in columns}) for j, n in lines}
        self._broken = {key: ColumnDataSource({axis: [], "value": []}) for key in self._sources}
        for known in self._busy.values():
            known.source, known.drawn = ColumnDataSource({axis: [math.nan], "percent": [math.nan]}), ()
        labelled = [(f"{j.name[:40]} ({j.id}) {n}", self._sources[j.id, n]) for j, n in lines]
        busy = [
            (f"{j.name[:40]} ({j.id}) utilization", self._busy[j.id].source) for j in jobs if self._busy[j.id].busy.at
        ]
        self._page.save([*labelled, *busy, ("", self._table)])
        if not lines:
            self._page.charts.children = [self._nothing()]
            return
        losses = self._losses(lines)
        self._page.charts.children = [losses, *self._gpus(jobs, losses)]

    def _nothing(self) -> Div:
        return self._page.text(
            '<p>No metric yet. Print it (<code>print(f"step {i} loss: {loss}")</code>), show it in a progress bar, or report it:'
            "</p><pre>import jupysched\njupysched.log(step=i, loss=loss, val_loss=val)</pre>"
        )

    def _losses(self, lines: list[tuple[JobRecord, str]]) -> Any:
        axis = self._controls.axis
        tips = [("", "$name"), ("", "@value{0.00000}"), ("step", "@step{0}")]
        made = look.chart(
            "Training loss",
            self._page.theme,
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
            made.line(self._sources[job.id, name], x=axis, y="value", label=label, index=index)
            made.marks(self._broken[job.id, name], x=axis, y="value", index=index)
        return made.with_legend()

    def _gpus(self, jobs: list[JobRecord], losses: Any) -> list[Any]:
        """How busy each job's GPUs were, where it is known: on the same axis as the losses where that is one of time."""
        axis = self._controls.axis
        told = [(index, job) for index, job in enumerate(jobs) if self._busy[job.id].busy.at]
        if not told:
            return []
        made = look.chart(
            "Utilization of what these jobs hold (%)",
            self._page.theme,
            height=150,
            y_range=look.percent(),
            x_range=losses.x_range if axis in ("time", "minutes") else None,
            is_time=axis != "minutes",
            x_is_log=axis == "minutes" and self._controls.x_is_log,
            x_label=self._controls.axis_label if axis == "minutes" else "",
            tooltips=[("", "$name"), ("", "@percent{0.0} %")],
        )
        for index, job in told:
            made.line(self._busy[job.id].source, x=axis, y="percent", label=f"{job.name[:32]} ({job.id})", index=index)
        return [made.with_legend()]

    def _update(self, job: JobRecord, name: str) -> None:
        self._busy[job.id].draw(axis=self._controls.axis, started=_unix(job.started_at))
        series = self._read[job.id].series[name]
        key = (job.id, name)
        axis = self._controls.axis
        state = (series.total, axis, self._controls.weight)
        if self._drawn.get(key) == state:
            return
        self._drawn[key] = state
        made = runs.line(series, axis=axis, started=_unix(job.started_at), weight=self._controls.weight)
        self._sources[key].data = {"step": np.array(made.step), axis: np.array(made.x), "value": np.array(made.y)}
        self._broken[key].data = {axis: made.broken_x, "value": made.broken_y}

    def _compare(self, lines: list[tuple[JobRecord, str]]) -> None:
        rows = [runs.row(f"{j.name[:60]} ({j.id})", self._read[j.id].series[n]) for j, n in lines]
        fill(self._table, rows, runs.Row._fields)
        said = [
            f"<b>{escape(j.name[:60])}</b> {escape(text)}"
            for j in {j.id: j for j, _ in lines}.values()
            if (text := runs.advice(utilization=self._busy_percent(j), series=list(self._read[j.id].series.values())))
        ]
        say(self._advice, "<br>".join(said))

    def _busy_percent(self, job: JobRecord) -> float | None:
        """What advice goes by: a CPU slot says nothing of a GPU."""
        slots = {g.id for g in self._world.picture.gpus if g.kind == "cpu_slot"}
        return None if slots.intersection(job.gpu_ids) else self._busy[job.id].busy.mean


@dataclass(slots=True)
class Busyness:
    """How busy the GPUs of one job were, as asked for and as drawn."""

    busy: past.Busy = field(default_factory=lambda: past.Busy([], []))
    asked_at: float = 0.0
    is_final: bool = False
    source: ColumnDataSource = field(default_factory=ColumnDataSource)
    drawn: tuple[Any, ...] = ()

    def draw(self, *, axis: str, started: float) -> None:
        """On the clock, or in minutes since the start, as the losses are."""
        state = (axis, len(self.busy.at), self.busy.at[-1:])
        if state == self.drawn:
            return
        self.drawn = state
        at = np.array(self.busy.at, dtype=float)
        percent = np.array([np.nan if p is None else p for p in self.busy.percent], dtype=float)
        self.source.data = {axis: (at - started) / 60 if axis == "minutes" else at * 1000, "percent": percent}


def _unix(iso: str | None) -> float:
    return datetime.fromisoformat(iso).timestamp() if iso else time.time()
