"""The past as the daemon keeps and tells it: readings, who held what, what came of it, and on whose job an error fell."""

import os
from pathlib import Path

import pytest

from jupysched.adapters.sample_store import SampleStore
from jupysched.core.events import GpuDrained
from jupysched.core.job import Exit
from jupysched.core.resources import GpuId
from jupysched.daemon.auth import Person
from jupysched.daemon.metering import IDLE_AFTER_S
from jupysched.daemon.recording import Recorder
from jupysched.daemon.rollup import METRICS
from jupysched.daemon.views import gpu_record
from jupysched.ports import GpuSample
from jupysched.wire import requests as ask
from jupysched.wire.records import RequestRecord
from jupysched.wire.samples import SamplesRecord, UsageReport
from tests.daemon.scripted import ADMIN, BOB, House

ME = Person(uid=os.getuid(), name="me", is_admin=False)
GIB = 1 << 30


@pytest.fixture
async def house() -> House:
    return await House().open()


def submit(house: House, tmp_path: Path, *, gpus: int = 1, name: str = "resnet", memory: int | None = None) -> int:
    directory = tmp_path / f"job-{len(house.loop.state.jobs)}"
    directory.mkdir()
    request = RequestRecord(gpus=gpus, gpu_memory_bytes=memory)
    [number] = house.api.serve(
        ME, ask.Submit(jobs=[ask.SpecRecord(name=name, directory=str(directory), request=request)])
    )
    house.cycle()
    house.say(number, "running")
    return int(number)


def end(house: House, job: int, *, code: int = 0) -> None:
    house.say(job, "ended", exit_=Exit(code=code, outcome="ok" if code == 0 else "error"))


def reading(house: House, gpu: str, **values: object) -> None:
    house.recorder.take([GpuSample(gpu=GpuId(gpu), at=house.clock.now(), **values)])  # type: ignore[arg-type]


def run(house: House, seconds: int, *, gpu: str = "G0", **values: object) -> None:
    """Read a GPU once a second."""
    for _ in range(seconds):
        house.clock.advance(1)
        reading(house, gpu, **values)


def samples(house: House, back_s: float, **wanted: object) -> SamplesRecord:
    found: SamplesRecord = house.api.serve(BOB, ask.Samples(since=house.clock.now() - back_s, **wanted))  # type: ignore[arg-type]
    return found


def report(house: House) -> UsageReport:
    found: UsageReport = house.api.serve(BOB, ask.UsageReport(days=2))
    return found


async def test_readings_are_told_thinned_and_only_what_was_told(house: House) -> None:
    for second in range(120):
        run(house, 1, utilization_percent=float(second), pcie_rx_bytes_per_s=1e9)
    fine, coarse = samples(house, 30.5), samples(house, 120, most=12)
    track = fine.tracks[0]
    assert (track.gpu, track.mean["utilization"], set(track.mean)) == (
        "G0", [float(s) for s in range(89, 119)], {"utilization", "pcie_rx"},
    )  # fmt: skip
    assert fine.tracks[1].at == []
    assert coarse.step_s == 10
    assert len(coarse.tracks[0].at) <= 13
    mean, peak = coarse.tracks[0].mean["utilization"], coarse.tracks[0].peak["utilization"]
    assert all(
        m is not None and p is not None and p - m == pytest.approx(4.5)
        for m, p in list(zip(mean, peak, strict=True))[1:]
    )


async def test_a_reading_that_came_twice_is_kept_once(house: House) -> None:
    sample = GpuSample(gpu=GpuId("G0"), at=5.0, utilization_percent=50.0, xids=(31,))
    for _ in range(3):
        house.clock.advance(1)
        house.recorder.take([sample])
    run(house, 2, utilization_percent=60.0)
    assert samples(house, 100).tracks[0].mean["utilization"] == [50.0, 60.0]


