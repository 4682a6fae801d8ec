"""Each policy orders as it says; whoever should get equal GPU-seconds gets them; nobody starves."""

import pytest

from jupysched.core import events as ev
from jupysched.core.fold import fold
from jupysched.core.job import Exit, JobId, Priority
from jupysched.core.policies import POLICIES, make_policy
from jupysched.core.policies.feedback import Feedback
from jupysched.core.states import JobState, Reason
from jupysched.sim.figures import figures_of
from jupysched.sim.trace import TraceJob
from jupysched.sim.world import EPOCH_S, Setup, World
from tests.core.builders import a_state, applied, asked, ended, granted, job, joined, running, stopped

DAY = 86400.0


def policy(name: str, **settings: str) -> ev.PolicySet:
    return ev.PolicySet(at=0, by="root", name=name, settings=settings)


def order(state, now: float | None = None) -> list[int]:
    return [j.id for j in state.queue(now)]


def test_priority_serves_classes_strictly_and_first_come_within():
    state = a_state(
        asked(1, at=1, priority=Priority.LOW), asked(2, at=2), asked(3, at=3, priority=Priority.HIGH), asked(4, at=4)
    )
    assert order(state) == [3, 2, 4, 1]
    assert [state.position(JobId(n)) for n in (1, 2, 3, 4)] == [4, 2, 1, 3]


def test_priority_raises_a_job_by_a_class_each_day():
    state = a_state(asked(1, at=0, priority=Priority.LOW), asked(2, at=DAY + 5), asked(3, at=DAY + 6))
    assert [j.id for j in state.queue(now=DAY + 7)] == [1, 2, 3]


def test_priority_weighs_recent_use_if_it_is_told_to():
    state = a_state(policy("priority", fair_s="100000"), joined(gpus=1), asked(1, user="ann"))
    applied(state, 0)
    ended(state, 1, 5000)
    a_state_more = [asked(2, at=5001, user="ann"), asked(3, at=5002, user="bob")]
    for event in a_state_more:
        fold(state, event)
    assert order(state) == [3, 2]


def test_priority_preempts_a_lower_class_only_and_never_an_equal():
    state = a_state(policy("priority", preempt="on", min_run_s="0"), joined(gpus=1), asked(1, at=1))
    applied(state, 1)

    fold(state, asked(2, at=2))
    assert applied(state, 3).actions == ()
    fold(state, asked(3, at=4, priority=Priority.HIGH))
    plan = applied(state, 5)
    assert stopped(plan) == [1]
    assert "job 3" in plan.actions[0].detail
    ended(state, 1, 6, Exit(signal=15))
    assert granted(applied(state, 6)) == [3]
    assert job(state, 1).preemptions == 1
    assert job(state, 1).attained_s == 5


def test_round_robin_gives_each_user_a_gpu_before_anybody_a_second():
    events = [asked(n, at=n, user="ann") for n in range(1, 5)] + [asked(n, at=n, user="bob") for n in range(5, 7)]
    state = a_state(policy("round-robin"), joined(gpus=4), *events)
    applied(state, 10)
    assert running(state) == [1, 2, 5, 6]


def test_feedback_sinks_at_exactly_its_threshold():
    order_ = Feedback({"levels": "100,200"})
    assert [order_.level_of(x) for x in (0, 99.9, 100, 199, 200, 1e9)] == [0, 0, 1, 1, 2, 2]


def test_who_starves_stands_ahead_of_an_older_job_of_its_kind_that_does_not():
    chosen = policy("feedback", levels="1000000", promote="2", min_run_s="0")
    state = a_state(chosen, joined(gpus=1), asked(1, at=0), asked(2, at=45_000))
    applied(state, 0)
    assert running(state) == [1]
    preempted = ev.StopOrdered(at=50_000, job=JobId(1), attempt=1, reason=Reason.PREEMPTED, then=JobState.PENDING)
    fold(state, preempted)
    ended(state, 1, 50_000, Exit(signal=15))
    fold(state, asked(3, gpus=1, at=50_001))
    assert order(state, 51_000)[0] == 2
    # Were the older one ahead, it would be granted and stopped for the other again and again.
    assert granted(applied(state, 51_000)) == [2]


