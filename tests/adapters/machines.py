"""Machines with GPUs that are not there, and clusters on them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adapters.dask_host import DaskHost
from tests.fakenvml.machine import FakeMachine
from tests.leaks import temporary_home


@pytest.fixture(scope="module")
def machine() -> Iterator[FakeMachine]:
    """Eight H100 that are not there."""
    fake = FakeMachine(8)
    yield fake
    fake.close()


@pytest.fixture(scope="module")
def dask_host(machine: FakeMachine) -> Iterator[DaskHost]:
    """A real dask-cuda cluster on them, in a process of its own."""
    pytest.importorskip("dask_cuda")
    with temporary_home() as home:
        host = DaskHost(run_directory(home), {**machine.environ, "JUPYSCHED_HOME": str(home)}, watch_gpus=True)
        yield host
        if host.is_open:
            host.end()


def run_directory(home: Path) -> Path:
    path = home / "run"
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path
