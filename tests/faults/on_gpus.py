"""The whole product on a machine with GPUs, there or not: a home whose daemon found them all. Knows nothing of jobs."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from jupysched.client import Client
from jupysched.wire.records import GpuRecord
from tests.leaks import temporary_home
from tests.waiting import eventually


@contextmanager
def house_with_gpus(count: int, environ: Mapping[str, str] | None = None) -> Iterator[Path]:
    """A home with a daemon that has so many GPUs, each with its agent."""
    pytest.importorskip("dask_cuda")
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYSCHED_HOME", str(home))
        for name in ("JUPYSCHED_CPU_SLOTS", "CUDA_VISIBLE_DEVICES"):
            patch.delenv(name, raising=False)
        for name, value in (environ or {}).items():
            patch.setenv(name, value)
        eventually(lambda: len(usable_gpus()) >= count, within_s=120, what=f"{count} agents")
        yield home


def usable_gpus() -> list[GpuRecord]:
    """Those that take jobs."""
    with Client() as client:
        return [g for g in client.gpus() if g.kind != "cpu_slot" and not g.drained and not g.foreign]
