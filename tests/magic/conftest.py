"""A twin of the daemon, a twin of a shim, and a desk, each ended after its test."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from jupysched.magic import desk as desk_module
from jupysched.magic.desk import Desk
from tests.cases.notebook import Notebook
from tests.leaks import temporary_home
from tests.magic.shim import TwinShim
from tests.magic.twin import TwinDaemon


@pytest.fixture
def twin(home: Path) -> Iterator[TwinDaemon]:
    """A daemon that does as the test says, where this home's daemon would listen."""
    daemon = TwinDaemon(home / "api.sock")
    yield daemon
    daemon.close()


@pytest.fixture
def shim(tmp_path: Path) -> Iterator[TwinShim]:
    """The shim of attempt 1 of a job whose directory is `shim.directory`."""
    made = TwinShim(tmp_path / "job", 1)
    yield made
    made.close()


@pytest.fixture
def shell(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A real IPython shell, as in a terminal."""
    settings = Config()
    settings.HistoryManager.enabled = False
    InteractiveShell.clear_instance()
    made = InteractiveShell.instance(config=settings)
    monkeypatch.setattr(desk_module, "_desk", None)
    yield made
    if desk_module._desk is not None:
        desk_module._desk.close()
    InteractiveShell.clear_instance()


@pytest.fixture
def desk(shell: Any, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """The desk of that shell."""
    made = Desk(shell)
    monkeypatch.setattr(desk_module, "_desk", made)
    return made


# --- a real kernel, with a daemon of the file's own ------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_home() -> Iterator[Path]:
    """One home and one daemon for this file."""
    with temporary_home() as home, pytest.MonkeyPatch.context() as environment:
        environment.setenv("JUPYSCHED_HOME", str(home))
        environment.setenv("JUPYSCHED_CPU_SLOTS", "2")
        environment.delenv("JUPYSCHED_SOCKET", raising=False)
        yield home


@pytest.fixture(scope="module")
def _open(own_home: Path) -> Iterator[Notebook]:
    with Notebook("magic") as notebook:
        yield notebook


@pytest.fixture
def notebook(_open: Notebook) -> Notebook:
    """A notebook with the extension loaded and no variables."""
    _open.run("%reset -f\n%reload_ext jupysched")
    return _open
