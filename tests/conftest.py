"""What every test gets: a home of its own, a guard against sleeping, and a count of what it left behind."""

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.leaks import held, left_since, temporary_home

HERE = Path(__file__).parent

# Two shared cores: how long an example takes says nothing about the code.
_shared = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("dev", max_examples=50, **_shared)
settings.register_profile("ci", max_examples=400, print_blob=True, **_shared)
settings.register_profile("nightly", max_examples=5000, print_blob=True, **_shared)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

#: Folder of tests/ -> what its tests are, said once here and not in every file.
MARKED_BY_FOLDER = {
    "browser": ("browser", "slow", "real_time"),
    "cases": ("slow", "real_time"),
    "faults": ("faults", "slow", "real_time"),
    "gpu": ("gpu", "slow", "real_time"),
}


def pytest_configure(config: pytest.Config) -> None:
    """Keep the whole session away from what this user has: no test may find, or leave, anything in a real home."""
    config.option.loadscopereorder = False  # xdist would start with the largest group; see the order below
    base = Path(tempfile.mkdtemp(prefix="jupysched-tests-"))
    config.add_cleanup(lambda: shutil.rmtree(base, ignore_errors=True))
    os.environ.pop("JUPYSCHED_SOCKET", None)
    os.environ["JUPYSCHED_HOME"] = str(base / "home")
    os.environ["IPYTHONDIR"] = str(base / "ipython")
    os.environ["MPLCONFIGDIR"] = str(base / "matplotlib")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by the folder they live in, leave those for a GPU out where there is none, and put those with a browser last.

    Playwright keeps an event loop running in the main thread from its first test to the end of the session: where it has been,
    no other loop can be run.
    """
    no_gpu = pytest.mark.skip(reason="no NVIDIA GPU on this machine")
    has_gpu = Path("/dev/nvidiactl").exists()
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        for mark in MARKED_BY_FOLDER.get(folder, ()):
            item.add_marker(mark)
        if item.get_closest_marker("gpu") and not has_gpu:
            item.add_marker(no_gpu)
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail a test that leaves a process, a thread or a descriptor of this process behind."""
    before = held()
    yield
    if not request.node.get_closest_marker("leaky"):
        left = left_since(before)
        assert not left, "left behind: " + "; ".join(left)


@pytest.fixture(autouse=True)
def no_sleep(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that sleeps instead of waiting for something. The libraries it uses may do as they like."""
    if request.node.get_closest_marker("real_time"):
        return
    monkeypatch.setattr(time, "sleep", _guarded(time.sleep))
    monkeypatch.setattr(asyncio, "sleep", _guarded(asyncio.sleep))


def _guarded(sleep: Callable[..., object]) -> Callable[..., object]:
    def guard(seconds: float, *rest: object, **named: object) -> object:
        caller = sys._getframe(1).f_code.co_filename
        if seconds > 0 and caller.startswith(str(HERE)):
            raise AssertionError(
                f"a test may not sleep ({caller}): wait with tests.waiting, on an event, or on a fake clock"
            )
        return sleep(seconds, *rest, **named)

    return guard


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A JUPYSCHED_HOME of the test's own, with two CPU slots; whatever lives in it at the end is stopped."""
    with temporary_home() as path:
        monkeypatch.setenv("JUPYSCHED_HOME", str(path))
        monkeypatch.setenv("JUPYSCHED_CPU_SLOTS", "2")
        monkeypatch.delenv("JUPYSCHED_SOCKET", raising=False)
        yield path
