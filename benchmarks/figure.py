"""One measured figure beside its floor and its target. Knows numbers and words; knows nothing of how they were measured."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure; where it is missed, the note says by how much and why."""

    name: str
    value: float | None
    unit: str
    #: the same thing done with nothing of ours in the way, in the same run; None where there is no such thing
    floor: float | None
    #: what the value should be at most, or at least; None: reported, not judged
    target: float | None
    #: is more better?
    more: bool = False
    note: str = ""

    @property
    def holds(self) -> bool:
        """Is the target met? What could not be measured does not hold."""
        if self.value is None:
            return False
        if self.target is None:
            return True
        return self.value >= self.target if self.more else self.value <= self.target

    def record(self) -> dict[str, Any]:
        """As it is printed."""
        return {
            "name": self.name, "value": rounded(self.value), "unit": self.unit, "floor": rounded(self.floor),
            "target": rounded(self.target), "holds": self.holds, "note": self.note,
        }  # fmt: skip


def rounded(value: float | None) -> float | None:
    """Three figures that mean something."""
    return None if value is None else float(f"{value:.4g}")


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def p95(values: Sequence[float]) -> float:
    """The one that 95 of 100 stay below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]


def spread(values: Sequence[float]) -> str:
    """How far the repetitions lie apart: 'n 20, p95 31.2'."""
    return f"n {len(values)}, p95 {p95(values):.4g}"


def table(figures: Sequence[Figure]) -> str:
    """The figures for people, a line each."""
    rows = [("figure", "value", "", "floor", "target", "holds", "note")]
    for figure in figures:
        sign = "" if figure.target is None else ">= " if figure.more else "<= "
        rows.append(
            (
                figure.name,
                shown(figure.value),
                figure.unit,
                shown(figure.floor),
                sign + shown(figure.target),
                "yes" if figure.holds else "NO",
                figure.note,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    return "\n".join(
        "  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[6]]).rstrip() for row in rows
    )


def shown(value: float | None) -> str:
    """A number as people read it."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
