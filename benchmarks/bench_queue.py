"""Ten thousand jobs that wait: accepting them, looking at them, deciding, and one that is urgent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.figure import Figure, median, spread
from benchmarks.floors import Commits, Forks
from benchmarks.stage import Stage
from jupysched import spool
from jupysched.core import events as ev
from jupysched.core.decide import decide
from jupysched.core.fold import fold
from jupysched.core.job import JobId, JobSpec, Priority, UserName
from jupysched.core.resources import Gpu, GpuId, GpuKind, Node, NodeName, Request
from jupysched.core.state import State
from jupysched.wire.requests import SpecRecord


def measure(*, quick: bool) -> Iterator[Figure]:
    """All of it."""
    count = 2000 if quick else 10_000
    yield _one_by_one(count)
    yield from _at_full_queue(count, 7 if quick else 25)
    yield _decide(count)
    yield _urgent(2 if quick else 5)


def _busy(stage: Stage) -> list[str]:
    """Both slots are taken by jobs that sleep; their directories."""
    specs = [stage.spec("import time\ntime.sleep(3600)") for _ in range(2)]
    stage.client.submit(*specs)
    _wait_for(lambda: stage.client.hello().running == 2)
    return [spec.directory for spec in specs]


def _wait_for(is_so: Callable[[], bool], *, patience_s: float = 60.0) -> None:
    deadline = time.monotonic() + patience_s
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError(f"it did not come to that within {patience_s:g} s")
        time.sleep(0.005)


def _waiting(stage: Stage, count: int) -> list[SpecRecord]:
    """Specs of jobs that will not start; they may share a directory."""
    directory = str(stage.directory("pass"))
    return [SpecRecord(name=f"job {number}", directory=directory) for number in range(count)]


def _one_by_one(count: int) -> Figure:
    with Stage(slots=2) as stage:
        _busy(stage)
        specs = _waiting(stage, count)
        commits = Commits(stage.home)
        rates: list[float] = []
        floors: list[float] = []
        step = count // 10
        for start in range(0, count, step):
            floors.append(commits.a_second(step))
            began = time.perf_counter()
            for spec in specs[start : start + step]:
                stage.client.submit(spec)
            rates.append(step / (time.perf_counter() - began))
        commits.close()
    return Figure(
        name="submit_one_by_one",
        value=median(rates),
        unit="jobs/s",
        floor=median(floors),
        target=2000.0,
        more=True,
        note=f"{count} jobs through the socket, durable; the last tenth {rates[-1]:,.0f}; floor: bare durable commits",
    )


def _at_full_queue(count: int, rounds: int) -> Iterator[Figure]:
    with Stage(slots=2) as stage:
        _busy(stage)
        specs = _waiting(stage, count)
        extra = _waiting(stage, rounds)
        commits = Commits(stage.home)
        floor = commits.bulk_s(count) * 1e3
        began = time.perf_counter()
        ids = stage.client.submit(*specs)
        bulk = (time.perf_counter() - began) * 1e3
        yield Figure(
            name="submit_bulk",
            value=bulk,
            unit="ms",
            floor=floor,
            target=500.0,
            note=f"{count} jobs in one request; floor: as many rows in one bare commit",
        )
        commit = median([1e3 / commits.a_second(1) for _ in range(rounds)])
        hello = median(_timed(rounds, stage.client.hello))
        one = _timed(rounds, lambda: stage.client.submit(extra.pop()))
        listed = _timed(rounds, lambda: stage.client.jobs(limit=100))
        again = _timed(rounds, lambda: (stage.client.submit(specs[0]), stage.client.jobs(limit=100)))
        cancelled = _timed(rounds, lambda: stage.client.cancel(ids.pop()))
        commits.close()
        waits = f"with {count} waiting"
        yield Figure(
            name="submit_one_more",
            value=median(one),
            unit="ms",
            floor=commit,
            target=5.0,
            note=f"{waits}; {spread(one)}; floor: one bare durable commit",
        )
        yield Figure(
            name="list_first_100",
            value=median(listed),
            unit="ms",
            floor=hello,
            target=16.0,
            note=f"{waits}; {spread(listed)}; after a change {median(again):.3g}; floor: an empty request",
        )
        yield Figure(
            name="cancel",
            value=median(cancelled),
            unit="ms",
            floor=commit,
            target=5.0,
            note=f"{waits}; {spread(cancelled)}; floor: one bare durable commit",
        )


def _timed(rounds: int, function: Callable[[], object]) -> list[float]:
    took = []
    for _ in range(rounds):
        began = time.perf_counter()
        function()
        took.append((time.perf_counter() - began) * 1e3)
        time.sleep(0.02)  # the cycle that a change asks for is the daemon's, not this request's
    return took


def queue_of(count: int, *, gpus: int, held: int) -> State:
    """A state with `count` waiting jobs of ten users in three classes, `held` of the GPUs taken."""
    state, node = State(), NodeName("node")
    made = tuple(Gpu(id=GpuId(f"gpu-{n}"), node=node, index=n, name="GPU", kind=GpuKind.CPU_SLOT) for n in range(gpus))
    fold(
        state,
        ev.NodeJoined(
            at=0.0,
            node=Node(name=node, cpus=64, memory_bytes=1 << 40, gpus=tuple(g.id for g in made), links={}),
            gpus=made,
        ),
    )
    for number in range(1, count + held + 1):
        user = number % 10
        spec = JobSpec(
            name=f"job {number}",
            user=UserName(f"user{user}"),
            uid=1000 + user,
            directory="/",
            request=Request(
                gpus=1 if number <= held else 1 + number % 2, time_limit_s=(None, 600.0, 3600.0)[number % 3]
            ),
            priority=list(Priority)[number % len(Priority)],
        )
        fold(state, ev.Submitted(at=float(number), job=JobId(number), spec=spec))
        if number == held:
            _apply(state, now=float(number))
    return state


def _apply(state: State, *, now: float) -> None:
    for action in decide(state, now=now).actions:
        fold(state, ev.Granted(at=now, job=action.job, attempt=action.attempt, allocation=action.allocation))  # type: ignore[union-attr]
        fold(state, ev.AttemptStarted(at=now, job=action.job, attempt=action.attempt))  # type: ignore[union-attr]


def _decide(count: int) -> Figure:
    """The dearest of: all GPUs free, one of 64 free, none free."""
    took: dict[str, float] = {}
    for name, held in (("all of 64 GPUs free", 0), ("one free", 63), ("none free", 64)):
        state = queue_of(count, gpus=64, held=held)
        decide(state, now=1e6)
        took[name] = median(_timed(9, lambda state=state: decide(state, now=1e6)))  # type: ignore[misc]
    return Figure(
        name="decide",
        value=max(took.values()),
        unit="ms",
        floor=None,
        target=10.0,
        note=f"{count} waiting, the dearest of " + ", ".join(f"{name} {ms:.3g}" for name, ms in took.items()),
    )


def _urgent(rounds: int) -> Figure:
    """Two slots, 100 low jobs of 50 ms; one high job: how long after a slot came free does it start?"""
    waits: list[float] = []
    before: list[int] = []
    floors: list[float] = []
    with Stage(slots=2) as stage, Forks() as fork:
        stage.warm()
        for _ in range(rounds):
            floors += [fork.first_output_s("print(1, flush=True)") * 1e3 for _ in range(3)]
            low = [stage.spec("import time\ntime.sleep(0.05)", priority="low") for _ in range(100)]
            urgent = stage.spec("print(1)", priority="high")
            stage.client.submit(*low)
            _wait_for(lambda low=low: sum(1 for spec in low if _exit(spec)) >= 10)  # type: ignore[misc]
            asked = time.time()
            job = stage.client.submit(urgent)[0]
            stage.wait_ended(job)
            started = float((_exit(urgent) or {})["started_at"])
            stage.wait_empty()
            ends = [(record["started_at"], record["ended_at"]) for spec in low if (record := _exit(spec))]
            before.append(sum(1 for begun, _ in ends if asked + 0.002 < begun < started))
            freed = min((end for _, end in ends if asked <= end <= started), default=asked)
            waits.append((started - freed) * 1e3)
    return Figure(
        name="urgent_job",
        value=median(waits),
        unit="ms",
        floor=median(floors),
        target=20.0,
        note=f"{spread(waits)}; from the moment a slot came free; low jobs that went before it: {max(before)} of 100",
    )


def _exit(spec: SpecRecord) -> dict[str, Any] | None:
    return spool.read_json(f"{spool.attempt_path(spec.directory, 1)}/{spool.EXIT}")
