"""The daemon may die between any two lines: what is durable is true, and nothing runs twice."""

import os

import pytest
from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.actions import Grant, Plan
from jupysched.core.errors import BadRequest, DiskFull
from jupysched.core.fold import fold
from jupysched.core.invariants import check
from jupysched.core.job import Exit, JobId
from jupysched.core.resources import Allocation, GpuId
from jupysched.core.state import State
from jupysched.daemon.auth import Person
from jupysched.testing.journal import Died, MemoryJournal
from jupysched.wire import requests as ask
from tests.daemon.scripted import BOB, NODE, House

ME = Person(uid=os.getuid(), name="me", is_admin=True)


def submit(house: House, directory, count: int = 1) -> None:
    house.api.serve(ME, ask.Submit(jobs=[ask.SpecRecord(name="x", directory=str(directory))] * count))


async def story(house: House, directory) -> None:
    """A little of everything."""
    submit(house, directory, 3)
    house.cycle()
    house.say(1, "running")
    house.api.serve(ME, ask.Cancel(jobs=[2]))
    house.say(2, "ended", exit_=Exit(signal=2, outcome="interrupted"))
    house.succeed(1)
    house.say(3, "running")
    house.say(3, "ended", exit_=Exit(code=1, outcome="error"))


async def test_replaying_the_journal_rebuilds_the_state(tmp_path):
    house = await House().open()
    await story(house, tmp_path)
    state = State()
    for event in house.journal.events:
        fold(state, event)
    check(state)
    assert house.loop.state.jobs == state.jobs


@pytest.mark.parametrize("moment", range(2, 16))
@pytest.mark.parametrize("when", ["dies_before", "dies_after"])
async def test_after_dying_at_any_write_no_attempt_is_ordered_that_was_not_journalled_and_the_queue_goes_on(
    tmp_path, moment, when
):
    journal = MemoryJournal()
    setattr(journal, when, moment)
    house = House(journal)
    try:
        await house.open()
        await story(house, tmp_path)
    except Died:
        pass
    granted = {(e.job, e.attempt) for e in journal.events if isinstance(e, ev.Granted)}
    assert set(house.orders()) <= granted, "an effect came before its journal entry"
    setattr(journal, when, None)
    again = await House(journal).open()
    check(again.loop.state)
    for job in list(again.loop.state.jobs.values()):
        if job.allocation is not None:
            handled = [(o.job, o.attempt) for o in (*again.cluster.started, *again.cluster.adopted)]
            assert (job.id, job.attempt) in handled, "an attempt that holds GPUs was neither sent nor adopted"
    assert len(set(again.orders())) == len(again.orders())


async def test_a_running_attempt_is_adopted_and_one_that_is_being_stopped_is_stopped_again(tmp_path):
    house = await House().open()
    submit(house, tmp_path, 2)
    house.cycle()
    house.say(1, "running")
    house.say(2, "running")
    house.api.serve(ME, ask.Cancel(jobs=[2]))
    again = await House(house.journal).open()
    assert [1, 2] == [o.job for o in again.cluster.adopted]
    assert [2] == [o.job for o in again.cluster.stopped]
    assert [] == again.orders()
    again.say(1, "ended", exit_=Exit(code=0, outcome="ok"))
    again.say(2, "ended", exit_=Exit(signal=9))
    assert ("succeeded", "cancelled") == (again.state_of(1), again.state_of(2))


async def test_a_daemon_that_follows_repeats_the_last_stop_order_and_counts_its_own_from_there(tmp_path):
    house = await House().open()
    submit(house, tmp_path)
    house.cycle()
    house.say(1, "running")
    house.api.serve(ME, ask.Requeue(jobs=[1]))
    again = await House(house.journal).open()
    again.api.serve(ME, ask.Cancel(jobs=[1]))
    again.api.serve(ME, ask.Cancel(jobs=[1]))
    assert ([1], [1, 2, 3]) == (house.cluster.nths, again.cluster.nths)


async def test_stop_orders_of_the_next_attempt_are_counted_anew(tmp_path):
    house = await House().open()
    submit(house, tmp_path)
    for attempt in (1, 2):
        house.cycle()
        house.say(1, "running", attempt=attempt)
        house.api.serve(ME, ask.Requeue(jobs=[1]))
        house.say(1, "ended", attempt=attempt, exit_=Exit(code=0, outcome="interrupted"))
    assert [1, 1] == house.cluster.nths


async def test_an_attempt_whose_shim_died_is_reported_lost_and_not_run_again(tmp_path):
    house = await House().open()
    submit(house, tmp_path)
    house.cycle()
    house.say(1, "running")
    again = await House(house.journal).open()
    again.say(1, "lost", sentence="its supervisor died")
    assert ("failed", "lease_expired") == (again.state_of(1), again.api.serve(ME, ask.Show(job=1)).reason)
    assert [] == again.orders()


