"""What one decision costs, as the queue grows: a thousand GPUs, and from a thousand to a hundred thousand jobs that wait.

Three situations a size, of which the dearest counts: all GPUs are free; one of each node is, while the head of the queue asks
for eight; none is. One in fifty of those that run has run so long that others may take its place. A minute goes by from
decision to decision, as in a daemon that is busy; what the first cost, when the policy knew nothing yet, is told beside it.
At last, the worst that can be asked: all that run have run for days, and all of them must give way at once."""

from __future__ import annotations

import gc
import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.figure import Figure, median
from jupysched.core import events as ev
from jupysched.core.decide import decide
from jupysched.core.fold import fold
from jupysched.core.job import Exit, JobId, JobSpec, UserName
from jupysched.core.resources import Allocation, Gpu, GpuId, Node, NodeName, Request
from jupysched.core.state import State

POLICIES = ("fifo", "priority", "fair-share", "feedback", "adaptive")
PREEMPTIVE = ("feedback", "adaptive")
NODES, USERS = 125, 50
#: GPUs that jobs ask for, one after the other; the head of the queue wants a whole node
WIDTHS = (8, 4, 2, 1, 1, 1)
#: jobs that ran before, for policies that learn
ENDED = 300
#: how many GPUs of each node are taken
TAKEN = {"all GPUs free": 0, "one of each node free": 7, "none free": 8}
#: of those that run, one in so many has run for days; the others for half an hour
LONG = 50
NOW, RECENT_S = 200_000.0, 1800.0
STEP_S = 60.0
#: a decision is not repeated if that takes longer than this
PATIENCE_S = 2.0
BARS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one decision, in milliseconds: wall clock and CPU time, the CPU time of the first; and in which situation."""

    wall_ms: float
    cpu_ms: float
    first_ms: float
    where: str


def curve(*, quick: bool) -> Iterator[Figure]:
    """A figure a policy at ten thousand, one for the growth over all sizes, and the worst that can be asked."""
    sizes = (1000, 10_000) if quick else (1000, 3000, 10_000, 30_000, 100_000)
    costs: dict[tuple[str, int], Cost] = {}
    for size in sizes:
        for where, taken in TAKEN.items():
            state = crowded(size, taken)
            for policy in POLICIES:
                found = _cost(state, policy, where, rounds=3 if quick else 9)
                known = costs.get((policy, size))
                if known is None or found.cpu_ms > known.cpu_ms:
                    costs[policy, size] = found
    for policy in POLICIES:
        yield _at(costs[policy, 10_000], f"decide, {policy}, 10,000 pending, 1,000 GPUs")
    for policy in POLICIES:
        yield _growth(policy, [(size, costs[policy, size]) for size in sizes])
    state = crowded(10_000, 8, long=1)
    for policy in PREEMPTIVE:
        yield _at(_cost(state, policy, "all must give way", rounds=3), f"decide, {policy}, all that run must give way")


def _at(cost: Cost, name: str) -> Figure:
    note = f"{cost.cpu_ms:.3g} of CPU, the first {cost.first_ms:.3g}; {cost.where}"
    return Figure(name=name, value=cost.wall_ms, unit="ms", floor=None, target=20.0, note=note)


def _growth(policy: str, points: list[tuple[int, Cost]]) -> Figure:
    """How much dearer the longest queue is than the shortest, beside how much longer it is."""
    top = max(cost.cpu_ms for _, cost in points)
    bars = "".join(BARS[min(7, int(8 * cost.cpu_ms / top))] for _, cost in points)
    longer = points[-1][0] / points[0][0]
    return Figure(
        name=f"decide, {policy}, {points[0][0]:,} to {points[-1][0]:,} pending",
        value=points[-1][1].cpu_ms / points[0][1].cpu_ms,
        unit="times dearer",
        floor=None,
        target=longer,
        note=f"{bars}  ms of CPU: " + ", ".join(f"{size:,}: {cost.cpu_ms:.3g}" for size, cost in points)
        + f"; the queue is {longer:g} times longer",
    )  # fmt: skip


def _cost(state: State, policy: str, where: str, *, rounds: int) -> Cost:
    """The median of some decisions. Collecting garbage is put off, for what is collected is the bench's 100,000 jobs."""
    fold(state, ev.PolicySet(at=NOW, by="bench", name=policy))
    wall: list[float] = []
    cpu: list[float] = []
    gc.collect()
    gc.disable()
    while len(wall) <= rounds and sum(cpu) < PATIENCE_S:
        began, used = time.perf_counter(), time.process_time()
        decide(state, now=NOW + STEP_S * len(wall))
        cpu.append(time.process_time() - used)
        wall.append(time.perf_counter() - began)
    gc.enable()
    return Cost(median(wall[1:] or wall) * 1e3, median(cpu[1:] or cpu) * 1e3, cpu[0] * 1e3, where)


def crowded(pending: int, taken: int, *, long: int = LONG) -> State:
    """A thousand GPUs, `taken` of each node's eight held by jobs of one GPU; a past, and a long queue, of fifty users."""
    state = State()
    fold(state, ev.PolicySet(at=0, by="bench", name="fifo"))
    for number in range(NODES):
        name = NodeName(f"n{number:03d}")
        gpus = tuple(Gpu(id=GpuId(f"{name}-{i}"), node=name, index=i, name="GPU") for i in range(8))
        node = Node(name=name, cpus=64, memory_bytes=1 << 40, gpus=tuple(g.id for g in gpus))
        fold(state, ev.NodeJoined(at=0, node=node, gpus=gpus))
    dice = random.Random(7)
    numbers = (JobId(number) for number in itertools.count(1))
    for job in itertools.islice(numbers, ENDED):
        _start(state, job, NodeName("n000"), 0)
        end = job + min(50_000.0, dice.lognormvariate(7.0, 2.1))
        fold(state, ev.AttemptEnded(at=end, job=job, attempt=1, exit=Exit(code=0, outcome="ok")))
    for node_name, index in itertools.product(list(state.nodes), range(taken)):
        job = next(numbers)
        _start(state, job, node_name, index, at=float(job) if job % long == 0 else NOW - RECENT_S)
    for job, width in zip(itertools.islice(numbers, pending), itertools.cycle(WIDTHS)):
        _submit(state, job, width)
    return state


def _submit(state: State, job: JobId, width: int) -> None:
    spec = JobSpec(name="job", user=UserName(f"u{job % USERS}"), uid=0, request=Request(gpus=width))
    fold(state, ev.Submitted(at=float(job), job=job, spec=spec))


def _start(state: State, job: JobId, node: NodeName, index: int, *, at: float | None = None) -> None:
    _submit(state, job, 1)
    at = float(job) if at is None else at
    held = Allocation(gpus=(state.nodes[node].gpus[index],), nodes=(node,), weight=1.0)
    fold(state, ev.Granted(at=at, job=job, attempt=1, allocation=held))
    fold(state, ev.AttemptStarted(at=at, job=job, attempt=1))
