"""A page that says what it saw last is told exactly what changed since, or everything."""

import msgspec

from jupysched.server.picture import MOST_CHANGES, MOST_ENDED, Picture
from jupysched.wire.browser import LossRecord
from jupysched.wire.records import DaemonRecord, GpuRecord, JobRecord


def a_job(number: int, **over: object) -> JobRecord:
    return JobRecord(**{"id": number, "user": "ann", "name": f"n{number}", "state": "pending", **over})  # type: ignore[arg-type]


def a_picture(*jobs: JobRecord, total: int | None = None) -> Picture:
    daemon = DaemonRecord(
        version="1", pid=1, mode="personal", home="/h", policy="fifo", started_at="", gpus=1, kind="gpu", running=0, pending=0, held=0
    )  # fmt: skip
    picture = Picture(epoch="e", me="ann", may_start=True, root="/srv/nb")
    picture.afresh(daemon=daemon, jobs=jobs, gpus=[], total=len(jobs) if total is None else total)
    return picture


def test_a_change_holds_only_what_changed_since() -> None:
    picture = a_picture(a_job(1), a_job(2))
    seen = picture.seq
    picture.changed(jobs=[a_job(2, state="running")])
    picture.changed(jobs=[a_job(3)], forgotten=[1])
    change = picture.since(seen)
    assert change is not None
    assert ([j.id for j in change.jobs], change.forgotten, change.gpus) == ([2, 3], [1], None)
    assert (change.since, change.seq) == (seen, picture.seq)


def test_two_changes_of_one_job_are_told_once() -> None:
    picture = a_picture(a_job(1))
    seen = picture.seq
    picture.changed(jobs=[a_job(1, state="starting")])
    picture.changed(jobs=[a_job(1, state="running")])
    change = picture.since(seen)
    assert change is not None
    assert [j.state for j in change.jobs] == ["running"]


def test_who_saw_everything_is_told_nothing() -> None:
    picture = a_picture(a_job(1))
    change = picture.since(picture.seq)
    assert change is not None
    assert (change.jobs, change.gpus, change.down) == ([], None, None)


def test_who_was_away_when_the_daemon_came_back_gets_everything() -> None:
    picture = a_picture(a_job(1))
    seen = picture.seq
    picture.lost("away")
    picture.afresh(daemon=picture.refresh().daemon or a_picture().daemon, jobs=[a_job(9)], gpus=[], total=1)  # type: ignore[arg-type]
    assert picture.since(seen) is None


def test_who_missed_too_much_gets_everything() -> None:
    picture = a_picture()
    seen = picture.seq
    for number in range(MOST_CHANGES + 2):
        picture.changed(jobs=[a_job(number)])
    assert picture.since(seen) is None


def test_a_number_from_the_future_is_not_believed() -> None:
    assert a_picture().since(10_000) is None


def test_the_daemon_going_is_told_once() -> None:
    picture = a_picture(a_job(1))
    seen = picture.seq
    assert picture.lost("The GPU queue is not running.")
    assert not picture.lost("The GPU queue is not running.")
    change = picture.since(seen)
    assert change is not None
    assert (change.down, change.daemon) == ("The GPU queue is not running.", None)


def test_readings_and_losses_are_changes_of_their_own() -> None:
    picture = a_picture(a_job(1))
    seen = picture.seq
    picture.changed(gpus=[GpuRecord(id="G", node="n", index=0, label="GPU 0", name="H", kind="gpu")])
    picture.changed(losses=[LossRecord(job=1, name="loss", value=0.5)])
    change = picture.since(seen)
    assert change is not None
    assert ([g.id for g in change.gpus or []], [loss.value for loss in change.losses], change.jobs) == (
        ["G"],
        [0.5],
        [],
    )


def test_a_refresh_holds_the_newest_ended_jobs_and_the_number_of_the_others() -> None:
    ended = [
        a_job(n, state="succeeded", ended_at=f"2026-01-01T00:00:{n % 60:02}.{n:06}Z") for n in range(MOST_ENDED + 100)
    ]
    refresh = a_picture(a_job(9000), *ended, total=5000).refresh()
    assert (len(refresh.jobs), refresh.older) == (MOST_ENDED + 1, 5000 - MOST_ENDED - 1)


def test_a_row_tells_no_directory_and_the_path_that_pages_know() -> None:
    picture = a_picture(a_job(1, directory="/home/ann/x", origin={"notebook": "/srv/nb/a/b.ipynb", "cell_id": "c"}))
    row = picture.refresh().jobs[0]
    assert (row.directory, row.origin["path"]) == ("", "a/b.ipynb")
    assert picture.jobs[1].directory == "/home/ann/x"


def test_a_thousand_jobs_are_half_a_megabyte_at_most() -> None:
    jobs = [
        a_job(
            n, why="needs 1 GPU on one node; none is free; 12 jobs ahead of it; 8 jobs are running", reason="priority", position=n,
            submitted_at="2026-11-30T14:44:51.312Z", expected_start_at="2026-11-30T14:44:51.312Z", waited_s=1234.567,
            directory="/home/ann/.local/state/jupysched/jobs/0123456789abcdef0123456789abcdef",
            origin={"cell_id": "0123456789ab", "notebook": "/home/ann/train.ipynb", "kernel_id": "k" * 36},
        )
        for n in range(1000)
    ]  # fmt: skip
    assert len(msgspec.json.encode(a_picture(*jobs).refresh())) < 500_000
