"""Moved to the front: an admin's job is the next to start, a user's passes the user's own and nobody else's."""

import pytest

from jupysched.core import events as ev
from jupysched.core import front
from jupysched.core.decide import decide
from jupysched.core.explain import explain
from jupysched.core.fold import fold
from jupysched.core.job import JobId, Priority
from jupysched.core.policies import POLICIES
from jupysched.core.resources import GpuId
from jupysched.core.state import State
from tests.core.builders import a_state, applied, asked, ended, joined, running


def queue(state: State, now: float = 50.0) -> list[int]:
    return [job.id for job in state.queue(now)]


def moved(state: State, *jobs: int, admin: bool = False, at: float = 50.0) -> None:
    move = front.ahead_of_all if admin else front.ahead_of_own
    for event in move(state, [state.jobs[JobId(j)] for j in jobs], by="root" if admin else "ann", at=at):
        fold(state, event)


@pytest.fixture
def line() -> State:
    """One GPU, held; ann's 2, 4, 6 and bob's 3, 5 wait."""
    state = a_state(joined(gpus=1), asked(1, user="eve"))
    applied(state, 0)
    for number in range(2, 7):
        fold(state, asked(number, at=number, user="bob" if number % 2 else "ann"))
    return state


def test_a_user_moves_a_job_ahead_of_the_own_ones_and_the_others_keep_their_places(line):
    moved(line, 6)
    assert queue(line) == [6, 3, 2, 5, 4]
    moved(line, 4)
    assert queue(line) == [4, 3, 6, 5, 2]


def test_several_start_in_the_order_in_which_they_are_named(line):
    moved(line, 6, 2)
    assert queue(line) == [6, 3, 2, 5, 4]


def test_jobs_that_came_at_once_exchange_places_too():
    state = a_state(joined(gpus=1), asked(1))
    applied(state, 0)
    for number in (2, 3, 4):
        fold(state, asked(number, at=7))
    moved(state, 4)
    assert queue(state) == [4, 2, 3]
    moved(state, 3)
    assert queue(state) == [3, 4, 2]


def test_another_class_is_not_passed(line):
    fold(line, asked(7, at=7, priority=Priority.HIGH))
    moved(line, 6)
    assert queue(line)[:2] == [7, 6]


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_an_admin_moves_a_job_ahead_of_everybody_under_every_policy(policy, line):
    fold(line, ev.PolicySet(at=40, by="root", name=policy, settings={"preempt": "on", "min_run_s": "0"}))
    fold(line, asked(7, at=41, user="bob", priority=Priority.LOW, time_s=90000))
    moved(line, 7, admin=True)
    assert queue(line)[0] == 7
    moved(line, 5, 4, admin=True)
    assert queue(line)[:3] == [5, 4, 7]
    fold(line, asked(8, at=51, priority=Priority.HIGH))
    assert queue(line, 60)[:3] == [5, 4, 7]
    ended(line, 1, 70)
    applied(line, 70)
    assert running(line) == [5]
    assert line.jobs[JobId(5)].moved is None


def test_nobody_is_stopped_for_it_and_nobody_delays_it():
    state = a_state(
        ev.PolicySet(at=0, by="root", name="priority", settings={"preempt": "on", "min_run_s": "0"}),
        joined(gpus=2),
        asked(1, user="bob", priority=Priority.LOW),
    )
    applied(state, 0)
    fold(state, asked(2, 2, at=1))
    fold(state, asked(3, at=2, user="bob", priority=Priority.HIGH))
    moved(state, 2, admin=True, at=3)
    assert decide(state, now=3).actions == ()
    ended(state, 1, 9)
    applied(state, 9)
    assert running(state) == [2]


def test_one_that_can_never_start_holds_nobody_back(line):
    fold(line, asked(7, 4, at=7))
    moved(line, 7, admin=True)
    ended(line, 1, 70)
    applied(line, 70)
    assert running(line) == [2]


def test_why_says_who_moved_it_and_when(line):
    moved(line, 6)
    assert "moved to the front of ann's normal jobs by ann just now" in explain(line, JobId(6), now=51).sentence
    moved(line, 5, admin=True)
    assert "; moved to the front by root 10 min ago" in explain(line, JobId(5), now=650).sentence
    assert "(job 5 was moved to the front by root)" in explain(line, JobId(2), now=51).sentence
    fold(line, ev.GpuDrained(at=52, gpu=GpuId("n1-0"), cause="admin", sentence="fan"))
    assert "(fan); moved to the front by root" in explain(line, JobId(5), now=60).sentence


def test_queued_again_it_lines_up_as_everybody(line):
    moved(line, 5, admin=True)
    fold(line, ev.CancelAsked(at=60, job=JobId(5), by="bob"))
    fold(line, ev.RequeueAsked(at=61, job=JobId(5), by="bob"))
    assert queue(line, 62)[-1] == 5
