"""Every probe tells which GPUs there are and how they are; what it cannot tell is None."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched.core.resources import Gpu, GpuKind
from jupysched.ports import GpuProbe, GpuSample
from jupysched.testing.cluster import fake_gpus
from jupysched.testing.probe import FakeProbe
from tests.fakenvml.machine import FakeMachine

ROOT = Path(__file__).parents[2]
#: NVML has to be there when a process starts, so the real probe is asked in a process of its own.
ASK = """
import msgspec, sys
from jupysched.adapters.nvml_probe import NvmlProbe
probe = NvmlProbe(node="node0")
gpus = probe.inventory()
links = [[a, b, word] for (a, b), word in probe.links().items()]
print(msgspec.json.encode([gpus, probe.sample(patience_s=20), links, probe.problem]).decode())
probe.close()
"""


class RealProbe:
    """A ports.GpuProbe: NvmlProbe in a process that sees the fake machine (or none)."""

    def __init__(self, environ: dict[str, str]) -> None:
        import msgspec

        ran = subprocess.run(
            [sys.executable, "-c", ASK],
            env={**os.environ, **environ, "PYTHONPATH": str(ROOT)},
            check=True,
            capture_output=True,
        )
        gpus, samples, links, self.problem = msgspec.json.decode(ran.stdout)
        self._gpus = tuple(msgspec.convert(gpu, Gpu) for gpu in gpus)
        self._samples = tuple(msgspec.convert(sample, GpuSample, strict=False) for sample in samples)
        self._links = {(a, b): word for a, b, word in links}

    def inventory(self) -> tuple[Gpu, ...]:
        return self._gpus

    def sample(self) -> tuple[GpuSample, ...]:
        return self._samples

    def links(self) -> dict[tuple[int, int], str]:
        return self._links


@pytest.fixture(scope="module")
def two_gpus() -> Iterator[FakeMachine]:
    """The first does not tell utilization and power and is used by process 812; the second is well."""
    fake = FakeMachine(2)
    fake.gpus[0].unsupported = 0b011
    fake.use(0, 812, 3 << 30)
    fake.gpus[1].util_gpu = 97
    yield fake
    fake.close()


@pytest.fixture(params=["twin", "nvml"])
def probe(request: pytest.FixtureRequest, two_gpus: FakeMachine) -> GpuProbe:
    if request.param == "nvml":
        return RealProbe(two_gpus.environ)
    gpus = fake_gpus(2)
    fake = FakeProbe(gpus, links={(0, 1): "NVLink x18"})
    fake.use(gpus[0].id, 812, 3 << 30)
    fake.readings[gpus[1].id] = GpuSample(
        gpu=gpus[1].id,
        at=0,
        utilization_percent=97,
        power_w=70,
        memory_total_bytes=80 << 30,
        memory_used_bytes=512 << 20,
    )
    return fake


@pytest.fixture(params=["twin", "nvml"])
def nowhere(request: pytest.FixtureRequest) -> GpuProbe:
    return FakeProbe() if request.param == "twin" else RealProbe({"LD_LIBRARY_PATH": ""})


def test_gpus_are_listed_in_the_order_of_their_index(probe: GpuProbe) -> None:
    gpus = probe.inventory()
    assert [0, 1] == [gpu.index for gpu in gpus]
    assert {(GpuKind.GPU, "node0", 80 << 30)} == {(gpu.kind, gpu.node, gpu.memory_bytes) for gpu in gpus}
    assert all(gpu.id.startswith("GPU-") for gpu in gpus)


def test_every_gpu_has_a_sample(probe: GpuProbe) -> None:
    assert [gpu.id for gpu in probe.inventory()] == [sample.gpu for sample in probe.sample()]


def test_what_is_not_supported_is_none_and_never_0(probe: GpuProbe) -> None:
    first, second = probe.sample()
    assert (None, None) == (first.utilization_percent, first.power_w)
    assert (97, 70, 512 << 20) == (second.utilization_percent, second.power_w, second.memory_used_bytes)


def test_one_metric_that_fails_harms_no_other(probe: GpuProbe) -> None:
    first, _ = probe.sample()
    assert (80 << 30, "") == (first.memory_total_bytes, first.fault)


def test_processes_are_told_by_pid_and_memory(probe: GpuProbe) -> None:
    assert [{812: 3 << 30}, {}] == [dict(sample.processes) for sample in probe.sample()]


def test_links_are_told_by_lower_and_higher_index(probe: GpuProbe) -> None:
    assert {(0, 1): "NVLink x18"} == probe.links()


def test_a_machine_without_gpus_has_none_and_says_why(nowhere: GpuProbe) -> None:
    assert ([], [], {}) == (list(nowhere.inventory()), list(nowhere.sample()), dict(nowhere.links()))
    assert "No NVIDIA driver was found" in nowhere.problem  # type: ignore[attr-defined]
