"""A gang is whole, on one node, on its best links; what is counted is never given twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched.core import events as ev
from jupysched.core.fold import fold
from jupysched.core.fragmentation import LATELY, Mix, piece_of, want_of
from jupysched.core.invariants import check
from jupysched.core.job import JobId, JobSpec, Priority
from jupysched.core.placement import Room
from jupysched.core.resources import Allocation, Gpu, GpuId, GpuKind, Node, NodeName, Request
from jupysched.core.state import State
from jupysched.core.topology import choose_linked, width_of
from tests.core.builders import GIB, a_state, applied, asked, ended, granted, job, joined, running, stopped

#: two islands of four: NVLink inside, PCIe and the link between CPUs outside
ISLANDS = {(a, b): "NVLink x12" if a // 4 == b // 4 else "SYS" for a in range(8) for b in range(a + 1, 8)}


def gpus(*indexes: int) -> list[Gpu]:
    return [Gpu(id=GpuId(f"g{i}"), node=NodeName("n"), index=i, name="H200") for i in indexes]


def node(links: dict[tuple[int, int], str]) -> Node:
    return Node(name=NodeName("n"), cpus=8, memory_bytes=GIB, gpus=(), links=links)


def test_links_are_ordered_from_nvlink_to_sys():
    widths = [width_of(link) for link in ("NVLink x12", "NVLink x4", "NVLink", "PIX", "PXB", "PHB", "NODE", "SYS", "?")]
    assert widths == sorted(widths, reverse=True)
    assert len(set(widths)) == len(widths)


def test_a_pair_is_taken_where_the_worst_link_is_widest():
    chosen, note = choose_linked(node(ISLANDS), gpus(0, 1 + 3, 5, 2), 2)
    assert {g.index for g in chosen} in ({4, 5}, {0, 2})
    assert "NVLink x12" in note


def test_a_choice_says_what_the_others_would_have_been():
    links = {(0, 1): "SYS", (4, 5): "NVLink x12", (0, 4): "SYS", (0, 5): "SYS", (1, 4): "SYS", (1, 5): "SYS"}
    chosen, note = choose_linked(node(links), gpus(0, 1, 4, 5), 2)
    assert [g.index for g in chosen] == [4, 5]
    assert note == "GPUs 4,5: NVLink x12; 0,1 only over PCIe and the link between CPUs (SYS)"


def test_among_equal_sets_the_rest_stays_best_linked():
    # All pairs of 0..3 are alike, but 2,3 with 6,7 are an island: taking 0,1 leaves it whole.
    links = dict.fromkeys([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3), (2, 6), (3, 6)], "PIX")
    chosen, _ = choose_linked(node(links), gpus(0, 1, 2, 3, 6), 2)
    assert {g.index for g in chosen} == {0, 1}


def test_a_wide_gang_finds_the_node_that_small_jobs_left_alone():
    state = a_state(joined("n1", 8), joined("n2", 8), *(asked(n, at=n) for n in range(1, 9)))
    applied(state, 10)
    assert {job(state, n).allocation.nodes[0] for n in range(1, 9)} == {"n1"}
    fold(state, asked(9, 8, at=11))
    assert granted(applied(state, 11)) == [9]


def test_a_gang_is_never_spread_unless_it_says_so():
    state = a_state(joined("n1", 4), joined("n2", 4), asked(1, 1), asked(2, 4), asked(3, 6), asked(4, 5, nodes=0))
    applied(state, 1)
    assert running(state) == [1, 2]
    ended(state, 1, 2)
    ended(state, 2, 2)
    applied(state, 3)
    assert sorted(job(state, 4).allocation.nodes) == ["n1", "n2"]
    assert len(job(state, 4).allocation.gpus) == 5


def test_the_type_that_was_asked_for_is_given():
    state = a_state(
        joined("n1", 2, gpu_name="NVIDIA A100"), joined("n2", 2, gpu_name="NVIDIA H200"), asked(1, gpu_type="h200")
    )
    applied(state, 1)
    assert job(state, 1).allocation.nodes == ("n2",)


def test_cores_and_memory_of_a_node_are_granted_once():
    state = a_state(
        joined("n1", 4, cpus=8, memory=10 * GIB), *(asked(n, cpus=3, memory_bytes=2 * GIB) for n in range(1, 5))
    )
    applied(state, 1)
    assert running(state) == [1, 2]
    ended(state, 1, 2)
    applied(state, 2)
    assert running(state) == [2, 3]


def test_a_job_without_gpus_takes_a_core():
    state = a_state(joined("n1", 1, cpus=2), asked(1, 0), asked(2, 0), asked(3, 0))
    applied(state, 1)
    assert running(state) == [1, 2]


def test_shares_of_a_gpu_fit_its_memory_and_never_an_exclusive_job():
    share = {"gpu_memory_bytes": 30 * GIB}
    state = a_state(joined("n1", 2), *(asked(n, at=n, **share) for n in range(1, 4)), asked(4, 1, at=4))
    applied(state, 5)
    held = {n: job(state, n).allocation for n in range(1, 4)}
    # Two fit one GPU of 80 GiB; the third takes the other GPU, and then none is left for a whole one.
    assert held[1].gpus == held[2].gpus != held[3].gpus
    assert running(state) == [1, 2, 3]
    for n in (1, 2):
        ended(state, n, 6)
    applied(state, 7)
    assert running(state) == [3, 4]


def test_a_share_counts_as_a_part_of_a_gpu_in_accounts():
    state = a_state(joined("n1", 1), asked(1, gpu_memory_bytes=20 * GIB))
    applied(state, 0)
    ended(state, 1, 100)
    assert state.ledger.seen("user:ann").total == pytest.approx(25.0)


def test_drained_and_foreign_gpus_are_left_out():
    state = a_state(
        joined("n1", 3),
        ev.GpuDrained(at=0, gpu=GpuId("n1-0"), cause="admin", sentence="drained by root"),
        ev.GpuForeign(at=0, gpu=GpuId("n1-1"), sentences=("PID 812, user ann, 3.1 GiB",)),
        asked(1),
        asked(2),
    )
    applied(state, 1)
    assert job(state, 1).allocation.gpus == ("n1-2",)
    assert running(state) == [1]


def test_an_admins_drain_outlives_a_rejoin_and_a_node_may_come_back_smaller():
    state = a_state(
        joined("n1", 3),
        ev.GpuDrained(at=0, gpu=GpuId("n1-0"), cause="admin", sentence="drained by root"),
        joined("n1", 2),
    )
    assert "admin" in state.gpus[GpuId("n1-0")].drains
    assert GpuId("n1-2") not in state.gpus


def test_a_room_does_not_touch_the_state():
    state = a_state(joined("n1", 4))
    room = Room(state)
    room.take(room.place(Request(gpus=3)))
    assert room.total == 1
    assert state.free_gpus() == 4


def test_a_gang_has_no_mig_devices_and_a_single_job_may():
    whole = joined("whole", gpus=2, gpu_name="H200")
    split = joined("split", gpus=4, kind=GpuKind.MIG, gpu_name="H200 MIG 1g.18gb")
    skips = ev.PolicySet(at=0, by="root", name="fifo", settings={"backfill": "skip"})
    state = a_state(skips, whole, split, asked(1, gpus=2), asked(2, gpus=2), asked(3, gpus=1))
    applied(state, 1)
    assert job(state, 1).allocation.nodes == ("whole",)
    assert running(state) == [1, 3], "CUDA would use one of two MIG devices"
    assert job(state, 3).allocation.nodes == ("split",)


@pytest.mark.parametrize(("need", "gets"), [(5, "ten"), (30, "forty"), (50, "whole")])
def test_a_share_gets_the_smallest_mig_device_that_has_it_and_no_whole_card_is_broken_into(need, gets):
    # By the gradient alone, with no other request known, the card of 80 would serve 30 GiB with the least left unusable.
    state = a_state(
        joined("whole", 1),
        joined("forty", 1, kind=GpuKind.MIG, gpu_memory=40 * GIB),
        joined("ten", 1, kind=GpuKind.MIG, gpu_memory=10 * GIB),
        asked(1, gpu_memory_bytes=need * GIB),
    )
    applied(state, 1)
    assert job(state, 1).allocation.nodes == (gets,)


def test_nobody_is_stopped_for_a_gang_that_could_not_use_the_mig_devices_that_come_free():
    told = ev.PolicySet(at=0, by="root", name="priority", settings={"preempt": "on", "min_run_s": "0"})
    split = joined("split", gpus=2, kind=GpuKind.MIG)
    state = a_state(told, split, *(asked(n, priority=Priority.LOW) for n in (1, 2)))
    applied(state, 0)
    fold(state, joined("whole", gpus=2, at=1))
    fold(state, asked(3, gpus=2, at=1, priority=Priority.LOW))
    applied(state, 1)
    fold(state, asked(4, gpus=2, at=2, priority=Priority.HIGH))
    assert stopped(applied(state, 2)) == [3]


def test_small_jobs_leave_the_node_alone_that_gangs_ask_for():
    # Both nodes have 8 free GPUs; only n1 has the cores that gangs want. Best fit would take the first.
    state = a_state(joined("n1", 8, cpus=64), joined("n2", 8, cpus=16), asked(1, 8, cpus=64), asked(2, 1, cpus=1))
    applied(state, 1)
    ended(state, 1, 2)
    ended(state, 2, 2)
    fold(state, asked(3, 1, cpus=1, at=3))
    applied(state, 3)
    fold(state, asked(4, 8, cpus=64, at=4))
    assert granted(applied(state, 4)) == [4]
    assert job(state, 3).allocation.nodes == ("n2",)


def test_a_share_leaves_what_other_shares_ask_for():
    # Two GPUs are shared: 50 GiB are left on one, 40 on the other, and shares of 40 are asked for. Best fit would put 10
    # on the 40, and room for one share of 40 would be left instead of two.
    state = a_state(
        joined("n1", 1), joined("n2", 1),
        asked(1, gpu_memory_bytes=30 * GIB), asked(2, gpu_memory_bytes=40 * GIB),
    )  # fmt: skip
    for number, name in ((1, "n1"), (2, "n2")):
        share = job(state, number).spec.request.gpu_memory_bytes
        held = Allocation(gpus=(GpuId(f"{name}-0"),), nodes=(NodeName(name),), gpu_memory_bytes=share, weight=0.5)
        fold(state, ev.Granted(at=1, job=JobId(number), attempt=1, allocation=held))
    for _ in range(8):
        state.mix.came(want_of(Request(gpu_memory_bytes=40 * GIB)))
    fold(state, asked(3, gpu_memory_bytes=10 * GIB, at=2))
    applied(state, 2)
    for number in (4, 5):
        fold(state, asked(number, gpu_memory_bytes=40 * GIB, at=3))
    assert granted(applied(state, 3)) == [4, 5]


REQUESTS = st.builds(
    Request,
    gpus=st.integers(0, 4),
    gpu_memory_bytes=st.sampled_from([None, None, 10 * GIB, 30 * GIB, 50 * GIB]),
    gpu_type=st.sampled_from([None, None, "a100"]),
    cpus=st.sampled_from([None, 1, 3]),
    memory_bytes=st.sampled_from([None, 20 * GIB]),
)


def has_room(state: State, request: Request) -> bool:
    """The slow, obvious answer: is there any node that could take it?"""
    for node in state.nodes.values():
        held = [j.allocation for j in state.holding.values() if j.allocation.nodes[0] == node.name]
        cpus, memory = request.cpus or (0 if request.gpus else 1), request.memory_bytes or 0
        if (
            sum(a.cpus for a in held) + cpus > node.cpus
            or sum(a.memory_bytes for a in held) + memory > node.memory_bytes
        ):
            continue
        here = [state.gpus[g] for g in node.gpus if (request.gpu_type or "") in state.gpus[g].name.lower()]
        taken = {g: sum(a.gpu_memory_bytes or 1 << 60 for a in held if g in a.gpus) for g in node.gpus}
        need = request.gpu_memory_bytes or 0
        if request.gpus == 1 and need:
            fitting = [gpu for gpu in here if taken[gpu.id] + need <= gpu.memory_bytes]
        else:
            fitting = [gpu for gpu in here if not taken[gpu.id] and gpu.memory_bytes >= need]
        if len(fitting) >= request.gpus:
            return True
    return False


@given(st.lists(st.tuples(REQUESTS, st.integers(0, 3)), max_size=20))
def test_whoever_has_room_is_placed_and_never_beyond_what_is_there(steps):
    state = a_state(
        ev.PolicySet(at=0, by="root", name="fifo", settings={}),
        joined("n1", 4, cpus=6),
        joined("n2", 2, cpus=9, gpu_name="A100", gpu_memory=40 * GIB),
        joined("n3", 3, cpus=4),
    )
    for number, (request, leaves) in enumerate(steps, 1):
        fold(
            state,
            ev.Submitted(at=number, job=JobId(number), spec=JobSpec(name="c", user="ann", uid=1, request=request)),
        )
        fits, remembered = has_room(state, request), Room(state).place(request)
        state.shapes.clear()
        assert Room(state).place(request) == remembered, "what was remembered of a node is not what it has left"
        assert (granted(applied(state, number)) == [number]) == fits
        if not fits:
            fold(state, ev.CancelAsked(at=number, job=JobId(number), by="ann"))
        check(state)
        for held in list(state.holding.values())[:1] if leaves == 0 else ():
            ended(state, held.id, number)


def test_what_nobody_asks_for_any_more_is_forgotten():
    mix, piece = Mix(), piece_of(Gpu(id=GpuId("g"), node=NodeName("n"), index=0, name="H200", memory_bytes=GIB))
    seven = mix.shape(8, GIB, [(piece, 7)])
    mix.came(want_of(Request(gpus=8)))
    assert mix.loss(seven) == 7, "only gangs of eight are asked for: none of the seven is of use"
    for _ in range(2 * LATELY):
        mix.came(want_of(Request(gpus=1)))
    assert mix.loss(seven) == 0


def test_gangs_over_several_nodes_want_whole_ones():
    assert want_of(Request(gpus=16, nodes=0), widest=8).gpus == 8
    assert want_of(Request(gpus=6, nodes=4)).gpus == 2