async def test_more_points_than_are_good_for_anybody_are_not_told(house: House) -> None:
    run(house, 10, utilization_percent=1.0)
    assert samples(house, 1e12, most=10**9).step_s >= 30 * 86_400 / 2000


async def test_who_held_which_gpu_is_told_from_the_grant_to_the_end(house: House, tmp_path: Path) -> None:
    begin = house.clock.now()
    job = submit(house, tmp_path, gpus=2)
    house.clock.advance(100)
    end(house, job)
    house.clock.advance(50)
    other = submit(house, tmp_path, name="bert")
    house.clock.advance(7)
    holds = [(h.gpu, h.job, h.name, h.start - begin, h.end and h.end - begin) for h in samples(house, 500).holds]
    assert sorted(holds) == [
        ("G0", job, "resnet", 0, 100),
        ("G0", other, "bert", 150, None),
        ("G1", job, "resnet", 0, 100),
    ]
    assert [h.job for h in samples(house, 20).holds] == [other]


async def test_a_daemon_that_was_away_finds_what_went_on_and_what_ended(tmp_path: Path) -> None:
    path = tmp_path / "samples.sqlite"

    def reopened(house: House) -> Recorder:
        return Recorder(loop=house.loop, store=SampleStore(path, width=len(METRICS)), boot="this boot")

    house = await House().open()
    house.recorder = reopened(house)
    ends, goes_on = submit(house, tmp_path), submit(house, tmp_path)
    begin = house.clock.now()
    run(house, 30, utilization_percent=50.0)
    house.recorder.close()
    house.recorder = Recorder(loop=house.loop, store=SampleStore(":memory:", width=len(METRICS)), boot="")
    house.clock.advance(1000)
    end(house, ends)
    house.clock.advance(500)
    again = reopened(house)
    again.open()
    house.api._recorder = again  # noqa: SLF001  as the next daemon would have it
    holds = {h.job: (h.start - begin, h.end and h.end - begin) for h in samples(house, 5000).holds}
    assert holds == {ends: (0, 1030), goes_on: (0, None)}
    [day] = report(house).days
    assert day.held_s == 1030 + 1530
    assert len(samples(house, 5000).tracks[0].at) == 4
    again.close()


async def test_use_is_counted_by_user_and_day_in_gpu_seconds(house: House, tmp_path: Path) -> None:
    job = submit(house, tmp_path, gpus=2)
    run(house, 300, utilization_percent=80.0, memory_used_bytes=20 * GIB, memory_total_bytes=80 * GIB)
    end(house, job, code=1)
    [day] = report(house).days
    assert (day.user, day.jobs, day.held_s, day.failed_s) == ("me", 1, 600, 600)
    # One of the two GPUs was read.
    assert day.measured_s == 300
    assert day.busy_s == pytest.approx(240)
    assert day.memory_s == pytest.approx(day.remembered_s * 0.25)
    [use] = report(house).jobs
    assert (use.job, use.failed, use.peak_bytes, use.capacity_bytes) == (job, True, 20 * GIB, 80 * GIB)


async def test_what_a_short_job_used_is_its_own(house: House, tmp_path: Path) -> None:
    for busy in (100.0, 0.0):
        job = submit(house, tmp_path, name=f"busy {busy:.0f}")
        run(house, 3, utilization_percent=busy)
        end(house, job)
    assert {use.name: (use.measured_s, use.busy_s) for use in report(house).jobs} == {
        "busy 100": (3, 3),
        "busy 0": (3, 0),
    }


async def test_a_shared_gpu_counts_by_its_share(house: House, tmp_path: Path) -> None:
    job = submit(house, tmp_path, memory=20 * GIB)
    run(house, 100, utilization_percent=100.0, memory_used_bytes=60 * GIB, memory_total_bytes=80 * GIB)
    end(house, job)
    [day] = report(house).days
    assert day.held_s == pytest.approx(25)
    assert day.measured_s == pytest.approx(25)
    assert day.remembered_s == 0


