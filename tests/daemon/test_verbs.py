"""What each verb does, for whom, and what it refuses."""

import os
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.errors import BadDependency, BadRequest, NoSuchJob, NotYours, TooManyGpus, UserError, WrongState
from jupysched.core.job import Exit
from jupysched.core.resources import GpuKind
from jupysched.daemon.auth import Person
from jupysched.wire import requests as ask
from jupysched.wire.records import RequestRecord
from tests.core.builders import asked
from tests.daemon.scripted import ADMIN, BOB, House

ME = Person(uid=os.getuid(), name="me", is_admin=False)


@pytest.fixture
async def house():
    return await House().open()


def spec(tmp_path: Path, **fields) -> ask.SpecRecord:
    gpus = fields.pop("gpus", 1)
    limit = fields.pop("time_limit_s", None)
    return ask.SpecRecord(
        name=fields.pop("name", "x"),
        directory=str(tmp_path),
        request=RequestRecord(gpus=gpus, time_limit_s=limit),
        **fields,
    )


async def test_jobs_are_numbered_from_1_and_start_at_once_where_gpus_are_free(house, tmp_path):
    assert [1, 2, 3] == house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)] * 3))
    house.cycle()
    assert [(1, 1), (2, 1)] == house.orders()
    assert "pending" == house.state_of(3)


async def test_a_job_of_higher_class_goes_first_and_a_gang_is_whole(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2)]))
    house.cycle()
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, priority="low"), spec(tmp_path, gpus=2, priority="high")]))
    house.cycle()
    house.succeed(1)
    assert [(1, 1), (3, 1)] == house.orders()
    assert ["G0", "G1"] == [g.id for g in house.cluster.started[-1].gpus]


async def test_a_gang_on_mig_devices_is_refused_and_one_of_them_is_not(house, tmp_path):
    split = [replace(g, kind=GpuKind.MIG) for g in house.loop.state.gpus.values()]
    node = next(iter(house.loop.state.nodes.values()))
    house.loop.node([ev.NodeJoined(at=1.0, node=node, gpus=tuple(split))])
    with pytest.raises(TooManyGpus, match="one MIG device only"):
        house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2)]))
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=1)]))


async def test_all_jobs_of_a_submission_are_taken_or_none(house, tmp_path):
    with pytest.raises(TooManyGpus, match="3 GPUs asked"):
        house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path), spec(tmp_path, gpus=3)]))
    assert {} == house.loop.state.jobs


@pytest.mark.parametrize(
    ("fields", "error", "said"),
    [
        ({"gpus": 0}, BadRequest, "--gpus is 0"),
        ({"gpus": -1}, BadRequest, "--gpus is -1"),
        ({"time_limit_s": 0.0}, BadRequest, "--time is 0"),
        ({"priority": "urgent"}, BadRequest, "no priority 'urgent'"),
        ({"retries": -1}, BadRequest, "--retries is -1"),
        ({"after": [99]}, BadDependency, "no such job"),
    ],
)
async def test_bad_input_is_named_and_nothing_is_queued(house, tmp_path, fields, error, said):
    with pytest.raises(error, match=said):
        house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, **fields)]))
    assert {} == house.loop.state.jobs


async def test_nobody_submits_from_another_users_directory(house, tmp_path):
    stranger = Person(uid=os.getuid() + 1, name="eve", is_admin=False)
    with pytest.raises(BadRequest, match="not a directory of eve"):
        house.api.serve(stranger, ask.Submit(jobs=[spec(tmp_path)]))


async def test_a_link_to_a_directory_is_not_followed(house, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(BadRequest, match="not a directory of me"):
        house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path / "link")]))


@pytest.mark.parametrize("verb", [ask.Cancel, ask.Hold, ask.Release, ask.Requeue])
async def test_nobody_changes_another_users_job_unless_an_admin(house, tmp_path, verb):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    with pytest.raises(NotYours):
        house.api.serve(BOB, verb(jobs=[1]))
    assert [1] == [j.id for j in house.api.serve(ADMIN, ask.Cancel(jobs=[1]))]
    assert "cancelled_by_admin" == house.api.serve(ME, ask.Show(job=1)).reason


async def test_others_see_that_a_job_is_there_but_not_where_its_files_are(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, origin={"notebook": "secret.ipynb"})]))
    seen = house.api.serve(BOB, ask.Show(job=1))
    assert ("", {}, False) == (seen.directory, seen.origin, seen.mine)


async def test_an_unknown_job_is_named(house):
    with pytest.raises(NoSuchJob, match="no job 5"):
        house.api.serve(ME, ask.Show(job=5))


