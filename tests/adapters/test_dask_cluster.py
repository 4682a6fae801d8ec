"""A real dask-cuda cluster on eight GPUs: the right GPUs for every job, gangs whole, and nothing lost whatever dies."""

import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from jupysched.core.events import GpuDrained
from tests.adapters.dask_host import DaskHost
from tests.adapters.job_directories import LINES, printed
from tests.adapters.subject import GRACE, Subject
from tests.fakenvml.machine import FakeMachine
from tests.leaks import temporary_home
from tests.waiting import eventually_async

pytestmark = [pytest.mark.slow, pytest.mark.leaky, pytest.mark.xdist_group("dask")]

SHOW = """
import json, os
print(json.dumps({
    "gpus": os.environ["CUDA_VISIBLE_DEVICES"].split(","),
    "job": os.environ["JUPYSCHED_JOB"],
    "inherited": sorted(set(os.environ) & {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "LD_LIBRARY_PATH", "RAPIDS_NO_INITIALIZE",
                                           "PYTHONHASHSEED", "DASK_PARENT"}),
    "cpus": len(os.sched_getaffinity(0)),
}))
"""
ALL_LINES = [f"line {n}" for n in range(100)]


@pytest.fixture(scope="module")
def dask_home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture
async def dask(dask_host: DaskHost, dask_home: Path) -> AsyncIterator[Subject]:
    subject = await Subject(dask_host, dask_home).open()
    await eventually_async(dask_host.all_usable, within_s=120, what="all agents")
    yield subject
    await dask_host.close()


def lines_of(directory: str) -> list[str]:
    return printed(Path(directory)).splitlines()


@pytest.mark.parametrize("width", [1, 2, 4, 8])
async def test_a_gang_sees_exactly_its_gpus_by_uuid_in_the_order_granted(dask: Subject, width: int) -> None:
    gpus = dask.gpus[8 - width :][::-1]
    order = await dask.start(SHOW, gpus)
    await dask.until(order, "ended")
    seen = json.loads(printed(Path(order.directory)))
    assert seen == {
        "gpus": [gpu.id for gpu in gpus], "job": str(order.job), "inherited": [], "cpus": os.cpu_count(),
    }  # fmt: skip


async def test_jobs_on_all_gpus_run_at_the_same_time(dask: Subject) -> None:
    orders = [await dask.start("goes on", [gpu]) for gpu in dask.gpus]
    for order in orders:
        await dask.until_up(order)
    shims = dask.cluster.ask("shims")
    for order in orders:
        dask.cluster.order_stop(order, grace_s=GRACE, nth=1)
    for order in orders:
        await dask.until(order, "ended")
    assert len(shims) == len(orders) == 8


async def test_a_worker_that_is_killed_loses_no_attempt_and_no_line(dask: Subject, dask_host: DaskHost) -> None:
    gpus = dask.gpus[2:4]
    order = await dask.start(LINES, gpus)
    await dask.until(order, "running")
    os.kill(dask_host.ask("pids")[gpus[0].id], signal.SIGKILL)
    await eventually_async(lambda: "agent" in dask_host.drains[gpus[0].id], what="the drain")
    ended = await dask.until(order, "ended")
    assert (ended.exit.outcome, lines_of(order.directory)) == ("ok", ALL_LINES)
    await eventually_async(dask_host.all_usable, within_s=60, what="the agent's return")


async def test_a_gang_waits_for_an_agent_that_is_being_started_again(dask: Subject, dask_host: DaskHost) -> None:
    os.kill(dask_host.ask("pids")[dask.gpus[5].id], signal.SIGKILL)
    await eventually_async(lambda: "agent" in dask_host.drains[dask.gpus[5].id])
    order = await dask.start("ends", dask.gpus[4:6])
    ended = await dask.until(order, "ended")
    assert ended.exit.outcome == "ok"
    assert dask_host.all_usable()


async def test_a_nanny_that_is_gone_is_replaced_and_its_attempt_goes_on(dask: Subject, dask_host: DaskHost) -> None:
    order = await dask.start(LINES, dask.gpus[6:7])
    await dask.until(order, "running")
    dask_host.ask("close_nanny", dask.gpus[6].id)
    await eventually_async(lambda: "agent" in dask_host.drains[dask.gpus[6].id])
    ended = await dask.until(order, "ended")
    assert (ended.exit.outcome, lines_of(order.directory)) == ("ok", ALL_LINES)
    await eventually_async(dask_host.all_usable, within_s=60, what="the nanny's successor")


