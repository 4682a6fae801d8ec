"""Decide against a slow and obvious look at everything, on small clusters."""

from hypothesis import given
from hypothesis import strategies as st

from jupysched.core import events as ev
from jupysched.core.decide import decide
from jupysched.core.fold import fold
from jupysched.core.states import JobState
from tests.core.builders import a_state, applied, asked, ended, granted, joined

NODES = st.lists(st.integers(1, 4), min_size=1, max_size=3)
GANGS = st.lists(st.integers(1, 4), min_size=1, max_size=8)


def build(nodes, gangs, **settings):
    return a_state(
        ev.PolicySet(at=0, by="root", name="fifo", settings=settings),
        *(joined(f"n{i}", count) for i, count in enumerate(nodes)),
        *(asked(n, gpus, at=n) for n, gpus in enumerate(gangs, 1)),
    )


def free(state):
    return [len(f) for f in state.free.values()]


@given(NODES, GANGS)
def test_with_skipping_nobody_waits_who_fits(nodes, gangs):
    state = build(nodes, gangs, backfill="skip")
    applied(state, 50)
    waiting = [j.spec.request.gpus for j in state.jobs.values() if j.state is JobState.PENDING]
    assert not [w for w in waiting if any(f >= w for f in free(state))]


@given(NODES, GANGS)
def test_in_strict_order_only_those_before_the_first_that_does_not_fit_start(nodes, gangs):
    state = build(nodes, gangs)
    started = granted(applied(state, 50))
    # Jobs that no node could ever take hold nobody back.
    able = [n for n, gpus in enumerate(gangs, 1) if gpus <= max(nodes)]
    assert started == able[: len(started)]
    if len(started) < len(able):
        assert not any(f >= gangs[able[len(started)] - 1] for f in free(state))


@given(NODES, GANGS)
def test_what_was_decided_is_possible_and_deciding_again_adds_nothing(nodes, gangs):
    state = build(nodes, gangs, backfill="skip")
    plan = applied(state, 50)
    taken = [g for a in plan.actions for g in a.allocation.gpus]
    assert len(taken) == len(set(taken))
    assert all(len({state.gpus[g].node for g in a.allocation.gpus}) == 1 for a in plan.actions)
    assert decide(state, now=51).actions == ()


def test_deciding_reads_and_changes_nothing():
    state = build([4], [1, 2, 3, 4])
    again = build([4], [1, 2, 3, 4])
    decide(state, now=50)
    assert state == again


def test_a_chain_of_dependents_ends_with_the_first():
    state = a_state(joined(), asked(1), asked(2, after=[1]), asked(3, after=[2]), asked(4))
    fold(state, ev.CancelAsked(at=1, job=1, by="ann"))
    plan = applied(state, 2)
    assert [a.job for a in plan.actions] == [2, 3, 4]
    assert state.jobs[3].detail == "job 2 (cell 2), which it waited for, was cancelled"


def test_a_limit_that_runs_out_wakes_and_stops():
    state = a_state(joined(), asked(1, time_s=30.0))
    applied(state, 0)
    assert decide(state, now=1).wake_at == 30.0
    assert decide(state, now=30).actions[0].reason == "time_limit"
    ended(state, 1, 31)
    assert decide(state, now=40).actions == ()
