"""One home, hence one daemon, for all cases of a test process: what starts it, and what one case leaves in it for the next, counts."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_core.utils import ensure_event_loop

from tests.leaks import temporary_home


@pytest.fixture(scope="session")
def daemon_home() -> Iterator[Path]:
    """A home with two CPU slots, named in the environment that kernels inherit; its daemon is started by the first job."""
    with temporary_home() as home, pytest.MonkeyPatch.context() as environment:
        environment.setenv("JUPYSCHED_HOME", str(home))
        environment.setenv("JUPYSCHED_CPU_SLOTS", "2")
        environment.delenv("JUPYSCHED_SOCKET", raising=False)
        ensure_event_loop()  # jupyter_client makes one at its first call and keeps it
        yield home
