"""The probe on a real NVML library whose cards are not there: what links carry, errors that the driver reports, MIG devices."""

import ctypes
import gc
from collections.abc import Iterator, Sequence

import pynvml
import pytest

from jupysched.adapters.agent_attempt import environment
from jupysched.adapters.cpu_slots import this_node
from jupysched.adapters.gpu_watch import Watch, changes
from jupysched.adapters.nvml_probe import NvmlProbe
from jupysched.adapters.nvml_throughput import ThroughputReader
from jupysched.adapters.processes import describe_process
from jupysched.core.decide import decide
from jupysched.core.events import Event, GpuDrained, Granted, NodeJoined, Submitted
from jupysched.core.fold import fold
from jupysched.core.job import JobId, JobSpec, UserName
from jupysched.core.resources import GpuId, GpuKind, NodeName, Request
from jupysched.core.state import State
from jupysched.ports import GpuSample, StartOrder
from jupysched.testing.clock import FakeClock
from tests.fakenvml.machine import FakeMachine
from tests.waiting import eventually

GIB = 1 << 30


class Room:
    """A machine with two cards, and a probe on its library."""

    def __init__(self, machine: FakeMachine) -> None:
        self.machine = machine
        self.clock = FakeClock()
        self.probe = NvmlProbe(node="node0", clock=self.clock.now)

    def sample(self) -> Sequence[GpuSample]:
        """A fresh reading, a second later."""
        self.clock.advance(1)
        return self.probe.sample(patience_s=10)

    def set(self, index: int, **values: int) -> None:
        # No reference to a card may outlive the machine's map.
        for name, value in values.items():
            setattr(self.machine.gpus[index], name, value)

    def carried(self) -> list[tuple[float | None, ...]]:
        """PCIe in and out, NVLink in and out, of each card."""
        return [
            (s.pcie_rx_bytes_per_s, s.pcie_tx_bytes_per_s, s.nvlink_rx_bytes_per_s, s.nvlink_tx_bytes_per_s)
            for s in self.sample()
        ]


@pytest.fixture(scope="module")
def two_cards() -> Iterator[FakeMachine]:
    made = FakeMachine(2)
    yield made
    gc.collect()
    made.close()


@pytest.fixture
def room(two_cards: FakeMachine, monkeypatch: pytest.MonkeyPatch) -> Iterator[Room]:
    two_cards.restore()
    for name, value in two_cards.environ.items():
        monkeypatch.setenv(name, value)
    library = ctypes.CDLL(str(two_cards.folder / "libnvidia-ml.so.1"))
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    made = Room(two_cards)
    yield made
    made.probe.close()


def told(readings: Sequence[Sequence[GpuSample]]) -> list[Event]:
    watch: Watch = {}
    events: list[Event] = []
    for reading in readings:
        watch, more = changes(watch, reading, lambda pid: True, describe_process)
        events += more
    return events


def test_what_pcie_and_nvlink_carry_is_told_in_bytes_a_second(room: Room) -> None:
    room.set(0, pcie_rx_kib=3000, pcie_tx_kib=500, nvlink_rx_kib=10_000, nvlink_tx_kib=50_000)
    room.probe.inventory()
    # A counter is no rate yet.
    eventually(lambda: room.carried()[0][0] is not None, what="the first round")
    before = room.carried()[0]
    assert before[:2] == (3000 * 1024, 500 * 1024)

    def rates() -> bool:
        room.set(0, nvlink_rx_kib=room.machine.gpus[0].nvlink_rx_kib + 2000, nvlink_tx_kib=90_000_000)
        carried = room.carried()[0]
        return carried[2] is not None and carried[2] > 0 and carried[3] is not None

    eventually(rates, what="rates of NVLink")


def test_what_a_card_does_not_carry_or_tell_is_na_and_harms_no_other(room: Room) -> None:
    room.set(0, unsupported=0b011000)
    room.set(1, pcie_rx_kib=7, nvlinks=0)
    room.probe.inventory()
    eventually(lambda: room.carried()[1][0] == 7 * 1024, what="the second card's PCIe")
    assert room.carried()[0] == (None, None, None, None)
    assert room.carried()[1][2:] == (None, None)
    assert [s.fault for s in room.sample()] == ["", ""]


def test_a_pcie_counter_that_hangs_is_na_and_no_fault_of_the_card(room: Room) -> None:
    room.set(0, pcie_rx_kib=7, util_gpu=80)
    room.probe.inventory()
    eventually(lambda: room.carried()[0][0] is not None, what="the first round")
    # For the time of this test it does not come back.
    room.set(0, pcie_delay_ms=1500)
    room.sample()
    room.clock.advance(10)
    samples = room.sample()
    assert samples[0].pcie_rx_bytes_per_s is None
    assert (80, "") == (samples[0].utilization_percent, samples[0].fault)
    assert told([samples]) == []
    room.set(0, pcie_delay_ms=0)
    eventually(lambda: room.carried()[0][0] is not None, what="its answers again")


