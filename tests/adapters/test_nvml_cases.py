"""The cases of group E: what NVML does on real machines, and what a person must see of it."""

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pynvml
import pytest
import yaml

from jupysched.adapters.agent_attempt import environment
from jupysched.adapters.cpu_slots import cpu_slots, this_node
from jupysched.adapters.gpu_watch import Watch, changes, foreign_sentence
from jupysched.adapters.nvml_probe import NvmlProbe
from jupysched.adapters.processes import Whose, describe_process
from jupysched.core.events import Event, GpuDrained, GpuForeign, GpuRestored, NodeJoined
from jupysched.core.fold import fold
from jupysched.core.resources import GpuId, GpuKind, NodeName
from jupysched.core.state import State
from jupysched.ports import GpuSample
from tests.adapters.job_directories import an_order
from tests.cases import fake_nvml

CASES = Path(__file__).parents[1] / "cases"


class Machine:
    """NVML as a case has it, and a probe on it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._before = dict(vars(pynvml))
        self.released = threading.Event()
        #: what hangs, hangs until the test is over; no test waits 20 seconds
        monkeypatch.setattr(fake_nvml, "time", SimpleNamespace(sleep=lambda seconds: self.released.wait()))
        self.now = 1000.0
        self.probe = NvmlProbe(node="node0", patience_s=0.5, clock=lambda: self.now)

    def be(self, fixture: dict[str, Any]) -> None:
        fake_nvml.install(fixture)

    def sample(self) -> Sequence[GpuSample]:
        """A fresh reading."""
        self.now += 1
        return self.probe.sample(patience_s=5)

    def close(self) -> None:
        self.released.set()
        self.probe.close()
        for name, value in self._before.items():
            setattr(pynvml, name, value)


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    machine = Machine(monkeypatch)
    yield machine
    machine.close()


def case(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    return loaded


def watched(
    samples: Sequence[Sequence[GpuSample]], describe: Callable[[int], Whose], *, ours: Sequence[int] = ()
) -> list[Event]:
    """What these readings change, one after the other."""
    watch: Watch = {}
    events: list[Event] = []
    for reading in samples:
        watch, told = changes(watch, reading, lambda pid: pid in ours, describe)
        events += told
    return events


def test_E01_no_library_means_no_gpus_one_quiet_sentence_and_labelled_slots(
    nvml: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    this = case("E01")
    nvml.be(this["fixture"]["nvml"])
    assert this["expect"]["monitor"]["gpus"] == len(nvml.probe.inventory()) == len(nvml.sample())
    assert "No NVIDIA driver was found" in nvml.probe.problem
    assert "\n" not in nvml.probe.problem
    assert caplog.records == []
    assert [slot.label for slot in cpu_slots(NodeName("node0"), 2)] == ["CPU slot 0", "CPU slot 1"]


def test_E03_mig_devices_are_listed_as_what_they_are(nvml: Machine) -> None:
    this = case("E03")
    nvml.be(this["fixture"]["nvml"])
    gpus = nvml.probe.inventory()
    parts = this["fixture"]["nvml"]["devices"][0]["mig_devices"]
    assert this["expect"]["monitor"]["slots"] == len(gpus)
    assert [(part["uuid"], GpuKind.MIG, part["name"], part["mem"][0]) for part in parts] == [
        (gpu.id, gpu.kind, gpu.name, gpu.memory_bytes) for gpu in gpus
    ]
    assert [gpu.label for gpu in gpus] == ["MIG 0", "MIG 1"]


def test_E03_what_a_mig_device_cannot_tell_is_not_0(nvml: Machine) -> None:
    nvml.be(case("E03")["fixture"]["nvml"])
    nvml.probe.inventory()
    told = [(s.utilization_percent, s.temperature_c, s.power_w, s.memory_used_bytes, s.fault) for s in nvml.sample()]
    assert told == [(None, None, None, 1048576, ""), (None, None, None, 0, "")]


def test_E03_a_job_gets_its_mig_device_by_uuid(nvml: Machine) -> None:
    nvml.be(case("E03")["fixture"]["nvml"])
    second = nvml.probe.inventory()[1]
    order = an_order(Path("/nowhere"), [second], job=1)
    assert environment(order)["CUDA_VISIBLE_DEVICES"] == "MIG-aaaaaaaa-0000-0000-0000-000000000002"


def test_E05_what_wsl_does_not_know_is_na_and_holds_no_gpu_back(nvml: Machine) -> None:
    this = case("E05")
    nvml.be(this["fixture"]["nvml"])
    assert this["expect"]["monitor"]["gpus"] == len(nvml.probe.inventory())
    [sample] = nvml.sample()
    assert (sample.utilization_percent, sample.power_w, sample.fault) == (None, None, "")
    assert sample.processes == {4294967295: None}
    sentence = foreign_sentence(4294967295, None, describe_process(4294967295, otherwise=nvml.probe.process_name))
    assert "name unknown" in sentence
    assert "memory n/a" in sentence
    # Every process on WSL has this number, ours too: it says nothing about whose it is.
    assert watched([[sample], [sample], [sample]], describe_process) == []


def test_E06_a_pid_of_another_namespace_is_attributed_to_nobody_here(nvml: Machine) -> None:
    this = case("E06")
    nvml.be(this["fixture"]["nvml"])
    assert this["expect"]["monitor"]["gpus"] == len(nvml.probe.inventory())
    [sample] = nvml.sample()
    # Process 1 of this namespace has no GPU open, so NVML's process 1 is another one.
    events = watched(
        [[sample], [sample]],
        lambda pid: describe_process(pid, otherwise=nvml.probe.process_name, has_gpu=lambda pid: False),
    )
    [event] = events
    assert isinstance(event, GpuForeign)
    assert event.sentences == (
        "PID 1 (name unknown, of another container or hidden from us, 1.0 GiB)",
        "PID 3999999 (name unknown, of another container or hidden from us, under 1 MiB)",
    )


def test_E08_gpus_are_known_by_uuid_and_a_missing_one_is_marked_and_comes_back(nvml: Machine) -> None:
    sequence = case("E08")["fixture"]["nvml_sequence"]
    nvml.be(sequence[0])
    assert [gpu.id for gpu in nvml.probe.inventory()] == ["GPU-6a", "GPU-6b"]
    readings = []
    for step in sequence:
        nvml.be(step)
        # A driver that was started anew is asked anew at the next reading.
        readings.append(nvml.sample())
    utilizations = [[(s.gpu, s.utilization_percent) for s in reading] for reading in readings]
    assert utilizations == [
        [("GPU-6a", 1), ("GPU-6b", 2)],
        [("GPU-6a", None), ("GPU-6b", 2)],
        [("GPU-6a", None), ("GPU-6b", None)],
        [("GPU-6a", 1), ("GPU-6b", 2)],
    ]
    faults = [["fault" if s.fault else "" for s in reading] for reading in readings]
    assert faults == [["", ""], ["fault", ""], ["fault", "fault"], ["", ""]]


def test_E08_a_gpu_that_went_and_came_back_is_drained_and_restored_by_uuid(nvml: Machine) -> None:
    sequence = case("E08")["fixture"]["nvml_sequence"]
    nvml.be(sequence[0])
    nvml.probe.inventory()
    readings = []
    for step in [sequence[0], sequence[1], sequence[3], sequence[3]]:
        nvml.be(step)
        readings.append(nvml.sample())
    told = [(type(event), event.gpu, event.cause) for event in watched(readings, describe_process)]
    assert told == [(GpuDrained, "GPU-6a", "health"), (GpuRestored, "GPU-6a", "health")]


def test_E10_a_hung_driver_blocks_nobody_and_its_readings_are_marked(nvml: Machine) -> None:
    this = case("E10")["fixture"]["nvml"]
    nvml.be({"devices": [{**this["devices"][0], "delay_s": 0}]})
    nvml.probe.inventory()
    [before] = nvml.sample()
    nvml.be(this)
    nvml.now += 1
    at_once = nvml.probe.sample()
    nvml.now += 60
    [later] = nvml.probe.sample()
    assert ([before], before.at) == (list(at_once), later.at)
    assert later.utilization_percent is None
    assert later.fault == "The driver has not answered for 60 seconds."
    assert [GpuDrained] == [type(event) for event in watched([at_once, [later]], describe_process)]


def test_E10_a_driver_that_hangs_from_the_start_is_no_gpu_and_one_sentence(nvml: Machine) -> None:
    nvml.be(case("E10")["fixture"]["nvml"])
    assert nvml.probe.inventory() == ()
    assert "has not answered" in nvml.probe.problem
    assert nvml.probe.sample() == ()


def test_E11_a_gpu_that_somebody_else_uses_is_named_and_not_handed_out(nvml: Machine) -> None:
    this = case("E11")
    nvml.be(this["fixture"]["nvml"])
    gpus = nvml.probe.inventory()
    [sample] = nvml.sample()
    events = watched([[sample], [sample]], lambda pid: Whose(name="python3", user="ann"))
    state = State()
    node = this_node(NodeName("node0"), gpus)
    for event in (NodeJoined(at=0.0, node=node, gpus=tuple(gpus)), *events):
        fold(state, event)
    assert [(False, ("PID 2 (python3, user ann, 21.3 GiB)",))] == [
        (gpu.is_usable, gpu.foreign) for gpu in state.gpus.values()
    ]
    assert state.gpus[GpuId("GPU-8")].drains == {}


def test_E11_our_own_jobs_hold_no_gpu_back(nvml: Machine) -> None:
    nvml.be(case("E11")["fixture"]["nvml"])
    nvml.probe.inventory()
    [sample] = nvml.sample()
    assert watched([[sample]] * 3, describe_process, ours=[2]) == []
