"""Every wait has a reason and a sentence; what the sentence proposes does start the job."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.explain import _when, explain
from jupysched.core.fold import fold
from jupysched.core.job import Exit, JobId, Priority
from jupysched.core.resources import GpuId, NodeName
from jupysched.core.states import JobState, Reason
from tests.core.builders import FAILED, GIB, OK, a_state, applied, asked, ended, granted, job, joined


def told(state, number, now=10.0):
    return explain(state, JobId(number), now=now)


def limits(scope: str, **values: float) -> ev.LimitsSet:
    return ev.LimitsSet(at=0, by="root", scope=scope, limits=values)


def test_the_sentence_says_what_it_waits_for_and_what_would_help():
    state = a_state(joined(gpus=4), asked(1, 2, user="bob", time_s=600.0), asked(2, 4, at=1))
    applied(state, 0)
    said = told(state, 2, 60.0)
    assert said.reason is Reason.RESOURCES
    assert said.position == 1
    assert said.expected_start_at == 600.0
    assert said.sentence == (
        "needs 4 GPUs on one node; 2 are free; job 1 (cell 1, bob) ends in 9 min at the latest; should start in 9 min; "
        "2 GPUs would start now"
    )


def test_what_starts_now_needs_no_advice():
    assert told(a_state(joined(gpus=2), asked(1)), 1).sentence == "starts now"


def _spoke(*events, started=True):
    state = a_state(joined(), asked(9))
    applied(state, 1, started=started)
    for event in events:
        fold(state, event)
    return state


def _ended_with(exit_):
    return _spoke(ev.AttemptEnded(at=2, job=JobId(9), attempt=1, exit=exit_))


def _over_time():
    state = a_state(joined(), asked(9, time_s=5.0))
    applied(state, 0)
    applied(state, 6)
    return ended(state, 9, 7, Exit(signal=15))


def _preempted():
    settings = {"preempt": "on", "min_run_s": "0"}
    state = a_state(
        ev.PolicySet(at=0, by="root", name="priority", settings=settings),
        joined(gpus=1),
        asked(9, priority=Priority.LOW),
    )
    applied(state, 0)
    fold(state, asked(10, at=1, priority=Priority.HIGH))
    applied(state, 1)
    return state


def _busy():
    state = a_state(joined(gpus=1), asked(1), asked(9, at=1))
    applied(state, 0)
    return state


REACHED = {
    Reason.PRIORITY: lambda: a_state(joined(gpus=1), asked(9), asked(8)),
    Reason.GANG_TOO_WIDE: lambda: a_state(joined(gpus=1), asked(9, 2)),
    Reason.DEPENDENCY: lambda: a_state(joined(gpus=1), asked(1), asked(9, after=[1])),
    Reason.QUOTA: lambda: a_state(joined(), limits("user:ann", gpus=1), asked(9, 2)),
    Reason.QOS_LIMIT: lambda: a_state(joined(), limits("class:normal", running=0), asked(9)),
    Reason.RESERVATION: lambda: a_state(
        joined(gpus=2),
        ev.ReservationMade(at=0, by="root", name="demo", scope="group:class", gpus=2, starts_at=0, ends_at=999),
        asked(9),
    ),
    Reason.NODE_DRAINED: lambda: a_state(
        joined(gpus=1), ev.GpuDrained(at=0, gpu=GpuId("n1-0"), cause="admin", sentence="drained by root"), asked(9)
    ),
    Reason.HELD_BY_USER: lambda: a_state(asked(9), ev.HoldAsked(at=1, job=JobId(9), by="ann")),
    Reason.HELD_BY_ADMIN: lambda: a_state(asked(9), ev.HoldAsked(at=1, job=JobId(9), by="root", admin=True)),
    Reason.CANCELLED_BY_USER: lambda: a_state(asked(9), ev.CancelAsked(at=1, job=JobId(9), by="ann")),
    Reason.CANCELLED_BY_ADMIN: lambda: a_state(asked(9), ev.CancelAsked(at=1, job=JobId(9), by="root", admin=True)),
    Reason.EXCEPTION: lambda: _ended_with(FAILED),
    Reason.EXIT_CODE: lambda: _ended_with(Exit(signal=9)),
    Reason.OUT_OF_MEMORY: lambda: _ended_with(Exit(signal=9, out_of_memory=True)),
    Reason.NOT_PICKLABLE: lambda: _ended_with(Exit(code=1, outcome="error", error="NotPicklable")),
    Reason.RUNNER_MISSING: lambda: _spoke(
        ev.AttemptRefused(at=2, job=JobId(9), attempt=1, sentence="no such interpreter"), started=False
    ),
    Reason.LEASE_EXPIRED: lambda: _spoke(ev.AttemptLost(at=2, job=JobId(9), attempt=1)),
    Reason.NODE_LOST: lambda: _spoke(
        ev.NodeLost(at=1, node=NodeName("n1")), ev.AttemptLost(at=2, job=JobId(9), attempt=1)
    ),
    Reason.TIME_LIMIT: _over_time,
    Reason.PREEMPTED: _preempted,
    Reason.RESOURCES: _busy,
}


def test_every_reason_is_reached():
    assert set(REACHED) == set(Reason)
    for reason, arrange in REACHED.items():
        if reason is Reason.PRIORITY:
            state = a_state(joined(gpus=1), asked(1), asked(2, at=1), asked(9, at=2))
            applied(state, 0)
        else:
            state = arrange()
        said = told(state, 9)
        assert said.reason is reason, (reason, said)
        assert said.sentence, reason


def test_a_quota_says_how_much_there_is_and_when_it_comes_back():
    state = a_state(joined(gpus=1), limits("user:*", gpu_minutes_day=1), asked(1), asked(9, at=5))
    applied(state, 0)
    ended(state, 1, 120)
    said = told(state, 9, 3600.0)
    assert said.sentence == "ann has used the 1 GPU-minutes of today; they come back in 23 h"
    assert said.expected_start_from == 86400.0
    plan = applied(state, 3600)
    assert granted(plan) == []
    assert plan.wake_at == 86400.0
    assert granted(applied(state, 86400.0)) == [9]


@given(
    nodes=st.lists(st.integers(1, 4), min_size=1, max_size=2),
    jobs=st.lists(st.tuples(st.integers(1, 4), st.sampled_from([None, 60.0, 3600.0])), min_size=2, max_size=8),
    policy=st.sampled_from(["fifo", "priority", "round-robin", "fair-share", "shortest", "adaptive", "feedback"]),
)
def test_doing_what_the_sentence_proposes_starts_the_job(nodes, jobs, policy):
    state = a_state(
        ev.PolicySet(at=0, by="root", name=policy),
        *(joined(f"n{i}", count) for i, count in enumerate(nodes)),
        *(asked(n, gpus, at=n, time_s=t, user="ab"[n % 2]) for n, (gpus, t) in enumerate(jobs, 1)),
    )
    applied(state, 20)
    waiting = [j for j in state.jobs.values() if j.state is JobState.PENDING]
    proposals = 0
    for waits in waiting:
        said = told(state, waits.id, 30.0).sentence
        fewer, sooner = re.search(r"(\d+) GPUs? would start now", said), re.search(r"--time (\d+)m", said)
        if not fewer and not sooner:
            continue
        proposals += 1
        spec = waits.spec
        again = a_state(
            ev.PolicySet(at=0, by="root", name=policy),
            *(joined(f"n{i}", count) for i, count in enumerate(nodes)),
            *(asked(n, gpus, at=n, time_s=t, user="ab"[n % 2]) for n, (gpus, t) in enumerate(jobs, 1)),
        )
        applied(again, 20)
        fold(again, ev.CancelAsked(at=30.0, job=waits.id, by="ann"))
        number = again.next_id
        gpus = int(fewer[1]) if fewer else spec.request.gpus
        limit = float(sooner[1]) * 60 if sooner else spec.request.time_limit_s
        fold(again, asked(number, gpus, at=30.0, time_s=limit, user=spec.user))
        assert number in granted(applied(again, 30.0)), said
    assume(proposals or len(jobs) > 2)


def test_an_ended_job_says_nothing_if_all_went_well():
    state = a_state(joined(), asked(1))
    applied(state, 0)
    ended(state, 1, 5, OK)
    assert told(state, 1).sentence == ""
    assert job(state, 1).state is JobState.SUCCEEDED


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"gpus": 1, "cpus": 6}, "needs 1 GPU and 6 CPU cores on one node; 3 are free, but only 4 cores with them"),
        ({"gpus": 0, "cpus": 6}, "needs 6 CPU cores; 4 cores are free"),
        (
            {"gpus": 1, "memory_bytes": 60 * GIB},
            "needs 1 GPU and 60 GiB of RAM on one node; 3 are free, but only 32 GiB of RAM with them",
        ),
        ({"gpus": 3, "gpu_type": "v100"}, "needs 3 GPUs of type v100 on one node; 2 are free"),
    ],
)
def test_what_lacks_is_named_whatever_it_is(request_, said):
    node = joined(gpus=4, cpus=8, memory=64 * GIB)
    cards = tuple(replace(g, name="V100") if g.index < 3 else g for g in node.gpus)
    busy = asked(1, 1, cpus=4, memory_bytes=32 * GIB, gpu_type="v100" if request_["gpus"] == 3 else "h200")
    state = a_state(replace(node, gpus=cards), busy)
    applied(state, 0)
    fold(state, asked(2, at=1, **request_))
    assert explain(state, JobId(2), now=1).sentence.startswith(said)


def test_the_start_of_one_that_waits_for_cores_is_when_they_come_back():
    state = a_state(joined(gpus=4, cpus=8), asked(1, 1, cpus=8, time_s=3600.0))
    applied(state, 0)
    fold(state, asked(2, 1, at=1, cpus=2))
    assert explain(state, JobId(2), now=1).expected_start_at == 3600


def test_shares_of_one_gpu_give_back_one_gpu():
    state = a_state(
        joined(gpus=1), *(asked(n, gpu_memory_bytes=GIB, time_s=100.0 * n) for n in (1, 2)), joined("n2", 1)
    )
    fold(state, asked(3, 1, at=0))
    applied(state, 0)
    fold(state, asked(4, 1, at=1))
    assert explain(state, JobId(4), now=1).expected_start_from == 200


def test_a_range_of_one_unit_names_it_once():
    assert _when(60, 150, 0) == "; should start in 1 to 2 min"
    assert _when(60, 3 * 3600, 0) == "; should start in 1 min to 3 h"
    assert _when(60, 61, 0) == "; should start in 1 min"