async def test_a_gpu_that_is_held_and_not_used_is_told_while_it_lasts(house: House, tmp_path: Path) -> None:
    job = submit(house, tmp_path)
    run(house, int(IDLE_AFTER_S) - 30, utilization_percent=0.0)
    assert report(house).idle == []
    run(house, 60, utilization_percent=0.0)
    [idle] = report(house).idle
    assert (idle.label, idle.job, idle.name, idle.user) == ("GPU 0", job, "resnet", "me")
    assert idle.idle_s == IDLE_AFTER_S + 30
    run(house, 30, utilization_percent=90.0)
    assert report(house).idle == []
    assert report(house).days[0].idle_s >= IDLE_AFTER_S


async def test_an_error_is_told_to_the_user_whose_job_it_was(house: House, tmp_path: Path) -> None:
    job, other = submit(house, tmp_path), submit(house, tmp_path)
    remarked: list[int] = []
    house.recorder.on_remark(remarked.extend)
    run(house, 1, xids=(31,), label="GPU 0")
    run(house, 1)
    assert remarked == [job]
    said = house.api.serve(ME, ask.Show(job=job)).why
    assert (
        said
        == "GPU 0 reported XID 31 (GPU memory page fault): the program read or wrote GPU memory that is not its own."
    )
    end(house, job, code=1)
    assert house.api.serve(ME, ask.Show(job=job)).why.endswith(said)
    assert house.api.serve(ME, ask.Show(job=other)).why == ""


async def test_an_error_that_is_read_when_its_job_has_just_ended_is_that_jobs(house: House, tmp_path: Path) -> None:
    job = submit(house, tmp_path)
    end(house, job, code=1)
    house.clock.advance(2)
    reading(house, "G0", xids=(13,), label="GPU 0")
    assert "XID 13" in house.api.serve(ME, ask.Show(job=job)).why
    house.clock.advance(100)
    reading(house, "G0", xids=(43,), label="GPU 0")
    assert "XID 43" not in house.api.serve(ME, ask.Show(job=job)).why


async def test_an_error_of_the_hardware_outlives_daemon_and_node_until_an_admin_lifts_it(house: House) -> None:
    house.loop.node([GpuDrained(at=1.0, gpu=GpuId("G1"), cause="xid 79", sentence="GPU 1 reported XID 79.")])
    run(house, 1, gpu="G1", xids=(79,), label="GPU 1")
    # The node joins anew, as after a restart of the daemon.
    await house.cluster.start(heard=house.loop.heard, node=house.loop.node)
    assert house.loop.state.gpus[GpuId("G1")].is_usable
    again = Recorder(loop=house.loop, store=house.store, boot="this boot")
    again.open()
    again.take([])
    assert "XID 79 (GPU has fallen off the bus)" in house.loop.state.gpus[GpuId("G1")].drains["xid 79"]
    house.loop.on_change(again.changed)
    house.api.serve(ADMIN, ask.Drain(gpus=["G1"], restore=True))
    again.take([])
    assert house.loop.state.gpus[GpuId("G1")].is_usable
    elsewhere = Recorder(loop=house.loop, store=house.store, boot="next boot")
    elsewhere.open()
    elsewhere.take([])
    assert house.loop.state.gpus[GpuId("G1")].is_usable


async def test_what_links_carry_is_in_the_record_and_what_is_not_told_is_unknown(house: House) -> None:
    gpu = house.loop.state.gpus[GpuId("G0")]
    told = gpu_record(
        house.loop.state,
        gpu,
        GpuSample(gpu=gpu.id, at=1.0, pcie_rx_bytes_per_s=1.0, pcie_tx_bytes_per_s=2.0, nvlink_rx_bytes_per_s=3.0),
    )
    assert (told.pcie_rx_bytes_per_s, told.pcie_tx_bytes_per_s) == (1.0, 2.0)
    assert (told.nvlink_rx_bytes_per_s, told.nvlink_tx_bytes_per_s) == (3.0, None)
