"""Every Cluster carries orders and says what became of them: the twin, agents in the daemon, and dask-cuda workers alike."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from jupysched.adapters.local_cluster import LocalCluster
from jupysched.core.events import NodeJoined
from jupysched.testing.cluster import ENDED_WELL, FakeCluster, FakeMachine
from tests.adapters.dask_host import DaskHost
from tests.adapters.job_directories import printed
from tests.adapters.machines import run_directory
from tests.adapters.subject import GRACE, OUTCOMES, Subject, end_launcher
from tests.leaks import temporary_home
from tests.waiting import eventually_async


@pytest.fixture(scope="module")
def dask_home() -> Iterator[Path]:
    with temporary_home() as path:
        yield path


@pytest.fixture(scope="module")
def local_home() -> Iterator[Path]:
    """One launcher for all tests: it takes seconds to warm up."""
    with temporary_home() as path:
        yield path
        asyncio.run(end_launcher(path))


@pytest.fixture(
    params=[
        "twin",
        pytest.param("local", marks=[pytest.mark.leaky, pytest.mark.xdist_group("local")]),
        pytest.param("dask", marks=[pytest.mark.slow, pytest.mark.leaky, pytest.mark.xdist_group("dask")]),
    ]
)
async def subject(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Subject]:
    if request.param == "twin":
        opened = await Subject(FakeCluster(script=lambda order: OUTCOMES[order.name]), home).open()
        yield opened
        await opened.cluster.close()
    elif request.param == "local":
        here = request.getfixturevalue("local_home")
        opened = await Subject(LocalCluster(str(run_directory(here)), slots=2, node="node0"), here).open()
        yield opened
        await opened.cluster.close()
    else:
        host: DaskHost = request.getfixturevalue("dask_host")
        opened = await Subject(host, request.getfixturevalue("dask_home")).open()
        await eventually_async(host.all_usable, within_s=120, what="all agents")
        yield opened
        await opened.cluster.close()


async def test_a_node_and_its_gpus_are_announced(subject: Subject) -> None:
    node = next(event.node for event in subject.events if isinstance(event, NodeJoined))
    assert ("node0", tuple(gpu.id for gpu in subject.gpus)) == (node.name, node.gpus)


async def test_an_attempt_is_heard_running_and_then_ended(subject: Subject) -> None:
    order = await subject.start("ends")
    ended = await subject.until(order, "ended")
    assert (["running", "ended"], ENDED_WELL) == (subject.kinds(order), ended.exit)


async def test_an_error_of_the_cell_is_told(subject: Subject) -> None:
    ended = await subject.until(await subject.start("fails"), "ended")
    assert ("error", "ValueError: no such layer") == (ended.exit.outcome, ended.exit.error)


async def test_a_second_order_for_a_live_attempt_is_answered_running(subject: Subject) -> None:
    order = await subject.start("goes on")
    await subject.until_up(order)
    subject.cluster.order_start(order)
    await eventually_async(lambda: subject.kinds(order) == ["running", "running"])
    subject.cluster.order_stop(order, grace_s=GRACE, nth=1)
    await subject.until(order, "ended")


async def test_an_order_for_an_ended_attempt_runs_nothing_again(subject: Subject) -> None:
    order = await subject.start("ends")
    await subject.until(order, "ended")
    subject.heard.clear()
    subject.cluster.order_start(order)
    ended = await subject.until(order, "ended")
    assert ended.exit == ENDED_WELL
    if not subject.is_twin:
        assert printed(Path(order.directory)) == "hello\n"


async def test_a_stop_order_interrupts(subject: Subject) -> None:
    order = await subject.start("goes on")
    await subject.until_up(order)
    subject.cluster.order_stop(order, grace_s=GRACE, nth=1)
    ended = await subject.until(order, "ended")
    assert (ended.exit.outcome, ended.exit.error) == ("interrupted", "KeyboardInterrupt")


async def test_a_stop_order_with_notice_interrupts_who_does_not_ask_for_it(subject: Subject) -> None:
    order = await subject.start("goes on")
    await subject.until_up(order)
    subject.cluster.order_stop(order, grace_s=(*GRACE, 600.0), nth=1)
    ended = await subject.until(order, "ended")
    assert ended.exit.outcome == "interrupted"


async def test_a_stop_order_that_follows_the_start_order_at_once_is_not_lost(subject: Subject) -> None:
    order = subject.order("goes on")
    subject.cluster.order_start(order)
    subject.cluster.order_stop(order, grace_s=(2.0, 2.0), nth=1)
    ended = await subject.until(order, "ended")
    assert ended.exit.outcome != "ok"


async def test_a_frozen_attempt_does_not_move_until_it_is_thawed_and_can_be_stopped(subject: Subject) -> None:
    order = await subject.start("goes on")
    await subject.until_up(order)
    subject.cluster.order_freeze(order)
    await subject.until_frozen(order, True)
    subject.cluster.order_thaw(order)
    await subject.until_frozen(order, False)
    subject.cluster.order_freeze(order)
    await subject.until_frozen(order, True)
    subject.cluster.order_stop(order, grace_s=GRACE, nth=1)
    ended = await subject.until(order, "ended")
    assert ended.exit.outcome == "interrupted"


async def test_a_second_stop_order_escalates(subject: Subject) -> None:
    order = await subject.start("ignores interrupts")
    await subject.until_up(order)
    for nth in (1, 2, 3):
        subject.cluster.order_stop(order, grace_s=GRACE, nth=nth)
    # Far sooner than the grace of a minute; by SIGTERM, which its shell answers, or by SIGKILL, whichever it met first.
    ended = await subject.until(order, "ended")
    assert ended.exit.outcome != "ok"


async def test_a_stop_order_that_is_only_repeated_escalates_nothing(subject: Subject) -> None:
    order = await subject.start("ignores interrupts")
    await subject.until_up(order)
    for _ in range(3):
        subject.cluster.order_stop(order, grace_s=(600.0, 600.0), nth=1)
    subject.cluster.order_freeze(order)  # comes after them
    await subject.until_frozen(order, True)
    assert subject.kinds(order) == ["running"]
    for nth in (2, 3):
        subject.cluster.order_stop(order, grace_s=GRACE, nth=nth)
    await subject.until(order, "ended")


async def test_an_attempt_that_was_never_started_can_be_stopped_and_never_starts(subject: Subject) -> None:
    order = subject.order("goes on")
    subject.cluster.order_stop(order, grace_s=GRACE, nth=1)
    refused = await subject.until(order, "refused")
    assert refused.sentence == "It was stopped before it started."


async def test_what_cannot_be_started_is_refused_with_a_sentence(subject: Subject) -> None:
    if subject.is_twin:
        subject.cluster._script = lambda order: "cannot run jobs with /no/such/python"
    order = await subject.start("ends", **({} if subject.is_twin else {"executable": "/no/such/python"}))
    refused = await subject.until(order, "refused")
    assert "/no/such/python" in refused.sentence


async def test_a_lost_shim_is_told_and_nothing_runs_again(subject: Subject) -> None:
    order = await subject.start("goes on")
    await subject.until_up(order)
    if subject.is_twin:
        subject.cluster.lose(order)
    else:
        os.kill(json.loads(Path(order.directory, "a1", "shim.json").read_text())["pid"], signal.SIGKILL)
    await subject.until(order, "lost")
    subject.heard.clear()
    subject.cluster.order_start(order)
    await subject.until(order, "lost")
    assert subject.kinds(order) == ["lost"]


async def reopened(subject: Subject) -> Subject:
    """The cluster of the daemon that follows."""
    await subject.cluster.close()
    if subject.is_twin:
        machine: FakeMachine = subject.cluster.machine
        return await Subject(FakeCluster(subject.gpus, machine=machine), subject.home).open()
    if isinstance(subject.cluster, LocalCluster):
        return await Subject(LocalCluster(str(run_directory(subject.home)), slots=2, node="node0"), subject.home).open()
    await asyncio.to_thread(subject.cluster.end)
    again = await Subject(subject.cluster, subject.home).open()
    await eventually_async(subject.cluster.all_usable, within_s=120)
    return again


async def test_the_cluster_that_follows_adopts_what_runs_and_what_ended_meanwhile(subject: Subject) -> None:
    goes_on, ends = await subject.start("goes on"), subject.order("ends")
    await subject.until_up(goes_on)
    subject.cluster.order_start(ends)
    await subject.until(ends, "ended")
    follower = await reopened(subject)
    for order in (goes_on, ends):
        follower.cluster.adopt(order)
    await follower.until(goes_on, "running")
    ended = await follower.until(ends, "ended")
    follower.cluster.order_stop(goes_on, grace_s=GRACE, nth=1)
    stopped = await follower.until(goes_on, "ended")
    assert (ENDED_WELL, "interrupted") == (ended.exit, stopped.exit.outcome)
    if not isinstance(subject.cluster, DaskHost):
        await follower.cluster.close()


async def test_an_order_that_was_journalled_and_never_arrived_is_started_on_adoption(subject: Subject) -> None:
    order = subject.order("ends")
    subject.cluster.adopt(order)
    ended = await subject.until(order, "ended")
    assert ended.exit == ENDED_WELL