def test_feedback_wakes_when_a_running_job_sinks():
    state = a_state(policy("feedback", levels="100", promote="0"), joined(gpus=2), asked(1, gpus=2), asked(2, at=1))
    applied(state, 0)
    assert make_policy("feedback", state.policy_settings).next_change(state, 1) == 50


def test_shortest_believes_the_time_limit_and_what_like_jobs_took():
    state = a_state(policy("shortest"), asked(1, at=1, time_s=5000), asked(2, at=2, time_s=50), asked(3, at=3))
    assert order(state)[0] == 2


def test_a_site_policy_that_is_gone_orders_as_the_default_does():
    state = a_state(policy("no-such-policy"), asked(1, priority=Priority.LOW), asked(2))
    assert state.policy == "no-such-policy"
    assert order(state) == [2, 1]


def test_switching_the_policy_disturbs_nobody_who_runs():
    state = a_state(joined(gpus=2), asked(1), asked(2, user="bob"))
    applied(state, 1)
    for name in POLICIES:
        fold(state, ev.PolicySet(at=2, by="root", name=name))
        assert applied(state, 2).actions == ()
    assert running(state) == [1, 2]


def endless(users: dict[str, list[int]], jobs: int, seconds: float) -> list[TraceJob]:
    """Each user has a queue that does not end, of jobs of his own widths."""
    return [
        TraceJob(job_id=f"{user}{n}", user=user, submit_s=0.0, gpus=widths[n % len(widths)], duration_s=seconds)
        for n in range(jobs)
        for user, widths in users.items()
    ]


@pytest.mark.parametrize("name", ["round-robin", "fair-share"])
@pytest.mark.parametrize(
    "users", [{"ann": [1], "bob": [1]}, {"ann": [1], "bob": [1], "eve": [1]}, {"ann": [1], "bob": [2]}]
)
def test_equal_users_with_endless_queues_get_equal_gpu_seconds(name, users):
    stop = 200_000.0
    got = {}

    def watch(state, now):
        if now - EPOCH_S >= stop and not got:
            for user in users:
                account = state.ledger.seen(f"user:{user}")
                got[user] = account.total + account.gpus * (now - account.at)

    World(endless(users, 2500, 500.0), name, Setup(gpus=8), {}, watch=watch).play()
    assert max(got.values()) / min(got.values()) < 1.02, got


def test_fair_share_follows_the_tree_of_groups():
    state = a_state(
        policy("fair-share"),
        ev.ShareSet(at=0, by="root", scope="group:big", share=3),
        ev.ShareSet(at=0, by="root", scope="group:small", share=1),
        joined(gpus=4),
    )

    number = 1
    for at in range(0, 4000, 100):
        for user, group in (("ann", "big"), ("bob", "small")):
            for _ in range(4):
                fold(state, asked(number, at=at, user=user, groups=(group,)))
                number += 1
        applied(state, at)
        for held in [j for j in state.holding if True]:
            ended(state, held, at + 99)
    big, small = (state.ledger.seen(f"group:{g}").total for g in ("big", "small"))
    assert 2.6 < big / small < 3.4


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_everybody_runs_in_the_end(name):
    jobs = [
        TraceJob(
            job_id=str(n),
            user="abc"[n % 3],
            submit_s=n * 7.0,
            gpus=(1, 1, 2, 8, 4)[n % 5],
            duration_s=40.0 + n * 37 % 900,
        )
        for n in range(200)
    ]
    run = World(jobs, name, Setup(gpus=8, node_size=8, overhead_s=5), {}).play()
    figures = figures_of(run, name, 1.0)
    assert figures.jobs == 200
    assert all(end >= job.submit_s + job.duration_s for end, job in zip(run.ends, run.jobs, strict=True))