async def test_cancel_of_a_waiting_job_ends_it_and_of_a_running_one_orders_its_stop(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2), spec(tmp_path)]))
    house.cycle()
    house.say(1, "running")
    house.api.serve(ME, ask.Cancel(jobs=[1, 2]))
    assert ("stopping", "cancelled") == (house.state_of(1), house.state_of(2))
    assert [1] == [o.job for o in house.cluster.stopped]
    house.say(1, "ended", exit_=Exit(signal=15, outcome=None))
    assert "cancelled" == house.state_of(1)


async def test_a_second_cancel_is_sent_on_so_that_it_escalates(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    house.cycle()
    house.say(1, "running")
    house.api.serve(ME, ask.Cancel(jobs=[1]))
    house.api.serve(ME, ask.Cancel(jobs=[1]))
    assert 2 == len(house.cluster.stopped)


async def test_a_cancel_that_is_sent_again_does_not_escalate_the_first_and_stops_what_a_requeue_stopped(
    house, tmp_path
):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)] * 3))
    house.cycle()
    house.say(1, "running")
    house.say(2, "running")
    house.api.serve(ME, ask.Requeue(jobs=[2]))
    for _ in range(2):
        house.api.serve(ME, ask.Cancel(jobs=[1, 2, 3], again=True))
    assert [(2, 1), (1, 1), (2, 2)] == [
        (o.job, nth) for o, nth in zip(house.cluster.stopped, house.cluster.nths, strict=True)
    ]
    house.say(2, "ended", exit_=Exit(signal=15, outcome=None))
    assert ["stopping", "cancelled", "cancelled"] == [house.state_of(number) for number in (1, 2, 3)]


async def test_a_release_that_is_sent_again_is_not_refused_for_what_the_first_did(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, hold=True)]))
    shown = [house.api.serve(ME, ask.Release(jobs=[1], again=True))[0].state for _ in range(2)]
    assert ["pending", "pending"] == shown
    assert 1 == sum(isinstance(fact, ev.ReleaseAsked) for fact in house.journal.events)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (ask.Cancel(jobs=[2, 1, 99]), "no job 99. None of these 3 was changed."),
        (ask.Hold(jobs=[2, 1]), "Job 1 is running; only a pending job can be held. None of these 2 was changed."),
        (ask.Release(jobs=[3, 2]), "Job 2 is pending; only a held job can be released. None of these 2 was changed."),
        (ask.Requeue(jobs=[1, 2]), "Job 2 is pending; it waits already. None of these 2 was changed."),
        (ask.SetPriority(jobs=[2, 1], priority="high"), "Job 1 is running; .* None of these 2 was changed."),
        (ask.Front(jobs=[2, 3]), "Job 3 is held; .* None of these 2 was changed."),
        (ask.Hold(jobs=[2, 4]), "Job 4 belongs to bob. None of these 2 was changed."),
        (ask.Hold(jobs=[1]), "only a pending job can be held.$"),
    ],
)
async def test_all_jobs_that_are_named_change_or_none_does_and_that_is_said(house, tmp_path, request_, said):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2)]))
    house.cycle()
    house.say(1, "running")
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path), spec(tmp_path, hold=True)]))
    bobs = asked(4, user="bob")
    house.loop.record(replace(bobs, spec=replace(bobs.spec, uid=BOB.uid)))
    house.cycle()
    before = len(house.journal.events)
    with pytest.raises(UserError) as refused:
        house.api.serve(ME, request_)
    assert re.search(said, refused.value.sentence)
    assert ([], before) == (house.cluster.stopped, len(house.journal.events))


async def test_no_gpu_is_drained_if_one_that_is_named_is_not_there(house):
    with pytest.raises(BadRequest, match="no GPU '77'. None of these 2 was changed."):
        house.api.serve(ADMIN, ask.Drain(gpus=["0", "77"]))
    assert [{}, {}] == [gpu.drains for gpu in house.loop.state.gpus.values()]


async def test_who_is_named_twice_is_asked_once(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    house.cycle()
    house.say(1, "running")
    assert [1] == [job.id for job in house.api.serve(ME, ask.Cancel(jobs=[1, 1]))]
    assert [1] == house.cluster.nths


async def test_only_what_is_to_go_on_later_is_given_notice_and_a_cancel_then_goes_on_at_once(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path), spec(tmp_path)]))
    house.cycle()
    house.say(1, "running")
    house.say(2, "running")
    house.api.serve(ME, ask.Requeue(jobs=[1]))
    house.api.serve(ME, ask.Cancel(jobs=[2]))
    house.api.serve(ME, ask.Cancel(jobs=[1]))
    assert [(5.0, 5.0, 60.0), (5.0, 5.0), (5.0, 5.0)] == house.cluster.graces


