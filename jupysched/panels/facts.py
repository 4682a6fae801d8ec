"""Queue and usage over time, as tables: the queue counted from the jobs themselves, so that nothing is missed; usage from what the
daemon counted. Pure; knows no Bokeh."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from jupysched.wire.records import JobRecord
from jupysched.wire.samples import UsageReport, UseRecord

HOUR_S = 3600.0
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
    p95_s: float
    longest_s: float
    #: of these: jobs that wait now
    waiting: int


class Waited(NamedTuple):
    """One job that began to run, or waits."""

    time: float
    wait_s: float
    kind: str
    job: int
    name: str
    user: str


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


def waited(jobs: Iterable[JobRecord], *, since: float, now: float) -> list[Waited]:
    """Waits of the jobs that began to run since then, and of those that wait now; by the time at which the wait ended."""
    found: list[Waited] = []
    for job in jobs:
        ended = unix(job.started_at)
        if ended is None and job.state in _WAITING:
            ended = now
        if job.waited_s is not None and ended is not None and ended >= since:
            found.append(Waited(ended, job.waited_s, kind_of(job), job.id, job.name, job.user))
    return sorted(found)


def kind_of(job: JobRecord) -> str:
    """Class and width, as people say it: 'high, 2 GPUs'."""
    gpus = job.request.gpus
    return f"{job.priority}, {gpus} GPU{'s' if gpus != 1 else ''}"


def _order(kind: str) -> tuple[int, int]:
    priority, _, width = kind.partition(", ")
    return ({"high": 0, "normal": 1, "low": 2}.get(priority, 3), int(width.split()[0]))


def waits(found: Sequence[Waited], *, now: float) -> list[Wait]:
    """Waiting times by class and number of GPUs; urgent and narrow jobs first."""
    kinds: dict[str, list[Waited]] = defaultdict(list)
    for one in found:
        kinds[one.kind].append(one)
    return [
        Wait(
            kind=kind,
            jobs=len(ones),
            median_s=quantile([o.wait_s for o in ones], 0.5),
            p95_s=quantile([o.wait_s for o in ones], 0.95),
            longest_s=max(o.wait_s for o in ones),
            waiting=sum(o.time >= now for o in ones),
        )
        for kind, ones in sorted(kinds.items(), key=lambda pair: _order(pair[0]))
    ]


def quantile(values: Sequence[float], part: float) -> float:
    """The value that this part of them is below, between two where it falls between two."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * part
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


class Day(NamedTuple):
    """What one user used on one day."""

    day: str
    user: str
    jobs: int
    gpu_hours: float
    #: percent of the hours for which the utilization is known; None where it is not
    busy: float | None
    idle_hours: float
    #: by utilization: held, measured, and not used
    unused_hours: float
    #: percent of the memory that was there
    memory: float | None
    failed_hours: float


class Person(NamedTuple):
    """What one user used in all, against what was theirs."""

    user: str
    gpu_hours: float
    #: percent of what all used, and what they are entitled to beside the others
    part: float
    share: float
    busy: float | None
    idle_hours: float
    unused_hours: float
    memory: float | None
    failed_hours: float
    jobs: int


class Waste(NamedTuple):
    """What one job left unused."""

    job: int
    name: str
    user: str
    gpu_hours: float
    busy: float | None
    idle_hours: float
    unused_hours: float
    #: percent of a GPU's memory at most
    peak: float | None
    failed: str


def days(report: UsageReport) -> list[Day]:
    """Every user's days, the oldest first."""
    return [
        Day(
            use.day, use.user, use.jobs, use.held_s / HOUR_S, percent(use.busy_s, use.measured_s), use.idle_s / HOUR_S,
            (use.measured_s - use.busy_s) / HOUR_S, percent(use.memory_s, use.remembered_s), use.failed_s / HOUR_S,
        )
        for use in report.days
    ]  # fmt: skip


def people(report: UsageReport, *, since_day: str = "") -> list[Person]:
    """Every user since that day, who used most first."""
    by_user: dict[str, list[UseRecord]] = defaultdict(list)
    for use in report.days:
        if use.day >= since_day:
            by_user[use.user].append(use)
    everything = sum(u.held_s for uses in by_user.values() for u in uses)
    found = []
    for user, uses in by_user.items():
        held, measured, busy = (sum(getattr(u, name) for u in uses) for name in ("held_s", "measured_s", "busy_s"))
        found.append(
            Person(
                user=user,
                gpu_hours=held / HOUR_S,
                part=percent(held, everything) or 0.0,
                share=100 * report.parts.get(user, 0.0),
                busy=percent(busy, measured),
                idle_hours=sum(u.idle_s for u in uses) / HOUR_S,
                unused_hours=(measured - busy) / HOUR_S,
                memory=percent(sum(u.memory_s for u in uses), sum(u.remembered_s for u in uses)),
                failed_hours=sum(u.failed_s for u in uses) / HOUR_S,
                jobs=sum(u.jobs for u in uses),
            )
        )
    return sorted(found, key=lambda p: (-p.gpu_hours, p.user))


def wastes(report: UsageReport) -> list[Waste]:
    """Jobs that left most unused, the worst first."""
    return [
        Waste(
            use.job, use.name, use.user, use.held_s / HOUR_S, percent(use.busy_s, use.measured_s), use.idle_s / HOUR_S,
            (use.measured_s - use.busy_s) / HOUR_S,
            None if use.peak_bytes is None else percent(use.peak_bytes, use.capacity_bytes or 0.0),
            "failed" if use.failed else "",
        )
        for use in report.jobs
    ]  # fmt: skip


def percent(part: float, whole: float) -> float | None:
    """None where there is no whole."""
    return 100 * part / whole if whole else None
