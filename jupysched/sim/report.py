"""One self-contained page about a simulation: plots and the table. Knows runs and figures; knows nothing of policies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

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

    # A picture of one user would say nothing.
    users = [_by_user(results)] if len({job.user for job in results[0][1].jobs}) > 1 else []
    page = column(
        Div(text=_table(trace, results), sizing_mode="stretch_width", styles={"overflow-x": "auto"}),
        row(_cdf(results), _over_time(results), sizing_mode="stretch_width"),
        row(_by_width(results), *users, sizing_mode="stretch_width"),
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


def unit_of(longest_s: float) -> tuple[float, str]:
    """In what a time as long as this is read best: its seconds, and what it is called."""
    for seconds, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if longest_s >= 2 * seconds:
            return seconds, name
    return 1.0, "seconds"


def _longest(results: Results) -> float:
    """From a job's submission to its end, of all jobs under all policies."""
    return max((e - j.submit_s for _, run in results for e, j in zip(run.ends, run.jobs, strict=True)), default=0.0)


def _dressed(plot: Any) -> Any:
    """The legend beside the lines, not before them; tools while the mouse is there."""
    for legend in list(plot.legend):
        plot.center.remove(legend)
        legend.update(orientation="horizontal", border_line_alpha=0, padding=2, spacing=12)
        plot.add_layout(legend, "below")
    plot.toolbar.autohide = True
    plot.toolbar.logo = None
    return plot


def _thinned(values: Sequence[float]) -> list[int]:
    step = max(1, len(values) // POINTS)
    return sorted({*range(0, len(values), step), len(values) - 1}) if values else []


def _cdf(results: Results) -> object:
    from bokeh.plotting import figure

    # Its axis reaches from seconds to weeks: hours are in the middle.
    unit, name = unit_of(min(_longest(results), 86400.0))
    plot = figure(
        title="Jobs that ended within this time", x_axis_type="log", x_axis_label=f"{name} from submission to end",
        y_axis_label="part of all jobs", height=320, sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        times = sorted(max(1.0, end - job.submit_s) for end, job in zip(run.ends, run.jobs, strict=True))
        at = _thinned(times)
        plot.line(
            [times[i] / unit for i in at], [(i + 1) / len(times) for i in at], line_width=2,
            color=COLORS[number % len(COLORS)], legend_label=figures.policy,
        )  # fmt: skip
    return _dressed(plot)


def _over_time(results: Results) -> object:
    from bokeh.plotting import figure

    ends = max((end for _, run in results for end in run.ends), default=0.0)
    unit, name = unit_of(ends)
    plot = figure(
        title="GPUs held, and jobs that wait (dashed)",
        x_axis_label=name,
        height=320,
        sizing_mode="stretch_width",
    )
    for number, (figures, run) in enumerate(results):
        # The policy may wake up later, when nothing is left.
        load = [known for known in run.load if known[0] <= ends]
        at = _thinned([known[0] for known in load])
        times = [load[i][0] / unit for i in at]
        color = COLORS[number % len(COLORS)]
        plot.step(times, [load[i][1] for i in at], mode="after", color=color, legend_label=figures.policy)
        plot.step(times, [load[i][2] for i in at], mode="after", color=color, line_dash="dashed", alpha=0.6)
    return _dressed(plot)


def _by_width(results: Results) -> object:
    from bokeh.plotting import figure

    unit, name = unit_of(_longest(results))
    widths = [str(w) for w in sorted({j.gpus for _, run in results for j in run.jobs})]
    plot = figure(
        title="Mean wait by GPUs asked", x_range=widths, x_axis_label="GPUs", y_axis_label=name, height=320,
        sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        waits: defaultdict[str, list[float]] = defaultdict(list)
        for end, job in zip(run.ends, run.jobs, strict=True):
            waits[str(job.gpus)].append(end - job.submit_s - job.duration_s)
        means = [sum(waits[w]) / len(waits[w]) / unit if waits[w] else 0.0 for w in widths]
        color = COLORS[number % len(COLORS)]
        plot.line(widths, means, color=color, legend_label=figures.policy)
        plot.scatter(widths, means, color=color, size=7)
    return _dressed(plot)


def _by_user(results: Results) -> object:
    from bokeh.plotting import figure

    unit, name = unit_of(_longest(results))
    counts: defaultdict[str, int] = defaultdict(int)
    for job in results[0][1].jobs:
        counts[job.user] += 1
    users = sorted(counts, key=lambda u: -counts[u])[:USERS]
    plot = figure(
        title="Wait that nine in ten of a user's jobs do not exceed", x_range=users, y_axis_label=name, height=320,
        sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        waits: defaultdict[str, list[float]] = defaultdict(list)
        for end, job in zip(run.ends, run.jobs, strict=True):
            waits[job.user].append(end - job.submit_s - job.duration_s)
        plot.scatter(
            users, [percentile(sorted(waits[u]), 0.9) / unit for u in users], size=8, color=COLORS[number % len(COLORS)],
            legend_label=figures.policy,
        )  # fmt: skip
    plot.xaxis.major_label_orientation = 0.9
    return _dressed(plot)