async def test_a_held_job_waits_until_released(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, hold=True)]))
    house.cycle()
    assert [] == house.orders()
    house.api.serve(ME, ask.Release(jobs=[1]))
    house.cycle()
    assert [(1, 1)] == house.orders()


async def test_what_an_admin_held_only_an_admin_releases(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2), spec(tmp_path)]))
    house.cycle()
    house.api.serve(ADMIN, ask.Hold(jobs=[2]))
    with pytest.raises(NotYours, match="held by an admin"):
        house.api.serve(ME, ask.Release(jobs=[2]))


async def test_requeue_gives_an_ended_job_a_new_attempt(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    house.cycle()
    house.succeed(1)
    house.api.serve(ME, ask.Requeue(jobs=[1]))
    house.cycle()
    assert [(1, 1), (1, 2)] == house.orders()


async def test_a_job_moved_to_the_front_stays_there_over_a_restart_and_why_names_who_did_it(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2), *[spec(tmp_path)] * 3]))
    house.cycle()
    shown = house.api.serve(ADMIN, ask.Front(jobs=[4, 3]))
    assert [(4, 1), (3, 2)] == [(job.id, job.position) for job in shown]
    again = await House(house.journal).open()
    record = again.api.serve(ME, ask.Show(job=4))
    assert 1 == record.position
    assert "moved to the front by admin" in record.why


async def test_a_user_moves_own_jobs_ahead_of_own_jobs_alone(house, tmp_path):
    house.loop.record(asked(1, 2, user="bob"), asked(2, user="bob"))
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)] * 2))
    house.cycle()
    house.api.serve(ME, ask.Front(jobs=[4]))
    assert [2, 4, 3] == [job.id for job in house.loop.state.queue()]
    with pytest.raises(NotYours):
        house.api.serve(ME, ask.Front(jobs=[4, 2]))
    with pytest.raises(WrongState, match="starting; only a pending"):
        house.api.serve(ADMIN, ask.Front(jobs=[3, 1]))
    assert [2, 4, 3] == [job.id for job in house.loop.state.queue()]


async def test_wrong_states_are_refused_by_name(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    house.cycle()
    house.succeed(1)
    for request in (ask.Hold(jobs=[1]), ask.Release(jobs=[1]), ask.SetPriority(jobs=[1], priority="high")):
        with pytest.raises(WrongState, match="succeeded"):
            house.api.serve(ME, request)


async def test_a_dry_run_says_when_it_would_start_and_leaves_no_trace(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2)]))
    house.cycle()
    before = len(house.journal.events)
    shown = house.api.serve(ME, ask.DryRun(job=spec(tmp_path, gpus=2)))
    assert (0, "pending", 1) == (shown.id, shown.state, shown.position)
    assert before == len(house.journal.events)
    assert [2] == house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    with pytest.raises(TooManyGpus):
        house.api.serve(ME, ask.DryRun(job=spec(tmp_path, gpus=5)))


async def test_a_dependent_job_starts_after_success_and_is_cancelled_after_failure(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path), spec(tmp_path)]))
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, after=[1]), spec(tmp_path, after=[2])]))
    house.cycle()
    assert [(1, 1), (2, 1)] == house.orders()
    assert "dependency" == house.api.serve(ME, ask.Show(job=3)).reason
    house.succeed(1)
    house.say(2, "ended", exit_=Exit(code=1, outcome="error", error="ValueError"))
    assert (3, 1) in house.orders()
    assert ("cancelled", "dependency") == (house.state_of(4), house.api.serve(ME, ask.Show(job=4)).reason)
    with pytest.raises(BadDependency, match="could never start"):
        house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, after=[2])]))


async def test_a_job_that_fails_by_itself_is_tried_again_as_often_as_it_asked(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, retries=1)]))
    house.cycle()
    house.say(1, "ended", exit_=Exit(code=1, outcome="error"))
    assert [(1, 1), (1, 2)] == house.orders()
    house.say(1, "ended", attempt=2, exit_=Exit(code=1, outcome="error"))
    assert "failed" == house.state_of(1)


