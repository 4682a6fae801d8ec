"""CPU slots are read while jobs hold them, by the processes of the job; GPUs once a second, and an error finds its job first."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from jupysched import spool
from jupysched.adapters.cpu_slots import cpu_slots
from jupysched.adapters.slot_meter import SlotMeter, Tree
from jupysched.core.resources import GpuId, NodeName
from jupysched.daemon import sampling
from jupysched.daemon.auth import Person
from jupysched.daemon.sampling import Sampling, SlotSampling
from jupysched.ports import GpuSample
from jupysched.testing.probe import FakeProbe
from jupysched.wire import requests as ask
from tests.daemon.scripted import House
from tests.waiting import eventually, eventually_async

ME = Person(uid=os.getuid(), name="me", is_admin=False)
#: works until it is told to rest, in a child of a child, holding 60 MB; then rests
WORK = """
import os, sys, threading
if os.fork() == 0:
    ballast, resting = b"x" * 60_000_000, threading.Event()
    threading.Thread(target=lambda: (sys.stdin.readline(), resting.set()), daemon=True).start()
    while not resting.is_set():
        sum(range(1000))
    print("rests", flush=True)
    sys.stdin.readline()
    os._exit(0)
os.wait()
"""


@pytest.fixture
def busy() -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen([sys.executable, "-c", WORK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.communicate("\n\n")


def test_a_slot_is_as_busy_as_the_processes_of_its_job(busy: subprocess.Popen[str]) -> None:
    meter, [slot] = SlotMeter(), cpu_slots(NodeName("n"), 1)
    at = 0.0

    def read() -> GpuSample:
        nonlocal at
        at += 1
        [sample] = meter.read([Tree(busy.pid, (slot,))], at=at)
        return sample

    assert read().utilization_percent is None
    # The clock of the test says a second, the work may have had less or more of it.
    eventually(lambda: (read().utilization_percent or 0) > 0, what="CPU use of a grandchild")
    eventually(lambda: (read().memory_used_bytes or 0) > 60_000_000, what="its memory")
    assert busy.stdin is not None
    assert busy.stdout is not None
    busy.stdin.write("\n")
    busy.stdin.flush()
    assert busy.stdout.readline() == "rests\n"
    read()
    assert read().utilization_percent == 0
    assert (slot.id, slot.label) == (read().gpu, read().label)


def test_slots_of_one_job_share_what_it_uses_and_100_is_a_core(busy: subprocess.Popen[str]) -> None:
    meter, pair = SlotMeter(), cpu_slots(NodeName("n"), 2)
    tree = [Tree(busy.pid, pair)]
    meter.read(tree, at=0.0)

    def both() -> bool:
        first, second = meter.read(tree, at=1e-9 + meter._last[busy.pid][0])  # noqa: SLF001  no time has passed
        return first.utilization_percent == second.utilization_percent == 100.0

    eventually(both, what="more use than there are cores")


def test_a_job_that_has_ended_uses_nothing() -> None:
    meter, [slot] = SlotMeter(), cpu_slots(NodeName("n"), 1)
    ended = subprocess.Popen(["true"])
    ended.wait()
    meter.read([Tree(ended.pid, (slot,))], at=0.0)
    [sample] = meter.read([Tree(ended.pid, (slot,))], at=1.0)
    assert (sample.utilization_percent, sample.memory_used_bytes) == (0, 0)


async def test_slots_are_read_while_a_job_holds_one_and_nothing_runs_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, busy: subprocess.Popen[str]
) -> None:
    monkeypatch.setattr(sampling, "PERIOD_S", 0)
    house = await House(slots=True).open()
    taken: list[Sequence[GpuSample]] = []
    told: list[int] = []
    slot_sampling = SlotSampling(loop=house.loop, take=taken.append, sampled=lambda: told.append(1))
    slot_sampling.start()
    assert slot_sampling._task is None  # noqa: SLF001
    [job] = house.api.serve(ME, ask.Submit(jobs=[ask.SpecRecord(name="n", directory=str(tmp_path))]))
    house.cycle()
    slot_sampling.start()
    attempt = spool.attempt_path(str(tmp_path), 1)
    os.makedirs(attempt)
    spool.write_json(os.path.join(attempt, spool.SHIM), {"pid": busy.pid})
    await eventually_async(lambda: taken and taken[-1], what="a reading")
    assert [(s.gpu, s.label) for s in taken[-1]] == [("S0", "CPU slot 0")]
    assert set(slot_sampling.latest()) == {"S0"}
    assert told
    house.succeed(job)
    await eventually_async(lambda: slot_sampling._task is not None and slot_sampling._task.done(), what="its end")  # noqa: SLF001
    assert slot_sampling.latest() == {}
    slot_sampling.close()


async def test_a_reading_is_taken_before_the_loop_acts_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    house = await House().open()
    gpus = tuple(house.loop.state.gpus.values())
    probe = FakeProbe(gpus, clock=house.clock.now)
    usable_when_taken: list[bool] = []

    def take(samples: Sequence[GpuSample]) -> None:
        usable_when_taken.append(house.loop.state.gpus[GpuId("G0")].is_usable)

    made = Sampling(probe=probe, loop=house.loop, take=take, sampled=lambda: None)  # type: ignore[arg-type]
    probe.readings[GpuId("G0")] = GpuSample(gpu=GpuId("G0"), at=0.0, xids=(79,), label="GPU 0")
    house.clock.advance(1)
    made.start()
    made.close()
    assert usable_when_taken == [True]
    assert house.loop.state.gpus[GpuId("G0")].drains["xid 79"].startswith("GPU 0 reported XID 79")
    assert made.latest()[GpuId("G0")].xids == (79,)


async def test_a_reading_that_could_not_be_taken_is_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "PERIOD_S", 0)
    house = await House().open()
    taken: list[int] = []

    def take(samples: Sequence[GpuSample]) -> None:
        taken.append(len(samples))
        if len(taken) == 1:
            raise RuntimeError("the store is not in order")

    probe = FakeProbe(tuple(house.loop.state.gpus.values()), clock=house.clock.now)
    made = Sampling(probe=probe, loop=house.loop, take=take, sampled=lambda: None)  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        made.start()
    await eventually_async(lambda: len(taken) > 1, what="the next reading")
    made.close()
