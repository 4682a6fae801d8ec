"""One self-contained page about a simulation: plots and the table. Knows runs and figures; knows nothing of policies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from jupysched.sim.figures import Figures, percentile
from jupysched.sim.table import NAME, counted, rows
from jupysched.sim.world import Run

COLORS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
#: points of a curve; a page of 80,000 jobs must open at once
POINTS = 400
#: users shown, those with most jobs
USERS = 20
#: pixels
HEIGHT = 340
#: what the axis of times is marked with
MARKS = {
    1: "1 s", 10: "10 s", 60: "1 min", 600: "10 min", 3600: "1 h", 86_400: "1 day", 864_000: "10 days",
    8_640_000: "100 days",
}  # fmt: skip

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
        row(_cdf(results), _by_width(results), sizing_mode="stretch_width"),
        row(*_over_time(results), sizing_mode="stretch_width"),
        *users,
        sizing_mode="stretch_width",
    )
    Path(path).write_text(file_html(page, INLINE, title=f"jupysched simulate {Path(trace).name}"), encoding="utf-8")


def _table(trace: str, results: Results) -> str:
    """As in the terminal: a column a policy, so that a page is wide enough."""
    style = "padding:2px 12px 2px 0;text-align"
    (_, *policies), *found = rows([(figures, None) for figures, _ in results])
    lines = "<tr><th></th>" + "".join(f"<th style='{style}:right'>{escape(p)}</th>" for p in policies) + "</tr>"
    for name, *cells in found:
        title = (
            escape(name) if name == name.lstrip() else f"<span style='padding-left:1em'>{escape(name.strip())}</span>"
        )
        shown = "".join(f"<td style='{style}:right'>{escape(cell)}</td>" for cell in cells)
        lines += f"<tr><th style='{style}:left;font-weight:normal'>{title}</th>{shown}</tr>"
    figures, run = results[0]
    about = f"{escape(counted(figures))} Times in seconds, {run.gpus:,} GPUs."
    return (
        f"<h2>{escape(Path(trace).name)}</h2><p>{about}</p>"
        f"<table style='border-collapse:collapse;font:13px sans-serif'>{lines}</table>"
    )


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
    plot.y_range.start = 0
    plot.toolbar.autohide = True
    plot.toolbar.logo = None
    return plot


def _thinned(values: Sequence[float]) -> list[int]:
    step = max(1, len(values) // POINTS)
    return sorted({*range(0, len(values), step), len(values) - 1}) if values else []


def _cdf(results: Results) -> object:
    from bokeh.models import FixedTicker
    from bokeh.plotting import figure

    plot = figure(
        title="Jobs that ended within this time", x_axis_type="log", x_axis_label="from submission to end",
        y_axis_label="part of all jobs", height=HEIGHT, sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        times = sorted(max(1.0, end - job.submit_s) for end, job in zip(run.ends, run.jobs, strict=True))
        at = _thinned(times)
        plot.line(
            [times[i] for i in at], [(i + 1) / len(times) for i in at], line_width=2,
            color=COLORS[number % len(COLORS)], legend_label=figures.policy,
        )  # fmt: skip
    plot.xaxis.ticker = FixedTicker(ticks=list(MARKS))
    plot.xaxis.major_label_overrides = dict(MARKS)
    return _dressed(plot)


def _over_time(results: Results) -> list[object]:
    """Two pictures below one another's time: hundreds may wait for a few GPUs."""
    from bokeh.plotting import figure

    ends = max((end for _, run in results for end in run.ends), default=0.0)
    unit, name = unit_of(ends)
    plots: list[Any] = []
    for title, what, column in (("GPUs held", "GPUs", 1), ("Jobs that wait", "jobs", 2)):
        shared = {"x_range": plots[0].x_range} if plots else {}
        plot = figure(
            title=title, x_axis_label=name, y_axis_label=what, height=HEIGHT, sizing_mode="stretch_width", **shared
        )
        for number, (figures, run) in enumerate(results):
            # The policy may wake up later, when nothing is left.
            load = [known for known in run.load if known[0] <= ends]
            at = _thinned([known[0] for known in load])
            plot.step(
                [load[i][0] / unit for i in at], [load[i][column] for i in at], mode="after",
                color=COLORS[number % len(COLORS)], legend_label=figures.policy,
            )  # fmt: skip
        plots.append(_dressed(plot))
    return list(plots)


def _by_width(results: Results) -> object:
    from bokeh.plotting import figure

    unit, name = unit_of(_longest(results))
    widths = [str(w) for w in sorted({j.gpus for _, run in results for j in run.jobs})]
    plot = figure(
        title="Mean wait by GPUs asked", x_range=widths, x_axis_label="GPUs", y_axis_label=name, height=HEIGHT,
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
    # A long name would leave no room for the picture; two may begin alike.
    names = [f"{place}. {user[:NAME] or '-'}" for place, user in enumerate(users, 1)]
    plot = figure(
        title="Wait that nine in ten of a user's jobs do not exceed", x_range=names, y_axis_label=name, height=HEIGHT,
        sizing_mode="stretch_width",
    )  # fmt: skip
    for number, (figures, run) in enumerate(results):
        waits: defaultdict[str, list[float]] = defaultdict(list)
        for end, job in zip(run.ends, run.jobs, strict=True):
            waits[job.user].append(end - job.submit_s - job.duration_s)
        plot.scatter(
            names, [percentile(sorted(waits[u]), 0.9) / unit for u in users], size=8, color=COLORS[number % len(COLORS)],
            legend_label=figures.policy,
        )  # fmt: skip
    plot.xaxis.major_label_orientation = 0.9
    return _dressed(plot)