async def test_a_job_past_its_time_is_stopped_and_fails_with_that_reason(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, time_limit_s=60.0)]))
    house.cycle()
    house.say(1, "running")
    house.clock.advance(59)
    house.cycle()
    assert [] == house.cluster.stopped
    house.clock.advance(1)
    house.cycle()
    assert [1] == [o.job for o in house.cluster.stopped]
    house.say(1, "ended", exit_=Exit(signal=15))
    assert ("failed", "time_limit") == (house.state_of(1), house.api.serve(ME, ask.Show(job=1)).reason)


async def test_a_drained_gpu_takes_no_job_until_it_is_restored(house, tmp_path):
    with pytest.raises(NotYours):
        house.api.serve(ME, ask.Drain(gpus=["0"]))
    house.api.serve(ADMIN, ask.Drain(gpus=["0"], why="new fan"))
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path), spec(tmp_path)]))
    house.cycle()
    assert [["G1"]] == [[g.id for g in o.gpus] for o in house.cluster.started]
    assert "new fan" == house.api.serve(ME, ask.Gpus())[0].drained
    house.api.serve(ADMIN, ask.Drain(gpus=["GPU 0"], restore=True))
    house.cycle()
    assert 2 == len(house.cluster.started)


async def test_the_list_is_running_then_queued_then_held_then_ended(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    house.cycle()
    house.succeed(1)
    house.api.serve(
        ME,
        ask.Submit(
            jobs=[spec(tmp_path, gpus=2), spec(tmp_path, hold=True), spec(tmp_path), spec(tmp_path, priority="high")]
        ),
    )
    house.cycle()
    page = house.api.serve(ME, ask.Jobs())
    assert 5 == page.total
    assert {"starting", "pending", "held", "succeeded"} == {j.state for j in page.jobs}
    order = ["starting", "pending", "held", "succeeded"]
    assert sorted(page.jobs, key=lambda j: order.index(j.state)) == page.jobs
    assert [3] == [j.id for j in house.api.serve(ME, ask.Jobs(states=["held"])).jobs]
    assert 2 == len(house.api.serve(ME, ask.Jobs(limit=2, offset=1)).jobs)


async def test_only_an_admin_ends_the_daemon(house):
    with pytest.raises(NotYours):
        house.api.serve(ME, ask.Shutdown())
    house.api.serve(ADMIN, ask.Shutdown())
    assert house.ended


async def test_a_dry_run_of_a_gang_leaves_the_queue_as_it_was(house, tmp_path):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path)]))
    house.cycle()
    house.api.serve(ME, ask.DryRun(job=spec(tmp_path, gpus=2)))
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, gpus=2)]))
    house.cycle()
    assert [1, 2] == [j.id for j in house.api.serve(ME, ask.Jobs()).jobs]
    house.succeed(1)
    house.succeed(2)
    assert [(1, 1), (2, 1)] == house.orders()
    assert [] == house.loop.notices


@pytest.mark.parametrize("off_s", [-3600.0, 3600.0])
async def test_an_agent_whose_clock_was_set_ends_no_job_by_its_time_and_makes_no_negative_length(
    house, tmp_path, off_s
):
    house.api.serve(ME, ask.Submit(jobs=[spec(tmp_path, time_limit_s=60.0)]))
    house.cycle()
    house.clock.advance(1)
    house.say(1, "running", at=house.clock.now() + off_s)
    house.clock.advance(30)
    house.cycle()
    assert [] == house.cluster.stopped
    house.say(1, "ended", exit_=Exit(code=0, outcome="ok"), at=house.clock.now() + off_s)
    record = house.api.serve(ME, ask.Show(job=1))
    assert ("succeeded", 30.0) == (record.state, record.ran_s)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (RequestRecord(cpus=9), "9 CPU cores asked"),
        (RequestRecord(memory_bytes=1 << 60), "of RAM asked"),
        (RequestRecord(gpu_memory_bytes=1 << 60), "of GPU memory asked"),
        (RequestRecord(gpu_type="B900"), "No GPU here is a 'B900'"),
    ],
)
async def test_what_could_never_run_is_refused_naming_what_there_is_too_little_of(house, tmp_path, request_, said):
    with pytest.raises(BadRequest, match=said):
        house.api.serve(ME, ask.Submit(jobs=[ask.SpecRecord(name="x", directory=str(tmp_path), request=request_)]))


async def test_a_cpu_slot_stands_in_for_a_gpu_of_any_type_and_memory(tmp_path):
    house = await House(slots=True).open()
    request = RequestRecord(gpu_type="A100", gpu_memory_bytes=80 << 30)
    house.api.serve(ME, ask.Submit(jobs=[ask.SpecRecord(name="x", directory=str(tmp_path), request=request)]))
    house.cycle()
    assert [(1, 1)] == house.orders()
