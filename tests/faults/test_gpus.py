"""The whole product on eight GPUs that are not there: real daemon, real dask-cuda, real kernel and jobs, a fake NVML."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched.client import Client
from jupysched.wire.records import GpuRecord, JobRecord
from tests.cases.notebook import Notebook
from tests.fakenvml.machine import FakeMachine
from tests.faults.on_gpus import house_with_gpus, usable_gpus
from tests.faults.standing import CELL, LINES, end_hard, processes_with, text_of, wait_for_end, wait_for_lines
from tests.waiting import eventually

pytestmark = [
    pytest.mark.leaky("one daemon with eight Dask workers lives for the whole file"),
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("gpus"),
]
SEES = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'], os.environ.get('OMP_NUM_THREADS'))"


@pytest.fixture(scope="module")
def machine() -> Iterator[FakeMachine]:
    fake = FakeMachine(8)
    yield fake
    fake.close()


@pytest.fixture(scope="module")
def house(machine: FakeMachine) -> Iterator[Path]:
    """A home whose daemon finds the GPUs, with every agent there."""
    with house_with_gpus(8, machine.environ) as home:
        yield home


@pytest.fixture(scope="module")
def open_notebook(house: Path) -> Iterator[Notebook]:
    with Notebook("gpus") as opened:
        opened.run("%load_ext jupysched")
        yield opened


@pytest.fixture
def notebook(open_notebook: Notebook) -> Notebook:
    """A notebook on a machine whose GPUs are all free and well."""
    eventually(lambda: usable() == set(range(8)), within_s=90, what="all GPUs well")
    return open_notebook


def gpus() -> list[GpuRecord]:
    with Client() as client:
        return client.gpus()


def usable() -> set[int]:
    return {g.index for g in usable_gpus()}


def submit(notebook: Notebook, cell: str, options: str = "") -> int:
    seen = notebook.run(f"%%gpujob {options}\n{cell}", allow_stdin=True)
    assert seen.card is not None, seen.error
    return int(seen.card["id"])


def job_of(number: int) -> JobRecord:
    with Client() as client:
        return client.job(number)


@pytest.mark.parametrize("wide", [1, 2, 4, 8])
def test_a_gang_sees_exactly_its_gpus_by_uuid_and_nothing_of_the_dask_worker(
    notebook: Notebook, machine: FakeMachine, wide: int
) -> None:
    job = wait_for_end(submit(notebook, SEES, f"--gpus {wide}"))
    assert "succeeded" == job.state
    seen, threads = text_of(job).split()
    assert job.gpu_ids == seen.split(",")
    assert wide == len(set(job.gpu_ids) & {machine.uuid(i) for i in range(8)})
    assert "None" == threads


def test_more_gpus_than_there_are_are_refused_at_once(notebook: Notebook) -> None:
    seen = notebook.run("%%gpujob --gpus 9\n1", allow_stdin=True)
    assert seen.error is not None
    assert ("TooManyGpus", True) == (seen.error["ename"], "largest node has 8" in seen.error["evalue"])


def test_gangs_that_overlap_never_share_a_gpu(notebook: Notebook) -> None:
    numbers = [submit(notebook, "import time; time.sleep(0.5)", f"--gpus {wide}") for wide in (4, 2, 4, 2, 8, 1)]
    jobs = [wait_for_end(n) for n in numbers]
    assert ["succeeded"] * 6 == [j.state for j in jobs]
    for a in jobs:
        for b in jobs:
            if a.id < b.id and set(a.gpu_ids) & set(b.gpu_ids):
                assert min(a.ended_at or "", b.ended_at or "") <= max(a.started_at or "", b.started_at or "")


def test_a_gpu_used_by_somebody_else_is_not_handed_out_until_it_is_free_again(
    notebook: Notebook, machine: FakeMachine
) -> None:
    machine.use(2, 1, 3 << 30)
    eventually(lambda: usable() == set(range(8)) - {2}, within_s=30, what="GPU 2 left out")
    assert "PID 1" in gpus()[2].foreign[0]
    job = wait_for_end(submit(notebook, SEES, "--gpus 7"))
    assert machine.uuid(2) not in job.gpu_ids
    waiting = submit(notebook, SEES, "--gpus 8")
    assert "pending" == job_of(waiting).state
    machine.leave(2)
    assert "succeeded" == wait_for_end(waiting).state


def test_a_gpu_that_is_lost_is_drained_with_a_reason_and_other_jobs_go_on(
    notebook: Notebook, machine: FakeMachine
) -> None:
    number = submit(notebook, CELL)
    with Client() as client:
        job = wait_for_lines(client, number)
    lost = next(i for i in range(8) if machine.uuid(i) not in job.gpu_ids)
    machine.gpus[lost].lost = 1
    eventually(lambda: lost not in usable(), within_s=30, what="the lost GPU drained")
    assert gpus()[lost].drained
    job = wait_for_end(number)
    assert ("succeeded", LINES) == (job.state, text_of(job).count("\n"))
    other = wait_for_end(submit(notebook, SEES, "--gpus 7"))
    assert machine.uuid(lost) not in other.gpu_ids
    machine.gpus[lost].lost = 0


def test_an_error_of_a_program_is_told_to_its_user_and_its_gpu_goes_on(
    notebook: Notebook, machine: FakeMachine
) -> None:
    number = submit(notebook, CELL)
    with Client() as client:
        job = wait_for_lines(client, number)
    held = next(i for i in range(8) if machine.uuid(i) in job.gpu_ids)
    machine.report(held, 31)
    said = f"GPU {held} reported XID 31 (GPU memory page fault)"
    eventually(lambda: said in job_of(number).why, within_s=20, what="the sentence of XID 31")
    assert "succeeded" == wait_for_end(number).state
    assert said in job_of(number).why
    assert usable() == set(range(8))


def test_an_error_of_the_hardware_drains_its_gpu_until_an_admin_says_otherwise(
    house: Path, notebook: Notebook, machine: FakeMachine
) -> None:
    machine.report(3, 79)
    eventually(lambda: 3 not in usable(), within_s=20, what="GPU 3 drained")
    assert gpus()[3].drained.startswith("GPU 3 reported XID 79 (GPU has fallen off the bus)")
    # A daemon that starts anew would hear nothing of it from the driver.
    end_hard(int((house / "daemon.lock").read_text(encoding="ascii")))
    eventually(lambda: usable() == set(range(8)) - {3}, within_s=120, what="all but GPU 3 back")
    assert "XID 79" in gpus()[3].drained
    with Client() as client:
        client.drain(["3"], restore=True)
    eventually(lambda: usable() == set(range(8)), within_s=20, what="GPU 3 in use again")


def test_what_nvml_does_not_support_is_shown_as_unknown_never_as_0(notebook: Notebook) -> None:
    for gpu in gpus():
        assert gpu.memory_total_bytes
        assert 0 != gpu.power_limit_w


@pytest.mark.parametrize("part", ["worker", "nanny and worker", "daemon"])
def test_a_job_outlives_its_dask(house: Path, notebook: Notebook, part: str) -> None:
    number = submit(notebook, CELL, "--gpus 2")
    with Client() as client:
        job = wait_for_lines(client, number)
    if part == "daemon":
        end_hard(int((house / "daemon.lock").read_text(encoding="ascii")))
    else:
        workers = processes_with("spawn_main", house)
        assert len(workers) >= 8
        for pid in workers if part == "nanny and worker" else workers[:4]:
            if os.path.exists(f"/proc/{pid}"):
                end_hard(pid)
    job = wait_for_end(number)
    assert ("succeeded", 1) == (job.state, job.attempt)
    assert "".join(f"line {i}\n" for i in range(LINES)) == text_of(job)
    eventually(lambda: usable() == set(range(8)), within_s=120, what="every agent back")
    assert "succeeded" == wait_for_end(submit(notebook, SEES, "--gpus 8")).state
