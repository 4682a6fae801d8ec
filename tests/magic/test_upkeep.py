"""Files of ended jobs go after a week; nothing that may still be needed does."""

import os
from pathlib import Path

import pytest

from jupysched import spool
from jupysched.core.errors import DaemonMissing
from jupysched.magic import upkeep
from tests.magic.records import a_record
from tests.magic.shim import TwinShim
from tests.magic.twin import TwinDaemon

NOW = 2_000_000_000.0


def a_directory(home: Path, name: str, *, days: float, shim: dict[str, object] | None = None) -> Path:
    """Return a job's directory in which nothing was written for some days."""
    directory = home / "jobs" / name
    made = TwinShim(directory, 1, listens=False)
    if shim is not None:
        spool.write_json(str(made.path / spool.SHIM), shim)
    for path in (*directory.rglob("*"), directory):
        os.utime(path, (NOW - days * 86_400,) * 2)
    return directory


def test_old_files_go_and_young_ones_stay(home: Path, twin: TwinDaemon) -> None:
    old, young = a_directory(home, "old", days=8), a_directory(home, "young", days=6)
    assert upkeep.remove_old(home / "jobs", now=NOW) == [str(old)]
    assert young.exists()
    assert not old.exists()


def test_a_job_that_still_waits_keeps_its_files(home: Path, twin: TwinDaemon) -> None:
    directory = a_directory(home, "held", days=30)
    twin.records[7] = a_record(state="held", directory=str(directory))
    assert upkeep.remove_old(home / "jobs", now=NOW) == []


def test_an_attempt_with_a_living_shim_keeps_its_files(home: Path, twin: TwinDaemon) -> None:
    shim = {"pid": os.getpid(), "start": spool.process_start(os.getpid()), "boot": spool.boot_id()}
    a_directory(home, "running", days=30, shim=shim)
    assert upkeep.remove_old(home / "jobs", now=NOW) == []


def test_without_a_daemon_nobody_knows_and_nothing_goes(home: Path) -> None:
    directory = a_directory(home, "old", days=8)
    with pytest.raises(DaemonMissing):
        upkeep.remove_old(home / "jobs", now=NOW)
    assert directory.exists()