async def test_a_stale_attempt_changes_nothing(tmp_path):
    house = await House().open()
    submit(house, tmp_path)
    house.cycle()
    house.succeed(1)
    house.api.serve(ME, ask.Requeue(jobs=[1]))
    house.cycle()
    before = len(house.journal.events)
    house.say(1, "ended", attempt=1, exit_=Exit(code=0, outcome="ok"))
    assert "starting" == house.state_of(1)
    assert before == len(house.journal.events)


async def test_a_full_disk_refuses_submissions_and_keeps_what_agents_said_until_there_is_room(tmp_path):
    house = await House().open()
    submit(house, tmp_path)
    house.cycle()
    house.say(1, "running")
    house.journal.full = True
    with pytest.raises(DiskFull):
        submit(house, tmp_path)
    house.say(1, "ended", exit_=Exit(code=0, outcome="ok"))
    assert "running" == house.state_of(1), "nothing is true before it is durable"
    assert house.loop.notices
    house.journal.full = False
    house.loop._retry()
    assert "succeeded" == house.state_of(1)


async def die(house: House, person: Person, submission: ask.Submit, *, when: str) -> House:
    """A submission that its daemon takes or does not take, and does not answer; the daemon that follows."""
    setattr(house.journal, when, 0)
    with pytest.raises(Died):
        house.api.serve(person, submission)
    setattr(house.journal, when, None)
    return await House(house.journal).open()


@pytest.mark.parametrize("when", ["dies_before", "dies_after"])
@pytest.mark.parametrize("count", [1, 3])
async def test_a_submission_that_is_sent_again_after_its_daemon_died_is_taken_once_and_answered_alike(
    tmp_path, when, count
):
    house = await House().open()
    submit(house, tmp_path)
    spec = ask.SpecRecord(name="x", directory=str(tmp_path), hold=True)
    submission = ask.Submit(jobs=[spec] * count, key="k")
    again = await die(house, ME, submission, when=when)
    later = [again.api.serve(ME, submission), again.api.serve(ME, submission)]
    assert [list(range(2, 2 + count))] * 2 == later
    check(again.loop.state)
    assert ["held"] * count == [again.state_of(number) for number in range(2, 2 + count)]
    assert [2 + count] == again.api.serve(ME, ask.Submit(jobs=[spec], key="another"))


async def test_a_submission_is_known_to_its_user_alone_in_its_own_length_and_as_long_as_its_job(tmp_path):
    house = await House().open()
    spec = ask.SpecRecord(name="x", directory=str(tmp_path))
    assert [1] == house.api.serve(ME, ask.Submit(jobs=[spec], key="k"))
    with pytest.raises(BadRequest, match="not a directory of bob"):  # he is not told of another's job
        house.api.serve(BOB, ask.Submit(jobs=[spec], key="k"))
    with pytest.raises(BadRequest, match="Another submission had the key 'k', of 1 jobs"):
        house.api.serve(ME, ask.Submit(jobs=[spec] * 2, key="k"))
    house.api.serve(ME, ask.Cancel(jobs=[1]))
    house.cycle()
    house.loop.forget([JobId(1)])
    check(house.loop.state)
    assert [2] == house.api.serve(ME, ask.Submit(jobs=[spec], key="k"))


async def test_a_submission_that_is_sent_again_is_not_refused_for_what_the_first_one_filled(tmp_path):
    house = await House().open()
    house.api.settings = replace(house.api.settings, most_pending_per_user=1)
    submission = ask.Submit(jobs=[ask.SpecRecord(name="x", directory=str(tmp_path), hold=True)], key="k")
    assert [1] == house.api.serve(ME, submission)
    assert [1] == house.api.serve(ME, submission)
    with pytest.raises(BadRequest, match="at most 1 may"):
        submit(house, tmp_path)


async def test_an_admins_drain_outlives_the_daemon(tmp_path):
    house = await House().open()
    house.api.serve(ME, ask.Drain(gpus=["0"], why="fan"))
    again = await House(house.journal).open()
    assert "fan" == again.api.serve(ME, ask.Gpus())[0].drained


async def test_a_plan_that_the_table_does_not_allow_is_refused_and_neither_written_nor_done(tmp_path, monkeypatch):
    house = await House().open()
    submit(house, tmp_path)
    house.cycle()
    before = len(house.journal.events)
    grant = Grant(job=JobId(1), attempt=1, allocation=Allocation(gpus=(GpuId("G1"),), nodes=(NODE,)))
    monkeypatch.setattr("jupysched.daemon.loop.decide", lambda state, now: Plan(actions=(grant,)))
    house.cycle()
    assert (before, 1) == (len(house.journal.events), len(house.orders()))
    assert "bug: decide wants" in house.loop.notices[0]
