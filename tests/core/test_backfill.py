"""Nobody who passes the head delays it: against an exhaustive look at what would have been."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from jupysched.core import events as ev
from jupysched.core.fold import fold
from tests.core.builders import GIB, a_state, applied, asked, ended, granted, job, joined, running

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


def test_small_jobs_cannot_starve_one_that_waits_for_cores_or_ram():
    for head in ({"cpus": 8}, {"memory_bytes": 64 * GIB}):
        part = {"cpus": 1} if "cpus" in head else {"memory_bytes": 8 * GIB}
        state = a_state(joined(gpus=8, cpus=8, memory=64 * GIB), asked(1, 1, time_s=50.0, **part))
        applied(state, 0)
        fold(state, asked(2, at=1, **head))
        for number in range(3, 9):
            fold(state, asked(number, at=number, **part))
        applied(state, 9)
        assert running(state) == [1], "of unknown length, they would hold what the head waits for"
        fold(state, asked(9, at=10, time_s=20.0, **part))
        applied(state, 10)
        assert running(state) == [1, 9], "this one is over in time"
        ended(state, 9, 30)
        ended(state, 1, 50)
        assert granted(applied(state, 50)) == [2]


def test_a_share_does_not_break_into_a_gpu_that_the_head_waits_for():
    state = a_state(joined(gpus=2), asked(1, 1, time_s=50.0), asked(2, 2, at=1), asked(3, at=2, gpu_memory_bytes=GIB))
    applied(state, 2)
    assert running(state) == [1]
    ended(state, 1, 50)
    assert granted(applied(state, 50)) == [2]


def test_a_share_may_pass_onto_a_gpu_that_is_shared_already():
    state = a_state(
        joined(gpus=2),
        asked(1, gpu_memory_bytes=GIB, time_s=50.0),
        asked(2, 2, at=1),
        asked(3, at=2, gpu_memory_bytes=GIB, time_s=40.0),
    )
    applied(state, 2)
    assert running(state) == [1, 3]
    ended(state, 3, 42)
    ended(state, 1, 50)
    assert granted(applied(state, 50)) == [2]


def test_a_gang_over_several_nodes_leaves_the_heads_node_alone():
    # One GPU on each of n1 and n3 are free for it; but all of n1 is promised to the head.
    nodes = (joined("n1", 4), joined("n2", 2), joined("n3", 1))
    state = a_state(*nodes, asked(1, 2, time_s=50.0), asked(2, 2, time_s=500.0))
    applied(state, 0)
    fold(state, asked(3, 4, at=1))
    fold(state, asked(4, 2, at=2, nodes=2))
    applied(state, 2)
    assert running(state) == [1, 2]


def test_cards_that_the_head_cannot_use_are_for_those_behind_it():
    node = joined(gpus=4)
    mixed = replace(node, gpus=tuple(replace(g, name="V100") if g.index < 2 else g for g in node.gpus))
    state = a_state(mixed, asked(1, 1, gpu_type="h200", time_s=50.0), asked(2, 2, at=1, gpu_type="h200"))
    applied(state, 1)
    for number in (3, 4, 5):
        fold(state, asked(number, at=number))
    applied(state, 5)
    assert running(state) == [1, 3, 4]
    assert {job(state, n).allocation.gpus[0] for n in (3, 4)} == {"n1-0", "n1-1"}
