"""Readings survive the daemon and stay bounded; a file that is damaged or a disk that is full costs readings, never the daemon."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched.adapters.sample_store import MOST_HOLDS, HoldRow, Row, SampleStore

NOW = 1_800_000_000.0
KEPT = [3600.0, 86_400.0, 30 * 86_400.0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "samples.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[SampleStore]:
    made = SampleStore(path, width=2)
    yield made
    made.close()


def a_row(at: float, mean: float | None, peak: float | None = None, *, gpu: str = "G", tier: int = 0) -> Row:
    return Row(tier, gpu, at, (mean, None), (mean if peak is None else peak, None))


def read(
    store: SampleStore, *, since: float = 0.0, until: float = NOW * 2, step_s: float = 1.0, tier: int = 0
) -> list[Row]:
    return store.read("G", tier=tier, since=since, until=until, step_s=step_s)


def test_what_was_kept_is_there_after_the_daemon_ended(path: Path) -> None:
    first = SampleStore(path, width=2)
    first.add([a_row(NOW, 50.0), a_row(NOW + 1, 2.5e9, 3e9)])
    first.hold(HoldRow("G", 7, NOW, None, "resnet", "ann", 1.0, NOW))
    first.close()
    again = SampleStore(path, width=2)
    assert [(r.at - NOW, r.mean[0], r.peak[0]) for r in read(again)] == [(0, 50.0, 50.0), (1, 2.5e9, 3e9)]
    assert [(h.job, h.name, h.end) for h in again.open_holds()] == [(7, "resnet", None)]
    assert path.stat().st_mode & 0o077 == 0
    again.close()


def test_what_was_committed_is_there_after_a_kill_and_the_rest_is_lost_whole(path: Path, store: SampleStore) -> None:
    store.add([a_row(NOW, 1.0)])
    store.commit()
    store.add([a_row(NOW + 1, 2.0)])
    # A reader sees what a daemon that starts anew would find.
    other = sqlite3.connect(path)
    assert other.execute("SELECT COUNT(*) FROM samples").fetchone() == (1,)
    other.close()


def test_points_are_means_of_means_and_peaks_of_peaks(store: SampleStore) -> None:
    begin = NOW - NOW % 10
    store.add([a_row(begin + i, float(i), float(i) + 5) for i in range(20)])
    points = read(store, step_s=10)
    assert [(p.at - begin, p.mean[0], p.peak[0]) for p in points] == [(9, 4.5, 14.0), (19, 14.5, 24.0)]


def test_what_was_not_told_stays_unknown(store: SampleStore) -> None:
    store.add([a_row(NOW, None), a_row(NOW + 1, None)])
    assert [(p.mean, p.peak) for p in read(store, step_s=10)] == [((None, None), (None, None))]
    store.add([a_row(NOW + 2, 0.0)])
    assert read(store)[-1].mean == (0.0, None)


def test_only_what_was_asked_for_is_read(store: SampleStore) -> None:
    store.add([a_row(NOW + i, 1.0) for i in range(10)] + [a_row(NOW, 9.0, gpu="H"), a_row(NOW, 9.0, tier=1)])
    assert [r.at - NOW for r in read(store, since=NOW + 3, until=NOW + 6)] == [4, 5, 6]
    assert store.read("nobody", tier=0, since=0, until=NOW * 2, step_s=1) == []


def test_each_tier_is_forgotten_when_its_time_is_over(store: SampleStore) -> None:
    for tier in range(3):
        store.add([a_row(NOW - back, 1.0, tier=tier) for back in (1000, 4000, 90_000, 31 * 86_400)])
    store.forget(now=NOW, kept_s=KEPT)
    assert [len(read(store, tier=tier)) for tier in range(3)] == [1, 2, 3]


def test_the_file_stays_as_large_as_what_is_kept(path: Path, store: SampleStore) -> None:
    """Three times what is kept passes through; the file does not grow with it."""
    sizes = []
    for hour in range(6):
        begin = NOW + hour * 3600
        store.add([a_row(begin + i, float(i % 100) + 0.5, float(i)) for i in range(3600)])
        store.forget(now=begin + 3600, kept_s=[3600.0, 0.0, 0.0])
        sizes.append(path.stat().st_size)
    assert len(read(store)) <= 3601
    assert sizes[-1] <= 1.2 * sizes[2]


def test_holds_that_touch_a_time_are_found(store: SampleStore) -> None:
    rows = [HoldRow("G", job, NOW + a, None if b is None else NOW + b, "n", "ann", 1.0, NOW) for job, a, b in
            [(1, 0, 10), (2, 10, 20), (3, 30, None), (4, -50, 100)]]  # fmt: skip
    for row in rows:
        store.hold(row)
    assert [h.job for h in store.holds(since=NOW + 12, until=NOW + 25)] == [4, 2]
    assert [h.job for h in store.holds(since=NOW + 60, until=NOW + 70)] == [4, 3]
    store.update(rows[2], end=NOW + 40, counted=NOW + 40)
    assert store.open_holds() == []


def test_holds_are_bounded_in_number(store: SampleStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jupysched.adapters.sample_store.MOST_HOLDS", 5)
    for job in range(12):
        store.hold(HoldRow("G", job, NOW + job, NOW + job + 1, "n", "ann", 1.0, NOW))
    store.forget(now=NOW + 20, kept_s=KEPT)
    assert [h.job for h in store.holds(since=0, until=NOW * 2)] == [7, 8, 9, 10, 11]
    assert MOST_HOLDS >= 100_000


def test_sums_are_kept_by_day_and_job_and_told_by_user(store: SampleStore) -> None:
    a, b = (HoldRow("G", job, NOW, None, "n", user, 1.0, NOW) for job, user in ((1, "ann"), (2, "bob")))
    store.count("2026-11-30", a, {"held": 10})
    store.count("2026-11-30", a, {"held": 5, "measured": 4, "busy": 1}, peak=30.0, capacity=80.0)
    store.count("2026-11-30", a, {"measured": 4, "busy": 1}, peak=20.0)
    store.count("2026-11-30", b, {"held": 7, "measured": 7, "busy": 0})
    store.count("2026-12-01", b, {"held": 3})
    store.failed(2)
    days = store.use_by_day(since_day="2026-11-30")
    assert [(d["day"], d["user"], d["held"], d["busy"], d["failed"], d["jobs"]) for d in days] == [
        ("2026-11-30", "ann", 15, 2, 0, 1), ("2026-11-30", "bob", 7, 0, 7, 1), ("2026-12-01", "bob", 3, 0, 3, 1),
    ]  # fmt: skip
    worst = store.use_by_job(since_day="2026-11-30", most=5)
    assert [(j["job"], j["peak"], j["capacity"], j["failed"]) for j in worst] == [
        (2, None, None, 1),
        (1, 30.0, 80.0, 0),
    ]
    assert store.use_by_day(since_day="2026-12-02") == []


def test_a_file_that_cannot_be_read_is_put_aside_with_a_sentence(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)
    store = SampleStore(path, width=2)
    store.add([a_row(NOW, 1.0)])
    assert len(read(store)) == 1
    [notice] = store.notices
    assert "could not be read" in notice
    assert len(list(path.parent.glob("samples.sqlite.damaged-*"))) == 1
    store.close()


def test_a_full_disk_costs_readings_and_one_sentence(store: SampleStore) -> None:
    store.add([a_row(NOW, 1.0)])
    store.commit()
    store._db.execute("PRAGMA max_page_count = 1")  # noqa: SLF001  what SQLite says when the disk is full
    for i in range(2000):
        store.add([a_row(NOW + i, 1.5)])
    store.commit()
    assert len(store.notices) == 1
    assert "could not be kept" in store.notices[0]
    store._db.execute("PRAGMA max_page_count = 100000")  # noqa: SLF001
    store.add([a_row(NOW + 5000, 3.0)])
    assert read(store)[-1].mean[0] == 3.0


def test_an_error_stands_until_it_is_lifted_or_the_machine_starts_anew(store: SampleStore) -> None:
    store.note_error(at=NOW, gpu="G", xid=79, label="GPU 0", job=4, boot="b1", stands=True)
    store.note_error(at=NOW, gpu="G", xid=31, label="GPU 0", job=4, boot="b1", stands=False)
    assert store.standing_errors(boot="b1") == [("G", 79, "GPU 0")]
    assert store.standing_errors(boot="b2") == []
    assert store.errors_of_jobs() == [(4, "GPU 0", 79), (4, "GPU 0", 31)]
    store.lift("G")
    assert store.standing_errors(boot="b1") == []
