"""Queue and usage are counted from the jobs themselves."""

from datetime import UTC, datetime

from jupysched.panels.facts import steps, usage, waits
from jupysched.wire.records import JobRecord, RequestRecord

NOW = 1_000_000.0


def iso(at: float | None) -> str | None:
    return None if at is None else datetime.fromtimestamp(at, UTC).isoformat()


def a_job(
    *, asked: float, started: float | None = None, ended: float | None = None, gpus: int = 1, state: str = "running",
    user: str = "ann", priority: str = "normal",
) -> JobRecord:  # fmt: skip
    ran = None if started is None else (ended or NOW) - started
    return JobRecord(
        id=1, user=user, name="n", state=state, priority=priority, request=RequestRecord(gpus=gpus), submitted_at=iso(asked) or "",
        started_at=iso(started), ended_at=iso(ended), ran_s=ran, waited_s=None if started is None else started - asked,
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


def test_waits_are_told_by_class_and_width() -> None:
    jobs = [a_job(asked=0, started=float(s)) for s in (10, 20, 90)] + [
        a_job(asked=0, started=5, gpus=2, priority="high"),
        a_job(asked=0),
    ]
    assert [(w.kind, w.jobs, w.median_s, w.longest_s) for w in waits(jobs)] == [
        ("high, 2 GPUs", 1, 5, 5), ("normal, 1 GPU", 3, 20, 90),
    ]  # fmt: skip


def test_usage_counts_gpus_times_hours_and_what_failed() -> None:
    jobs = [
        a_job(asked=NOW - 9000, started=NOW - 7200, ended=NOW - 3600, gpus=4, state="failed"),
        a_job(asked=NOW - 9000, started=NOW - 3600),
        a_job(asked=NOW - 9000, state="pending"),
    ]
    (row,) = usage(jobs, now=NOW)
    assert (row.user, row.jobs, round(row.gpu_hours, 3), round(row.failed_hours, 3)) == ("ann", 2, 5.0, 4.0)
