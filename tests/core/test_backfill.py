"""Nobody who passes the head delays it: against an exhaustive look at what would have been."""

from hypothesis import given
from hypothesis import strategies as st

from jupysched.core import events as ev
from jupysched.core.fold import fold
from tests.core.builders import a_state, applied, asked, ended, granted, job, joined, running

JOBS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 20)), min_size=3, max_size=9)


def play(jobs, backfill, nodes=(4,), stop_at=None):
    """Starts of all jobs, all submitted at once, each ending at its limit."""
    state = a_state(
        ev.PolicySet(at=0, by="root", name="fifo", settings={"backfill": backfill}),
        *(joined(f"n{i}", count) for i, count in enumerate(nodes)),
        *(asked(n, gpus, at=0, time_s=float(length)) for n, (gpus, length) in enumerate(jobs, 1)),
    )
    starts, now = {}, 0.0
    while len(starts) < len(jobs):
        for held in list(state.holding.values()):
            if held.started_at + held.spec.request.time_limit_s <= now:
                ended(state, held.id, now)
        for started in granted(applied(state, now)):
            starts[started] = now
        now += 1
    return starts


@given(JOBS)
def test_the_head_starts_when_it_would_have_without_the_others(jobs):
    """For each job that was the blocked head at the beginning: backfill does not move its start."""
    free, head = 4, None
    for number, (gpus, _) in enumerate(jobs, 1):
        if gpus > free:
            head = number
            break
        free -= gpus
    if head is None:
        return
    without = play(jobs[:head], "none")
    assert play(jobs, "easy")[head] == without[head]


@given(JOBS)
def test_backfill_starts_as_much_at_once_as_strict_order_does_or_more(jobs):
    strict, easy = play(jobs, "none"), play(jobs, "easy")
    assert {n for n, at in strict.items() if at == 0} <= {n for n, at in easy.items() if at == 0}


@given(JOBS)
def test_the_head_is_not_delayed_on_several_nodes_either(jobs):
    # Both runs know the same requests: where jobs are placed depends on what was asked for.
    strict = play(jobs, "none", (3, 4))
    head = next((number for number in sorted(strict) if strict[number] > 0), None)
    if head is None:
        return
    assert play(jobs, "easy", (3, 4))[head] <= strict[head]


def test_a_job_of_unknown_length_takes_only_what_the_head_leaves_over():
    state = a_state(joined(gpus=4), asked(1, 2, time_s=100.0), asked(2, 3, at=1), asked(3, 1, at=2), asked(4, 1, at=3))
    applied(state, 4)
    # At 100 s the head has its 3 of 4 GPUs: one is spare, and one only.
    assert running(state) == [1, 3]


def test_small_jobs_cannot_starve_a_gang():
    state = a_state(joined(gpus=4), asked(1, 2, time_s=50.0), asked(2, 4, at=1, time_s=100.0))
    number = 3
    for at in range(2, 60):
        fold(state, asked(number, 1, at=at, time_s=30.0))
        number += 1
        for held in list(state.holding.values()):
            if at - held.started_at >= held.spec.request.time_limit_s:
                ended(state, held.id, at)
        applied(state, at)
    assert job(state, 2).started_at == 52