def test_a_round_that_is_under_way_is_not_asked_for_again() -> None:
    reader = ThroughputReader(clock=lambda: 0.0)
    asked: list[int] = []

    class Nvml:
        def nvmlDeviceGetPcieThroughput(self, handle: int, counter: int) -> int:
            asked.append(handle)
            return 1

    reader.ask(Nvml(), {})
    assert reader.is_idle.is_set()
    reader.ask(Nvml(), {GpuId("G"): 5})
    reader.is_idle.wait(10)
    assert asked == [5, 5]
    assert reader.latest(GpuId("G")).pcie_tx == 1024
    reader.close()


@pytest.mark.parametrize("xid", [48, 63, 64, 74, 79, 94, 95])
def test_an_error_of_the_hardware_drains_the_card_with_a_sentence(room: Room, xid: int) -> None:
    room.probe.inventory()
    first = room.sample()
    room.machine.report(1, xid)
    second = room.sample()
    assert [(), (xid,)] == [s.xids for s in second]
    [drained] = told([first, second, second, room.sample()])
    assert isinstance(drained, GpuDrained)
    assert (room.machine.uuid(1), f"xid {xid}") == (drained.gpu, drained.cause)
    assert drained.sentence.startswith(f"GPU 1 reported XID {xid} (")
    assert "jupysched drain --restore" in drained.sentence


@pytest.mark.parametrize("xid", [13, 31, 43, 45, 999])
def test_an_error_of_a_program_is_told_and_drains_nothing(room: Room, xid: int) -> None:
    room.probe.inventory()
    room.machine.report(0, xid)
    samples = room.sample()
    assert [(xid,), ()] == [s.xids for s in samples]
    assert told([samples]) == []


def test_errors_from_before_we_listened_and_errors_told_once_are_not_told_again(room: Room) -> None:
    room.machine.report(0, 79)
    room.probe.inventory()
    assert [(), ()] == [s.xids for s in room.sample()]
    room.machine.report(0, 13)
    room.machine.report(0, 43)
    assert [(13, 43), ()] == [s.xids for s in room.sample()]
    assert [(), ()] == [s.xids for s in room.sample()]


def test_a_card_that_fell_off_the_bus_still_says_so(room: Room) -> None:
    room.probe.inventory()
    room.sample()
    room.machine.report(1, 79)
    room.set(1, lost=1)
    sample = room.sample()[1]
    assert ((79,), "GPU 1 is lost: it has fallen off the bus.") == (sample.xids, sample.fault)


def test_a_card_that_reports_no_errors_is_read_all_the_same(room: Room) -> None:
    room.set(0, unsupported=0b100000, util_gpu=12)
    room.probe.inventory()
    room.machine.report(0, 79)
    room.machine.report(1, 31)
    samples = room.sample()
    assert [((), 12), ((31,), 0)] == [(s.xids, s.utilization_percent) for s in samples]


def test_mig_devices_are_gpus_of_their_size_from_nvml_to_the_job(room: Room) -> None:
    small, large = room.machine.split(0, 10, 40)
    gpus = room.probe.inventory()
    assert [(small, GpuKind.MIG, 10 * GIB), (large, GpuKind.MIG, 40 * GIB), (room.machine.uuid(1), GpuKind.GPU, 80 * GIB)] == [
        (gpu.id, gpu.kind, gpu.memory_bytes) for gpu in gpus
    ]  # fmt: skip
    assert [s.memory_used_bytes for s in room.sample()][:2] == [8 << 20, 8 << 20]
    state = State()
    asked = {1: Request(gpu_type="MIG 10gb"), 2: Request(gpu_type="mig", gpu_memory_bytes=40 * GIB)}
    fold(state, NodeJoined(at=0.0, node=this_node(NodeName("node0"), gpus), gpus=tuple(gpus)))
    for job, request in asked.items():
        spec = JobSpec(user=UserName("ann"), uid=1, name="n", directory="/nowhere", request=request)
        fold(state, Submitted(at=float(job), job=JobId(job), spec=spec))
    seen = {}
    for action in decide(state, now=3.0).actions:
        fold(state, Granted(at=3.0, job=action.job, attempt=action.attempt, allocation=action.allocation))  # type: ignore[union-attr]
        granted = tuple(state.gpus[g] for g in action.allocation.gpus)  # type: ignore[union-attr]
        order = StartOrder(job=action.job, attempt=1, directory="/nowhere", uid=1, gpus=granted)
        seen[int(action.job)] = environment(order)["CUDA_VISIBLE_DEVICES"]
    assert seen == {1: small, 2: large}


def test_an_error_of_one_mig_device_drains_that_one_and_one_of_the_card_drains_all(room: Room) -> None:
    small, large = room.machine.split(0, 10, 40)
    room.probe.inventory()
    room.sample()
    room.machine.report(0, 94, instance=2)
    assert [large] == [event.gpu for event in told([room.sample()]) if isinstance(event, GpuDrained)]
    room.machine.report(0, 95)
    assert [small, large] == [event.gpu for event in told([room.sample()]) if isinstance(event, GpuDrained)]
