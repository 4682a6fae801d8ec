"""On a server with several users a home is its user's alone, whoever was there first and whatever their umask."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched import places
from jupysched.core.errors import ClusterError, DaemonMissing

OTHER = 65533


@pytest.fixture
def as_root() -> None:
    """Only root can make what belongs to somebody else."""
    if os.geteuid() != 0:
        pytest.skip("needs root, who can give a directory to another user")


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="jp-") as path:
        yield Path(path)


@pytest.mark.leaky("the daemon of the test is ended with its home")
def test_others_find_nothing_that_they_may_open_and_the_job_has_its_own_umask(home: Path, folder: Path) -> None:
    home.chmod(0o755)
    (folder / "cell.py").write_text("open('made', 'w').close()", encoding="utf-8")
    command = [sys.executable, "-c", "from jupysched.cli import main; main()", "submit", "--wait", "cell.py"]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, umask=0)
    found = [path for path in home.rglob("*") if not path.is_symlink()]
    assert {"daemon.log", "journal.sqlite-wal", "jobs", "launcher.sock"} <= {path.name for path in found}
    assert [f"{path}: {path.stat().st_mode:o}" for path in found if path.stat().st_mode & 0o077] == []
    assert (folder / "made").stat().st_mode & 0o777 == 0o666


def test_a_home_that_anybody_may_write_to_is_refused(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    folder.chmod(0o1777)
    monkeypatch.setenv("JUPYSCHED_HOME", str(folder))
    with pytest.raises(ClusterError, match="other users of this machine may change what lies there"):
        places.home()


def test_a_home_that_belongs_to_somebody_else_is_refused(
    monkeypatch: pytest.MonkeyPatch, folder: Path, as_root: None
) -> None:
    os.chown(folder, OTHER, OTHER)
    monkeypatch.setenv("JUPYSCHED_HOME", str(folder))
    with pytest.raises(ClusterError, match="other users of this machine may change what lies there"):
        places.home()


def test_a_home_for_those_who_have_none_is_not_taken_from_somebody_elses_link(
    monkeypatch: pytest.MonkeyPatch, folder: Path, as_root: None
) -> None:
    """/var/tmp is everybody's, and its names can be guessed."""
    (folder / "mine").mkdir(0o700)
    (folder / "mine").chmod(0o700)
    link = folder / f"jupysched-{os.getuid()}"
    link.symlink_to(folder / "mine")
    os.lchown(link, OTHER, OTHER)
    monkeypatch.delenv("JUPYSCHED_HOME", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/no-such-place")
    monkeypatch.setattr(places, "FALLBACK", folder)
    with pytest.raises(DaemonMissing, match="belongs to another user"):
        places.home()
