"""What a user, a group or a class may not exceed, and what is kept for somebody: which, how much is left, when it comes back."""

import pytest

from jupysched.core import events as ev
from jupysched.core.explain import explain
from jupysched.core.fold import fold
from jupysched.core.job import JobId, Priority
from jupysched.core.limits import refusal
from jupysched.core.states import Reason
from jupysched.core.usage import DAY_S
from tests.core.builders import GIB, a_state, applied, asked, ended, granted, joined, running

#: a Monday, midnight UTC
MONDAY = 4 * DAY_S


def limited(scope, **values):
    return ev.LimitsSet(at=0, by="root", scope=scope, limits=values)


def reserved(scope, gpus, starts_at, ends_at):
    return ev.ReservationMade(
        at=0, by="root", name="demo", scope=scope, gpus=gpus, starts_at=starts_at, ends_at=ends_at
    )


def told(state, number, now):
    said = explain(state, JobId(number), now=now)
    return said.reason, said.sentence


@pytest.mark.parametrize(
    ("scope", "more", "reason", "who"),
    [
        ("user:ann", {}, Reason.QUOTA, "ann"),
        ("group:vision", {"groups": ("vision",)}, Reason.QUOTA, "group vision"),
        ("class:low", {"priority": Priority.LOW}, Reason.QOS_LIMIT, "the class low"),
    ],
)
def test_gpus_at_once_are_counted_by_user_group_and_class(scope, more, reason, who):
    state = a_state(
        joined(gpus=8), limited(scope, gpus=3), *(asked(n, 2, **more) for n in (1, 2)), asked(3, 2, user="bob")
    )
    applied(state, 0)
    assert running(state) == [1, 3], "bob is in none of them"
    assert told(state, 2, 1)[0] is reason
    assert told(state, 2, 1)[1].startswith(f"{who} may hold 3 GPUs at once; 1 is left")
    ended(state, 1, 5)
    assert granted(applied(state, 5)) == [2]


def test_shares_count_for_what_they_are_and_never_go_beyond_the_limit():
    shares = [asked(n, gpu_memory_bytes=32 * GIB) for n in range(1, 6)]
    state = a_state(joined(gpus=8, gpu_memory=80 * GIB), limited("user:ann", gpus=1), *shares)
    applied(state, 0)
    assert running(state) == [1, 2], "two fifths each: a third would make more than one GPU"
    assert state.ledger.seen("user:ann").gpus == pytest.approx(0.8)


def test_jobs_at_once_are_counted():
    state = a_state(joined(gpus=8), limited("user:ann", running=2), *(asked(n) for n in (1, 2, 3)))
    applied(state, 0)
    assert running(state) == [1, 2]
    assert told(state, 3, 1) == (Reason.QUOTA, "ann may have 2 jobs running at once, and has as many")


@pytest.mark.parametrize(
    ("limit", "span", "back", "words"),
    [
        ("gpu_minutes_day", "today", MONDAY + DAY_S, "in 23 h"),
        ("gpu_minutes_week", "this week", MONDAY + 7 * DAY_S, "in 7 days"),
    ],
)
def test_gpu_minutes_that_are_used_up_come_back_by_themselves(limit, span, back, words):
    fifo = ev.PolicySet(at=0, by="root", name="fifo", settings={})
    state = a_state(fifo, joined(gpus=8, at=MONDAY), limited("user:ann", **{limit: 60}), asked(1, 2, at=MONDAY))
    applied(state, MONDAY)
    ended(state, 1, MONDAY + 1800)
    fold(state, asked(2, at=MONDAY + 1801))
    plan = applied(state, MONDAY + 3600)
    assert granted(plan) == []
    assert plan.wake_at == back
    said = explain(state, JobId(2), now=MONDAY + 3600)
    assert said.sentence == f"ann has used the 60 GPU-minutes of {span}; they come back {words}"
    assert said.expected_start_from == back
    assert granted(applied(state, back)) == [2]


def test_what_could_never_start_or_is_too_much_waiting_is_refused():
    state = a_state(joined(gpus=8), limited("user:ann", gpus=2, pending=1, time_s=3600))
    refused = [
        refusal(state, asked(1, gpus, time_s=time_s).spec, Priority.NORMAL)
        for gpus, time_s in ((3, None), (1, 7200.0), (1, None))
    ]
    assert refused == [
        "ann may hold 2 GPUs at once; this asks for 3.",
        "ann may ask for 3600 s at most; this asks for 7200 s.",
        None,
    ]
    fold(state, asked(1, 2))
    assert refusal(state, asked(2).spec, Priority.NORMAL) == "ann may have 1 job waiting, and has 1."


def test_the_longest_time_holds_for_those_that_name_none():
    state = a_state(joined(gpus=1), limited("user:ann", time_s=100), asked(1))
    assert applied(state, 0).wake_at is None or applied(state, 0).wake_at == 100
    assert [stop.reason for stop in applied(state, 101).actions] == [Reason.TIME_LIMIT]


def test_a_lifted_limit_lets_those_go_that_waited():
    state = a_state(joined(gpus=8), limited("user:ann", gpus=1), asked(1), asked(2))
    applied(state, 0)
    fold(state, limited("user:ann"))
    assert granted(applied(state, 1)) == [2]


def test_a_reservation_keeps_gpus_for_its_own_and_lets_others_have_the_rest():
    own = asked(3, 2, user="eve", at=11)
    state = a_state(joined(gpus=4), reserved("user:eve", 2, 10, 1000), asked(1, 2, at=10), asked(2, 1, at=10))
    applied(state, 10)
    assert running(state) == [1]
    assert told(state, 2, 10) == (Reason.RESERVATION, "2 free GPUs are reserved for eve (demo)")
    fold(state, own)
    assert granted(applied(state, 11)) == [3]
    fold(state, asked(4, 2, user="bob", at=12))
    assert granted(applied(state, 12)) == [], "all are held"


def test_before_it_begins_only_those_start_that_end_in_time():
    state = a_state(joined(gpus=2), reserved("user:eve", 2, 7200, 9000))
    fold(state, asked(1, 1, at=0, time_s=7000.0))
    fold(state, asked(2, 1, at=0, time_s=7300.0))
    plan = applied(state, 1)
    assert granted(plan) == [1]
    assert explain(state, JobId(2), now=1).expected_start_from == 9000
    ended(state, 1, 7000)
    assert granted(applied(state, 9000)) == [2], "it is over"


def test_one_whose_end_nobody_knows_is_kept_out_from_an_hour_before():
    early = a_state(joined(gpus=1), reserved("user:eve", 1, 7200, 9000), asked(1))
    assert granted(applied(early, 3599)) == [1]
    late = a_state(joined(gpus=1), reserved("user:eve", 1, 7200, 9000), asked(1))
    assert granted(applied(late, 3601)) == []
