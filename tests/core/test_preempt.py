"""The cheapest victims or none; never too young, never too often; and a second cycle orders no more of them."""

from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.actions import Resume, Suspend
from jupysched.core.decide import decide
from jupysched.core.fold import fold
from jupysched.core.job import Exit, Priority
from jupysched.core.resources import GpuKind
from jupysched.core.states import JobState, Reason
from tests.core.builders import a_state, applied, asked, ended, granted, job, joined, running, stopped

HIGH, LOW = Priority.HIGH, Priority.LOW


def on(**settings: str) -> ev.PolicySet:
    return ev.PolicySet(at=0, by="root", name="priority", settings={"preempt": "on", **settings})


def test_no_more_are_stopped_than_are_needed():
    state = a_state(on(min_run_s="0"), joined(gpus=4), *(asked(n, at=n, priority=LOW) for n in range(1, 5)))
    applied(state, 5)
    fold(state, asked(9, 2, at=6, priority=HIGH))
    assert len(stopped(applied(state, 7))) == 2
    assert decide(state, now=8).actions == ()


def test_nobody_is_stopped_if_that_would_not_be_enough():
    state = a_state(on(min_run_s="0"), joined(gpus=4), asked(1, 3, priority=HIGH), asked(2, 1, at=1, priority=LOW))
    applied(state, 2)
    fold(state, asked(3, 2, at=3, priority=HIGH))
    assert applied(state, 4).actions == ()


def test_the_node_where_least_is_lost_gives_way():
    state = a_state(on(min_run_s="0"), joined("n1", 2), joined("n2", 2))
    for number, at in ((1, 0), (2, 500)):
        fold(state, asked(number, 2, at=at, priority=LOW))
        applied(state, at)
    fold(state, asked(3, 2, at=1000, priority=HIGH))
    assert stopped(applied(state, 1000)) == [2]


def test_a_young_attempt_is_left_in_peace():
    state = a_state(on(min_run_s="60"), joined(gpus=1), asked(1, priority=LOW))
    applied(state, 0)
    fold(state, asked(2, at=1, priority=HIGH))
    assert stopped(applied(state, 30)) == []
    assert stopped(applied(state, 61)) == [1]


def test_a_job_is_preempted_so_many_times_and_no_more():
    state = a_state(on(min_run_s="0", most_preemptions="1"), joined(gpus=1), asked(1, priority=LOW))
    applied(state, 0)
    fold(state, asked(2, at=1, priority=HIGH))
    assert stopped(applied(state, 1)) == [1]
    ended(state, 1, 2, Exit(signal=15))
    applied(state, 2)
    ended(state, 2, 3)
    applied(state, 3)
    assert running(state) == [1]
    fold(state, asked(3, at=4, priority=HIGH))
    assert applied(state, 5).actions == ()


def test_the_victim_waits_again_with_its_attained_service_and_its_age():
    state = a_state(on(min_run_s="0"), joined(gpus=1), asked(1, at=0, priority=LOW))
    applied(state, 10)
    fold(state, asked(2, at=50, priority=HIGH))
    plan = applied(state, 50)
    assert plan.actions[0].reason is Reason.PREEMPTED
    ended(state, 1, 55, Exit(signal=15))
    victim = job(state, 1)
    assert (victim.state, victim.attained_s, victim.since) == (JobState.PENDING, 45, 0)


def test_one_that_ends_well_before_the_stop_reaches_it_has_ended_well():
    state = a_state(on(min_run_s="0"), joined(gpus=1), asked(1, priority=LOW))
    applied(state, 0)
    fold(state, asked(2, at=1, priority=HIGH))
    applied(state, 1)
    ended(state, 1, 2)
    # builders.OK: the exit says that the cell came to its end.
    assert job(state, 1).state is JobState.SUCCEEDED


def test_on_cpu_slots_a_job_can_be_frozen_and_goes_on_where_it_was():
    state = a_state(
        on(min_run_s="0", preempt_by="suspend"), joined(gpus=1, kind=GpuKind.CPU_SLOT), asked(1, priority=LOW)
    )
    applied(state, 0)
    fold(state, asked(2, at=10, priority=HIGH))
    assert [type(a) for a in applied(state, 10).actions] == [Suspend]
    assert job(state, 1).state is JobState.SUSPENDED
    assert granted(applied(state, 10)) == [2]
    ended(state, 2, 30)
    assert [type(a) for a in applied(state, 30).actions] == [Resume]
    ended(state, 1, 35)
    assert (job(state, 1).state, job(state, 1).attained_s, job(state, 1).attempt) == (JobState.SUCCEEDED, 15, 1)


def test_on_gpus_a_job_is_stopped_even_where_freezing_is_set():
    state = a_state(on(min_run_s="0", preempt_by="suspend"), joined(gpus=1), asked(1, priority=LOW))
    applied(state, 0)
    fold(state, asked(2, at=10, priority=HIGH))
    assert stopped(applied(state, 10)) == [1]


def test_free_gpus_wait_for_the_gang_that_others_make_room_for():
    state = a_state(on(min_run_s="0"), joined(gpus=4), asked(1, 3, priority=LOW))
    applied(state, 0)
    fold(state, asked(2, 4, at=1, priority=HIGH))
    fold(state, asked(3, 1, at=2, priority=LOW))
    plan = applied(state, 3)
    assert (stopped(plan), granted(plan)) == ([1], [])


def a_mixed_node() -> ev.NodeJoined:
    node = joined(gpus=4, cpus=8)
    return replace(node, gpus=tuple(replace(g, name="V100") if g.index < 2 else g for g in node.gpus))


def test_of_several_kinds_of_cards_on_a_node_those_give_way_that_help():
    state = a_state(on(min_run_s="0"), a_mixed_node(), *(asked(n, at=n, priority=LOW) for n in range(1, 5)))
    applied(state, 5)
    on_new = [n for n in range(1, 5) if job(state, n).allocation.gpus[0] in ("n1-2", "n1-3")]
    fold(state, asked(9, 2, at=6, priority=HIGH, gpu_type="h200"))
    assert sorted(stopped(applied(state, 7))) == on_new
    for number in on_new:
        ended(state, number, 8, Exit(signal=15))
    assert granted(applied(state, 8)) == [9]


def test_cores_are_given_back_with_the_gpus():
    state = a_state(on(min_run_s="0"), joined(gpus=4, cpus=8), *(asked(n, at=n, cpus=4, priority=LOW) for n in (1, 2)))
    applied(state, 3)
    fold(state, asked(9, 1, at=6, cpus=6, priority=HIGH))
    assert sorted(stopped(applied(state, 7))) == [1, 2], "two GPUs are free, and the cores of both are needed"
    assert decide(state, now=8).actions == ()


def test_nobody_is_stopped_for_cores_that_would_still_not_be_enough():
    busy = (asked(1, cpus=6, priority=HIGH), asked(2, at=1, cpus=2, priority=LOW))
    state = a_state(on(min_run_s="0"), joined(gpus=4, cpus=8), *busy)
    applied(state, 2)
    fold(state, asked(9, 1, at=3, cpus=4, priority=HIGH))
    assert applied(state, 4).actions == ()
