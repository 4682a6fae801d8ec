"""One self-contained page about a simulation: plots and the table. Knows runs and figures; knows nothing of policies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path

from jupysched.sim.figures import Figures, percentile
from jupysched.sim.world import Run

COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
#: points of a curve; a page of 80,000 jobs must open at once
POINTS = 400
#: users shown, those with most jobs
USERS = 20

Results = Sequence[tuple[Figures, Run]]


def write_report(path: str | Path, trace: str, results: Results) -> None:
    """Writes: the page, with Bokeh's own code inside, so that it opens without a network."""
    from bokeh.embed import file_html
    from bokeh.layouts import column, row
    from bokeh.models import Div
    from bokeh.resources import INLINE

    page = column(
        Div(text=_table(trace, results), sizing_mode="stretch_width"),
        row(_cdf(results), _over_time(results), sizing_mode="stretch_width"),
        row(_by_width(results), _by_user(results), sizing_mode="stretch_width"),
        sizing_mode="stretch_width",
    )
    Path(path).write_text(file_html(page, INLINE, title=f"jupysched simulate {Path(trace).name}"), encoding="utf-8")


def _table(trace: str, results: Results) -> str:
    names = [n for n in asdict(results[0][0]) if n not in ("policy", "events_per_s")]
    head = "".join(f"<th style='padding:2px 8px;text-align:right'>{escape(n)}</th>" for n in ["policy", *names])
    rows = ""
    for figures, _ in results:
        values = asdict(figures)
        cells = "".join(
            f"<td style='padding:2px 8px;text-align:right'>{v:,.3f}</td>" if isinstance(v, float) and v < 100
            else f"<td style='padding:2px 8px;text-align:right'>{v:,.0f}</td>" if isinstance(v, int | float)
            else f"<td style='padding:2px 8px'>{escape(str(v))}</td>"
            for v in (values[n] for n in names)
        )  # fmt: skip
        rows += f"<tr><th style='text-align:left'>{escape(figures.policy)}</th>{cells}</tr>"
    return f"<h2>{escape(Path(trace).name)}</h2><table style='border-collapse:collapse;font:12px sans-serif'><tr>{head}</tr>{rows}</table>"


def _thinned(values: Sequence[float]) -> list[int]:
    step = max(1, len(values) // POINTS)
    return sorted({*range(0, len(values), step), len(values) - 1}) if values else []


def _cdf(results: Results) -> object:
    from bokeh.plotting import figure

    plot = figure(
        title="How many jobs have ended so long after their submission", x_axis_type="log", x_axis_label="seconds",
        y_axis_label="share of jobs", height=320, sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        times = sorted(max(1.0, end - job.submit_s) for end, job in zip(run.ends, run.jobs, strict=True))
        at = _thinned(times)
        plot.line(
            [times[i] for i in at], [(i + 1) / len(times) for i in at], line_width=2,
            color=COLORS[number % len(COLORS)], legend_label=figures.policy,
        )  # fmt: skip
    plot.legend.location = "bottom_right"
    return plot


def _over_time(results: Results) -> object:
    from bokeh.plotting import figure

    plot = figure(
        title="GPUs held (lines) and jobs waiting (dashed), by day",
        x_axis_label="days",
        height=320,
        sizing_mode="stretch_width",
    )
    for number, (figures, run) in enumerate(results):
        at = _thinned([load[0] for load in run.load])
        days = [run.load[i][0] / 86400 for i in at]
        color = COLORS[number % len(COLORS)]
        plot.step(days, [run.load[i][1] for i in at], mode="after", color=color, legend_label=figures.policy)
        plot.step(days, [run.load[i][2] for i in at], mode="after", color=color, line_dash="dashed", alpha=0.6)
    return plot


def _by_width(results: Results) -> object:
    from bokeh.plotting import figure

    widths = [str(w) for w in sorted({j.gpus for _, run in results for j in run.jobs})]
    plot = figure(
        title="Mean wait by GPUs asked", x_range=widths, x_axis_label="GPUs", y_axis_label="seconds", height=320,
        sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        waits: defaultdict[str, list[float]] = defaultdict(list)
        for end, job in zip(run.ends, run.jobs, strict=True):
            waits[str(job.gpus)].append(end - job.submit_s - job.duration_s)
        means = [sum(waits[w]) / len(waits[w]) if waits[w] else 0.0 for w in widths]
        color = COLORS[number % len(COLORS)]
        plot.line(widths, means, color=color, legend_label=figures.policy)
        plot.scatter(widths, means, color=color, size=7)
    return plot


def _by_user(results: Results) -> object:
    from bokeh.plotting import figure

    counts: defaultdict[str, int] = defaultdict(int)
    for job in results[0][1].jobs:
        counts[job.user] += 1
    users = sorted(counts, key=lambda u: -counts[u])[:USERS]
    plot = figure(
        title="Wait that nine in ten of a user's jobs do not exceed", x_range=users, y_axis_label="seconds", height=320,
        sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        waits: defaultdict[str, list[float]] = defaultdict(list)
        for end, job in zip(run.ends, run.jobs, strict=True):
            waits[job.user].append(end - job.submit_s - job.duration_s)
        plot.scatter(
            users, [percentile(sorted(waits[u]), 0.9) for u in users], size=8, color=COLORS[number % len(COLORS)],
            legend_label=figures.policy,
        )  # fmt: skip
    plot.xaxis.major_label_orientation = 0.9
    return plot
