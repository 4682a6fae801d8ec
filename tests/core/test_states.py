"""The table of states is whole: every event is in it, every state can be reached and left, every reason has words."""

from jupysched.core import events as ev
from jupysched.core.fold import EVENT_NAMES
from jupysched.core.states import ENDED, HOLDING, REASONS, TRANSITIONS, WAITING, JobState, Reason


def test_every_event_of_a_job_is_in_the_table_and_no_other():
    assert {name for _, name in TRANSITIONS} == set(EVENT_NAMES.values())
    assert set(EVENT_NAMES) == set(ev.JobEvent.__args__)


def test_every_state_can_be_reached_from_pending():
    reached, todo = set(), [JobState.PENDING]
    while todo:
        state = todo.pop()
        if state not in reached:
            reached.add(state)
            todo += [t for (s, _), to in TRANSITIONS.items() if s is state for t in to]
    assert reached == set(JobState)


def test_every_state_can_end():
    ends = set(ENDED)
    for _ in JobState:
        ends |= {s for (s, _), to in TRANSITIONS.items() if to & ends}
    assert ends == set(JobState)


def test_an_ended_job_is_left_by_a_requeue_alone():
    assert {name for state, name in TRANSITIONS if state in ENDED} == {"requeue_asked"}


def test_only_a_grant_and_a_resumption_give_gpus():
    into = {name for (state, name), to in TRANSITIONS.items() if state not in HOLDING and to & HOLDING}
    assert into == {"granted", "resumed", "stop_ordered"}
    assert {s for (s, n), to in TRANSITIONS.items() if n == "stop_ordered" and s not in HOLDING} == {JobState.SUSPENDED}


def test_states_that_wait_hold_and_ended_do_not_overlap():
    assert not WAITING & HOLDING
    assert not WAITING & ENDED
    assert not HOLDING & ENDED


def test_every_reason_has_a_sentence():
    assert set(REASONS) == set(Reason)
