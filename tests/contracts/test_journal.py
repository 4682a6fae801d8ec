"""What every journal promises: twin and real one."""

import os
import sqlite3
from pathlib import Path

import pytest

from jupysched.adapters.sqlite_journal import EVENT_TYPES, JournalDamaged, SqliteJournal
from jupysched.core import events as ev
from jupysched.core.errors import DiskFull
from jupysched.core.job import Exit, JobId, JobSpec, UserName
from jupysched.core.resources import Allocation, Gpu, GpuId, Node, NodeName
from jupysched.testing.journal import MemoryJournal

NODE = NodeName("n1")
GPU = Gpu(id=GpuId("GPU-1"), node=NODE, index=0, name="H100")
EVENTS = [
    ev.NodeJoined(
        at=0.5, node=Node(name=NODE, cpus=2, memory_bytes=8, gpus=(GPU.id,), links={(0, 1): "PIX"}), gpus=(GPU,)
    ),
    ev.Submitted(at=1.0, job=JobId(1), spec=JobSpec(name="é🧪", user=UserName("ann"), uid=1000, after=(JobId(7),))),
    ev.Granted(at=2.0, job=JobId(1), attempt=1, allocation=Allocation(gpus=(GPU.id,), nodes=(NODE,))),
    ev.AttemptEnded(at=3.0, job=JobId(1), attempt=1, exit=Exit(code=1, outcome="error", error="ValueError: x")),
]


@pytest.fixture(params=["memory", "sqlite"])
def journal(request: pytest.FixtureRequest, tmp_path: Path):
    made = MemoryJournal() if request.param == "memory" else SqliteJournal(tmp_path / "journal.sqlite")
    yield made
    made.close()


def test_what_was_appended_is_read_back_in_order(journal):
    journal.append(EVENTS[:2])
    journal.append(EVENTS[2:])
    assert EVENTS == list(journal.read())


def test_the_events_of_a_forgotten_job_are_gone_and_others_stay(journal):
    journal.append(EVENTS)
    journal.forget([1])
    assert EVENTS[:1] == list(journal.read())


def test_what_was_appended_survives_the_process(tmp_path):
    SqliteJournal(tmp_path / "j").append(EVENTS)  # never closed, as after kill -9
    assert EVENTS == list(SqliteJournal(tmp_path / "j").read())


def test_a_write_that_was_cut_short_is_not_there_and_harms_nothing(tmp_path):
    """The write-ahead file cut at every one of its last bytes: what was durable before stays, the cut event is absent."""
    path = tmp_path / "j"
    journal = SqliteJournal(path)
    journal.append(EVENTS[:1])
    before = os.path.getsize(f"{path}-wal")
    journal.append(EVENTS[1:2])
    wal = Path(f"{path}-wal").read_bytes()
    for cut in range(before, len(wal), 997):
        copy = tmp_path / f"cut{cut}"
        copy.write_bytes(path.read_bytes())
        Path(f"{copy}-wal").write_bytes(wal[:cut])
        opened = SqliteJournal(copy)
        assert EVENTS[:1] == list(opened.read())
        opened.append(EVENTS[2:3])
        opened.close()
    journal.close()


def test_a_damaged_file_is_kept_aside_and_what_can_be_read_is_carried_over(tmp_path):
    path = tmp_path / "j"
    journal = SqliteJournal(path)
    for _ in range(200):
        journal.append(EVENTS[1:2])
    journal.close()
    content = bytearray(path.read_bytes())
    assert len(content) > 3 * 4096
    content[-4096:] = b"\x5a" * 4096
    path.write_bytes(content)
    opened = SqliteJournal(path)
    salvaged = list(opened.read())
    opened.append(EVENTS[2:3])
    opened.close()
    assert 0 < len(salvaged) <= 200
    assert set(map(type, salvaged)) == {ev.Submitted}
    assert "damaged" in opened.notices[0]
    assert [p for p in tmp_path.iterdir() if ".damaged-" in p.name]


def test_an_event_of_a_newer_version_is_refused_by_name(tmp_path):
    path = tmp_path / "j"
    SqliteJournal(path).close()
    db = sqlite3.connect(path)
    db.execute("INSERT INTO events(kind, body) VALUES ('Teleported', x'80')")
    db.commit()
    db.close()
    opened = SqliteJournal(path)
    with pytest.raises(JournalDamaged, match="Teleported"):
        list(opened.read())
    opened.close()


def test_a_full_disk_refuses_the_whole_append_and_keeps_what_was_there(journal):
    journal.append(EVENTS[:1])
    if isinstance(journal, MemoryJournal):
        journal.full = True
    else:
        journal._db.execute("PRAGMA max_page_count = 1")
        journal._db.execute(f"PRAGMA max_page_count = {journal._db.execute('PRAGMA page_count').fetchone()[0]}")
    big = ev.GpuDrained(at=1.0, gpu=GPU.id, cause="x", sentence="y" * 100_000)
    with pytest.raises(DiskFull):
        journal.append([EVENTS[1], big])
    assert EVENTS[:1] == list(journal.read())


def test_every_kind_of_event_has_a_name_in_the_journal():
    kinds = {k for k in vars(ev).values() if isinstance(k, type) and k.__module__ == ev.__name__}
    assert kinds == set(EVENT_TYPES.values())
