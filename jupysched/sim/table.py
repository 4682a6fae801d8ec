"""What simulations amount to, for a terminal and for programs. Knows figures; knows nothing of how they came about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from jupysched.sim.figures import IN_JSON, Figures
from jupysched.sim.promise import Promises

#: (what a line is called, the figure, how it is written)
LINES: tuple[tuple[str, str, str], ...] = (
    ("completion, mean (s)", "mean_jct_s", ",.0f"),
    ("  median", "median_jct_s", ",.0f"),
    ("  95 of 100 within", "p95_jct_s", ",.0f"),
    ("  99 of 100 within", "p99_jct_s", ",.0f"),
    ("wait, mean (s)", "mean_wait_s", ",.0f"),
    ("  median", "median_wait_s", ",.0f"),
    ("  95 of 100 within", "p95_wait_s", ",.0f"),
    ("  99 of 100 within", "p99_wait_s", ",.0f"),
    ("  worst", "max_wait_s", ",.0f"),
    ("all ended after (s)", "makespan_s", ",.0f"),
    ("preemptions", "preemptions", ",d"),
    ("GPUs in use", "utilization", ".1%"),
    ("slowdown, mean", "mean_slowdown", ",.2f"),
    ("Jain's index over users", "jain", ".3f"),
    ("worst off", "worst_user", ""),
    ("events a second", "events_per_s", ",.0f"),
)
#: characters of a user's name that are shown
NAME = 14

Outcome = tuple[Figures, Promises | None]


def rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    """The names of the policies, then a line a figure."""
    found = [["", *(figures.policy for figures, _ in outcomes)]]
    for title, name, form in LINES:
        found.append([title, *(_shown(getattr(figures, name), form) for figures, _ in outcomes)])
    return found


def table(outcomes: Sequence[Outcome]) -> str:
    """A column a policy, a line a figure, and how many jobs it is about."""
    cells = rows(outcomes)
    widths = [max(len(row[column]) for row in cells) for column in range(len(outcomes) + 1)]
    lines = [
        row[0].ljust(widths[0]) + "".join(f"  {cell:>{w}}" for cell, w in zip(row[1:], widths[1:], strict=True))
        for row in cells
    ]
    for figures, promises in outcomes:
        if promises is not None:
            lines += ["", f"{figures.policy}: {promises.sentence()}."]
    return "\n".join([*lines, "", counted(outcomes[0][0])])


def _shown(value: float | str, form: str) -> str:
    return value[:NAME] or "-" if isinstance(value, str) else format(value, form)


def counted(figures: Figures) -> str:
    """How many jobs there were, how many were left out, and with how many GPUs none would be."""
    jobs = f"{figures.jobs:,} job{'s' if figures.jobs != 1 else ''}"
    if not figures.dropped:
        return f"{jobs}."
    were = "was dropped: it asks" if figures.dropped == 1 else "were dropped: they ask"
    return f"{jobs}; {figures.dropped:,} more {were} for more GPUs than there are (--gpus {figures.widest} has room for all)."


def rows_of(outcomes: Sequence[Outcome]) -> list[dict[str, object]]:
    """For JSON: one object a policy, and what became of promises where that was asked for."""
    found: list[dict[str, object]] = []
    for figures, promises in outcomes:
        values = asdict(figures)
        more = promises.as_dict() if promises is not None else {}
        found.append({**{name: values[name] for name in IN_JSON}, **more})
    return found
