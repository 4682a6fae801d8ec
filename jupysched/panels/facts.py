"""Queue and usage over time, counted from the jobs themselves: nothing is sampled, so nothing is missed. Pure; knows no Bokeh."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from jupysched.wire.records import JobRecord

_HOLDING = frozenset({"starting", "running", "stopping"})
_WAITING = frozenset({"pending", "held"})


class Steps(NamedTuple):
    """How many waited and ran at each moment at which either number changed (unix seconds)."""

    at: list[float]
    waiting: list[int]
    running: list[int]
    gpus: list[int]


class Wait(NamedTuple):
    """How long jobs of one class and width waited."""

    kind: str
    jobs: int
    median_s: float
    longest_s: float


class Used(NamedTuple):
    """What one user used on one day."""

    user: str
    day: str
    gpu_hours: float
    jobs: int
    failed_hours: float


def unix(iso: str | None) -> float | None:
    """A record's time in unix seconds."""
    return datetime.fromisoformat(iso).timestamp() if iso else None


def steps(jobs: Iterable[JobRecord], *, since: float, now: float) -> Steps:
    """Waiting and running over time, from when each was submitted, started and ended."""
    changes: dict[float, list[int]] = defaultdict(lambda: [0, 0, 0])
    for job in jobs:
        asked, started, ended = unix(job.submitted_at), unix(job.started_at), unix(job.ended_at)
        if asked is None or (ended is not None and ended < since):
            continue
        wait_end = started or ended
        _add(changes, max(asked, since), 0, 1)
        if wait_end is not None:
            _add(changes, max(wait_end, since), 0, -1)
        if started is not None:
            _add(changes, max(started, since), 1, 1)
            _add(changes, max(started, since), 2, job.request.gpus)
            if ended is not None:
                _add(changes, max(ended, since), 1, -1)
                _add(changes, max(ended, since), 2, -job.request.gpus)
    found = Steps([since], [0], [0], [0])
    for at in sorted(changes):
        more = changes[at]
        found.at.append(at)
        found.waiting.append(found.waiting[-1] + more[0])
        found.running.append(found.running[-1] + more[1])
        found.gpus.append(found.gpus[-1] + more[2])
    for column in found[1:]:
        column.append(column[-1])
    found.at.append(now)
    return found


def _add(changes: dict[float, list[int]], at: float, which: int, by: int) -> None:
    changes[at][which] += by


def waits(jobs: Iterable[JobRecord]) -> list[Wait]:
    """Waiting times by class and number of GPUs, of jobs that have started."""
    kinds: dict[tuple[str, int], list[float]] = defaultdict(list)
    for job in jobs:
        if job.waited_s is not None and job.started_at is not None:
            kinds[job.priority, job.request.gpus].append(job.waited_s)
    order = {"high": 0, "normal": 1, "low": 2}
    return [
        Wait(
            kind=f"{priority}, {gpus} GPU{'s' if gpus != 1 else ''}",
            jobs=len(found),
            median_s=_median(found),
            longest_s=max(found),
        )
        for (priority, gpus), found in sorted(kinds.items(), key=lambda kv: (order.get(kv[0][0], 3), kv[0][1]))
    ]


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def usage(jobs: Iterable[JobRecord], *, now: float) -> list[Used]:
    """GPU-hours by user and day of the end (today for those that run), and how many of them ended in failure."""
    found: dict[tuple[str, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for job in jobs:
        if not job.ran_s and job.state not in _HOLDING:
            continue
        started = unix(job.started_at)
        ran = (now - started) if job.state in _HOLDING and started is not None else (job.ran_s or 0.0)
        day = time.strftime("%Y-%m-%d", time.localtime(unix(job.ended_at) or now))
        hours = ran * job.request.gpus / 3600
        row = found[job.user, day]
        row[0] += hours
        row[1] += 1
        row[2] += hours if job.state == "failed" else 0.0
    return [
        Used(user=user, day=day, gpu_hours=row[0], jobs=int(row[1]), failed_hours=row[2])
        for (user, day), row in sorted(found.items(), key=lambda kv: (kv[0][1], kv[0][0]))
    ]