async def test_a_daemon_with_all_its_nannies_that_is_killed_loses_no_attempt_and_no_line(
    dask: Subject, dask_host: DaskHost
) -> None:
    orders = [await dask.start(LINES, [gpu]) for gpu in dask.gpus[:2]]
    for order in orders:
        await dask.until(order, "running")
    dask_host.end(strength=signal.SIGKILL)
    follower = await Subject(dask_host, dask.home).open()
    for order in orders:
        dask_host.adopt(order)
    for order in orders:
        ended = await follower.until(order, "ended")
        assert (ended.exit.outcome, lines_of(order.directory)) == ("ok", ALL_LINES)
    await eventually_async(dask_host.all_usable, within_s=120)


async def test_a_gpu_that_is_lost_is_drained_while_its_job_goes_on_and_restored_when_it_is_back(
    dask: Subject, dask_host: DaskHost, machine: FakeMachine
) -> None:
    order = await dask.start("goes on", dask.gpus[3:4])
    await dask.until_up(order)
    machine.gpus[3].lost = 1
    drains = await eventually_async(lambda: dask_host.drains[dask.gpus[3].id].get("health"), what="the drain")
    assert drains == "GPU 3 is lost: it has fallen off the bus."
    assert dask.kinds(order) == ["running"]
    assert {gpu for gpu, causes in dask_host.drains.items() if causes} == {dask.gpus[3].id}
    machine.gpus[3].lost = 0
    await eventually_async(dask_host.all_usable, what="its return")
    dask_host.order_stop(order, grace_s=GRACE, nth=1)
    await dask.until(order, "ended")


async def test_uncorrectable_memory_errors_drain_a_gpu(
    dask: Subject, dask_host: DaskHost, machine: FakeMachine
) -> None:
    machine.gpus[1].ecc = 3
    sentence = await eventually_async(lambda: dask_host.drains[dask.gpus[1].id].get("health"))
    machine.gpus[1].ecc = 0
    await eventually_async(dask_host.all_usable)
    assert sentence == "GPU 1 reports 3 uncorrectable memory errors (ECC) since it was last reset."


async def test_a_foreign_process_is_named_and_forgotten_when_it_leaves(
    dask: Subject, dask_host: DaskHost, machine: FakeMachine
) -> None:
    machine.use(4, os.getpid(), 3 << 30)
    sentences = await eventually_async(lambda: dask_host.foreign.get(dask.gpus[4].id))
    machine.leave(4)
    await eventually_async(dask_host.all_usable)
    name = Path(f"/proc/{os.getpid()}/comm").read_text().strip()
    assert sentences == (f"PID {os.getpid()} ({name}, user {_user()}, 3.0 GiB)",)


async def test_a_jobs_own_processes_are_not_foreign(dask: Subject, dask_host: DaskHost, machine: FakeMachine) -> None:
    order = await dask.start("goes on", dask.gpus[7:8])
    await dask.until_up(order)
    shim = json.loads(Path(order.directory, "a1", "shim.json").read_text())
    machine.use(7, shim["job_pid"], 3 << 30)
    machine.use(6, os.getpid(), 1 << 30)
    await eventually_async(lambda: dask_host.foreign.get(dask.gpus[6].id))
    machine.leave(6)
    dask_host.order_stop(order, grace_s=GRACE, nth=1)
    await dask.until(order, "ended")
    machine.leave(7)
    await eventually_async(dask_host.all_usable)
    assert not dask_host.foreign.get(dask.gpus[7].id)


async def test_the_daemon_imports_from_no_folder_that_another_user_may_have_made(
    dask: Subject, dask_host: DaskHost
) -> None:
    """Dask puts its scratch folder first in sys.path, and makes it in /tmp, under a name that anybody can take before."""
    scratch = [folder for folder in dask_host.ask("import_path") if "dask-scratch-space" in folder]
    assert scratch == [folder for folder in scratch if Path(folder).is_relative_to(dask_host.run_dir)]


async def test_a_fault_of_the_plugin_is_told_and_swallowed_by_nobody(dask: Subject, dask_host: DaskHost) -> None:
    dask_host.ask("break_plugin")
    told = await eventually_async(
        lambda: [e for e in dask_host.events if isinstance(e, GpuDrained) and e.cause == "agent-fault"]
    )
    assert "KeyError" in told[0].sentence
    assert dask_host.all_usable()


async def test_a_worker_that_hangs_is_drained_and_its_order_is_carried_out_when_it_is_back(
    dask: Subject, dask_host: DaskHost
) -> None:
    gpu = dask.gpus[5]
    pid = dask_host.ask("pids")[gpu.id]
    os.kill(pid, signal.SIGSTOP)
    order = await dask.start("ends", [gpu])
    sentence = await eventually_async(lambda: dask_host.drains[gpu.id].get("agent"), within_s=30)
    os.kill(pid, signal.SIGCONT)
    await dask.until(order, "ended")
    await eventually_async(dask_host.all_usable, within_s=60)
    assert sentence == "Its agent has not confirmed an order for 10 seconds."


def _user() -> str:
    import pwd

    return pwd.getpwuid(os.getuid()).pw_name
