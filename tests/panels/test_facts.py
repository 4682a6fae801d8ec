"""The queue is counted from the jobs themselves, usage from what the daemon counted."""

import itertools
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched.panels import facts
from jupysched.panels.facts import steps
from jupysched.wire.records import JobRecord, RequestRecord
from jupysched.wire.samples import JobUseRecord, UsageReport, UseRecord

NOW = 1_000_000.0


def iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def a_job(
    *, asked: float, started: float | None = None, ended: float | None = None, gpus: int = 1, state: str = "running",
    user: str = "ann", priority: str = "normal", waited: float | None = None,
) -> JobRecord:  # fmt: skip
    ran = None if started is None else (ended or NOW) - started
    return JobRecord(
        id=1, user=user, name="n", state=state, priority=priority, request=RequestRecord(gpus=gpus), submitted_at=iso(asked) or "",
        started_at=iso(started), ended_at=iso(ended), ran_s=ran, waited_s=waited if started is None else started - asked,
    )  # fmt: skip


def test_waiting_and_running_step_when_jobs_come_start_and_end() -> None:
    jobs = [a_job(asked=NOW - 100, started=NOW - 90, ended=NOW - 50, gpus=2), a_job(asked=NOW - 80)]
    found = steps(jobs, since=NOW - 200, now=NOW)
    relative = [round(at - NOW) for at in found.at]
    assert list(zip(relative, found.waiting, found.running, found.gpus, strict=True)) == [
        (-200, 0, 0, 0), (-100, 1, 0, 0), (-90, 0, 1, 2), (-80, 1, 1, 2), (-50, 1, 0, 0), (0, 1, 0, 0),
    ]  # fmt: skip


def test_what_began_before_the_window_is_there_from_its_beginning() -> None:
    found = steps([a_job(asked=NOW - 9000, started=NOW - 8000)], since=NOW - 100, now=NOW)
    assert (found.running[-1], found.waiting[-1], min(found.waiting)) == (1, 0, 0)


def test_waits_are_told_by_class_and_width_of_what_began_or_waits() -> None:
    jobs = [a_job(asked=0, started=float(s)) for s in (10, 20, 90)] + [
        a_job(asked=0, started=5, gpus=2, priority="high"),
        a_job(asked=0),
        a_job(asked=40, state="pending", waited=60),
        a_job(asked=0, state="cancelled", waited=60),
    ]
    found = facts.waited(jobs, since=0, now=100)
    assert [(w.kind, w.jobs, w.median_s, w.longest_s, w.waiting) for w in facts.waits(found, now=100)] == [
        ("high, 2 GPUs", 1, 5, 5, 0), ("normal, 1 GPU", 4, 40, 90, 1),
    ]  # fmt: skip


def test_waits_are_those_of_the_time_that_is_looked_at() -> None:
    jobs = [a_job(asked=0, started=float(s)) for s in (10, 20, 90)]
    assert [w.wait_s for w in facts.waited(jobs, since=15, now=100)] == [20, 90]
    assert facts.waits([], now=100) == []


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50))
def test_a_quantile_lies_between_least_and_greatest_and_never_falls(values: list[float]) -> None:
    found = [facts.quantile(values, part / 10) for part in range(11)]
    assert (found[0], found[-1]) == (min(values), max(values))
    assert all(a <= b or a == pytest.approx(b) for a, b in itertools.pairwise(found))


def a_use(day: str, user: str, **sums: float) -> UseRecord:
    zero = dict.fromkeys(("held_s", "failed_s", "measured_s", "busy_s", "idle_s", "remembered_s", "memory_s"), 0.0)
    return UseRecord(day=day, user=user, jobs=2, **{**zero, **sums})


REPORT = UsageReport(
    days=[
        a_use("2026-11-29", "ann", held_s=7200, measured_s=3600, busy_s=900, idle_s=1800, remembered_s=3600, memory_s=360),
        a_use("2026-11-30", "ann", held_s=3600),
        a_use("2026-11-30", "bob", held_s=10_800, failed_s=3600),
    ],
    jobs=[JobUseRecord(job=7, user="ann", name="n", failed=True, held_s=7200, measured_s=3600, busy_s=900, idle_s=0,
                       peak_bytes=20.0, capacity_bytes=80.0)],
    idle=[],
    parts={"ann": 0.75, "bob": 0.25},
)  # fmt: skip


def test_use_of_a_day_is_told_in_hours_and_what_was_not_measured_is_unknown() -> None:
    first, second, third = facts.days(REPORT)
    assert (first.gpu_hours, first.busy, first.unused_hours, first.idle_hours, first.memory) == (2, 25, 0.75, 0.5, 10)
    assert (second.gpu_hours, second.busy, second.memory, second.unused_hours) == (1, None, None, 0)
    assert third.failed_hours == 1


def test_what_each_used_stands_against_their_share() -> None:
    people = facts.people(REPORT)
    assert [(p.user, p.gpu_hours, p.part, p.share, p.jobs) for p in people] == [
        ("ann", 3, 50, 75, 4),
        ("bob", 3, 50, 25, 2),
    ]
    assert [(p.user, p.part) for p in facts.people(REPORT, since_day="2026-11-30")] == [("bob", 75), ("ann", 25)]


def test_jobs_tell_what_they_left_unused() -> None:
    [waste] = facts.wastes(REPORT)
    assert (waste.job, waste.busy, waste.unused_hours, waste.peak, waste.failed) == (7, 25, 0.75, 25, "failed")
