"""How reported numbers travel in a metrics frame: one point, or all that were gathered. Knows their JSON; knows nothing of who reports or reads.

A frame is `{"step", "epoch", "time", "values"}`, or `{"points": [[step, epoch, time, values], ...]}` where many come at once.
Numbers that JSON lacks travel as text: "nan", "inf", "-inf".
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, NamedTuple


class Reported(NamedTuple):
    """Numbers that belong to one moment of a training."""

    step: float | None
    epoch: float | None
    #: seconds since 1970; None: the frame's own time
    time: float | None
    values: dict[str, Any]


def content(points: list[Reported]) -> dict[str, Any]:
    """Return what a frame with these points says."""
    if len(points) == 1:
        return points[0]._asdict()
    return {"points": points}


def read(payload: bytes) -> list[Reported]:
    """Return the points of a frame; what is not one is passed over (the job's own code may have written it)."""
    try:
        said = json.loads(payload)
        rows = said["points"] if "points" in said else [[said.get(name) for name in Reported._fields]]
        return list(_whole(rows))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return []


def _whole(rows: Iterable[Any]) -> Iterable[Reported]:
    for row in rows:
        if len(row) == 4 and isinstance(row[3], dict):
            yield Reported(_number(row[0]), _number(row[1]), _number(row[2]), row[3])


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) else None
