"""Jobs that came together tend to take as long: who belongs together, and what `adaptive` makes of it."""

import pytest

from jupysched.core import events as ev
from jupysched.core.fold import fold
from jupysched.core.history import NOTHING_KNOWN
from jupysched.core.job import Exit, JobId
from jupysched.core.siblings import GAP_S, Burst
from jupysched.core.state import State
from jupysched.core.states import JobState, Reason
from tests.core.builders import a_state, applied, asked, ended, joined

ADAPTIVE = ev.PolicySet(at=0, by="root", name="adaptive", settings={"age": "0", "min_run_s": "0"})


def order(state: State, now: float) -> list[int]:
    return [j.id for j in state.queue(now)]


def test_a_burst_is_of_one_user_and_width_and_ends_with_a_pause():
    state = a_state(
        asked(1, at=0), asked(2, at=GAP_S), asked(3, at=GAP_S + 5, user="bob"), asked(4, gpus=2, at=GAP_S + 6),
        asked(5, at=2 * GAP_S), asked(6, at=3 * GAP_S + 1),
    )  # fmt: skip
    burst = {n: state.siblings.of[JobId(n)].number for n in range(1, 7)}
    assert burst[1] == burst[2] == burst[5]
    assert len({burst[n] for n in (1, 3, 4, 6)}) == 4


def test_one_that_ended_speaks_for_those_that_came_with_it():
    state = a_state(ADAPTIVE, joined(gpus=2), asked(1, at=0), asked(2, at=0, user="bob"))
    applied(state, 0)
    for number in range(3, 13):
        fold(state, asked(number, at=1, user="ann" if number % 2 else "bob"))
    ended(state, 2, 60)
    ended(state, 1, 100_000)
    waiting = order(state, 100_000)
    assert sorted(waiting[:5]) == [4, 6, 8, 10, 12], "bob's took a minute, though ann's came as early"


def test_while_none_has_ended_none_is_expected_to_end_before_the_one_that_came_farthest():
    events = (ADAPTIVE, joined(gpus=1), asked(1, at=0), asked(2, at=1))
    state = a_state(*events)
    applied(state, 1)
    fold(state, asked(3, at=GAP_S + 500, user="bob"))
    assert order(state, GAP_S + 500) == [3, 2]

    fold(state, ev.StopOrdered(at=5000, job=JobId(1), attempt=1, reason=Reason.PREEMPTED, then=JobState.PENDING))
    ended(state, 1, 5000, Exit(signal=15))
    assert order(state, 5000)[0] == 3, "and it is not forgotten with the end of the attempt"
    assert state.siblings.of[JobId(2)].most_s == pytest.approx(4999)


def test_what_a_burst_says_is_believed_the_more_the_more_of_it_ended_and_not_past_its_length():
    once, often = Burst(number=1), Burst(number=2)
    once.ended, once.logs = 1, 6.0
    often.ended, often.logs = 20, 120.0
    length = 403.4
    assert often.effort(0, 5000) < once.effort(0, 5000) < 5000
    assert often.effort(0, 5000) == pytest.approx(length / 0.85, rel=0.3)
    assert often.effort(300, 5000) < often.effort(0, 5000)
    assert often.effort(2 * length, 5000) == 5000


def test_a_forgotten_job_leaves_nothing_behind():
    state = a_state(joined(gpus=1), asked(1, at=0))
    applied(state, 0)
    ended(state, 1, 10)
    fold(state, ev.Forgotten(at=20, jobs=(JobId(1),)))
    assert state.siblings.of == {}


def test_a_wait_lifts_a_job_over_one_that_needs_somewhat_less():
    asks = (asked(1, gpus=4, at=0), asked(2, gpus=2, at=100_000, user="bob"))
    for age, first in (("0", 2), ("0.5", 1)):
        told = ev.PolicySet(at=0, by="root", name="adaptive", settings={"age": age})
        assert order(a_state(told, *asks), 100_000)[0] == first


def test_without_learning_bursts_count_for_nothing():
    told = ev.PolicySet(at=0, by="root", name="adaptive", settings={"learn": "off", "age": "0"})
    state = a_state(told, joined(gpus=1), asked(1, at=0), asked(2, at=1), asked(3, at=GAP_S + 500, user="bob"))
    applied(state, 1)
    assert order(state, 50_000) == [2, 3]
    assert NOTHING_KNOWN.effort_at(0) > 0


def test_a_siblings_end_moves_those_that_still_run_at_once():
    state = a_state(
        ev.PolicySet(at=0, by="root", name="adaptive", settings={"min_run_s": "0"}), joined("n1", 2), asked(1), asked(2)
    )
    applied(state, 0)
    before = state.look_at_runners(100).places[JobId(2)]
    ended(state, 1, 101)
    after = state.look_at_runners(101).places[JobId(2)]
    assert after[0] != before[0]
