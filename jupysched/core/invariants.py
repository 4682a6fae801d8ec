"""What must always hold. check(state) is run by the tests after every step, and by the daemon after recovery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jupysched.core.job import Job
from jupysched.core.resources import GpuId
from jupysched.core.state import State
from jupysched.core.states import ENDED, HOLDING, WAITING, JobState


def broken(state: State) -> list[str]:
    """Sentences about what does not hold; empty if all is well."""
    return [
        *(said for job in state.jobs.values() for said in _job(state, job)),
        *_gpus(state),
        *_queue(state),
        *_accounts(state),
        *_submissions(state),
    ]


def _job(state: State, job: Job) -> Iterator[str]:
    held = job.allocation
    # One that was suspended and is being stopped holds none.
    if held is None and job.state in HOLDING and job.state is not JobState.STOPPING:
        yield f"job {job.id} is {job.state} and holds no GPUs"
    if held is not None and job.state not in HOLDING:
        yield f"job {job.id} is {job.state} and holds GPUs"
    if (job.id in state.holding) != (job.state in HOLDING):
        yield f"job {job.id} is {job.state} and {'' if job.id in state.holding else 'not '}among those that hold GPUs"
    if held is not None:
        if len(set(held.gpus)) != job.spec.request.gpus or len(held.gpus) != job.spec.request.gpus:
            yield f"job {job.id} asked {job.spec.request.gpus} GPUs and holds {len(held.gpus)}"
        yield from (
            f"GPU {g} does not know its holder {job.id}" for g in held.gpus if job.id not in state.holders.get(g, ())
        )
        if len(held.nodes) > 1 and job.spec.request.nodes == 1:
            yield f"job {job.id} is spread over {len(held.nodes)} nodes"
    if (job.id in state.standing or job.id in state.blocked) != (job.state in WAITING):
        yield f"job {job.id} is {job.state} and {'not ' if job.state in WAITING else ''}in the queue"
    if (job.ended_at is not None) != (job.state in ENDED):
        yield f"job {job.id} is {job.state} with ended_at {job.ended_at}"


def _gpus(state: State) -> Iterator[str]:
    shared: Counter[GpuId] = Counter()
    for gpu, holders in state.holders.items():
        jobs = [state.jobs[j] for j in holders if j in state.holding]
        yield from (f"GPU {gpu} is held by {j}, which holds nothing" for j in holders if j not in state.holding)
        shares = [j.allocation.gpu_memory_bytes for j in jobs if j.allocation is not None]
        if len(jobs) > 1 and None in shares:
            yield f"GPU {gpu} is held by jobs {[j.id for j in jobs]}, and one of them asked for all of it"
        if None not in shares:
            shared[gpu] = sum(s or 0 for s in shares)
    for gpu, held in shared.items():
        known = state.gpus.get(gpu)
        if known is not None and known.memory_bytes is not None and held > known.memory_bytes:
            yield f"GPU {gpu} has {known.memory_bytes} bytes and {held} are granted"
    if shared != state.shared:
        yield f"shares are {dict(shared)} and counted as {state.shared}"
    for name, free in state.free.items():
        yield from (f"GPU {g} is free and held" for g in free if g in state.holders)
        yield from (f"GPU {g} is free and not usable" for g in free if not state.gpus[g].is_usable)
        yield from (f"GPU {g} is free on {name} and elsewhere" for g in free if state.gpus[g].node != name)
    for gpu_id, record in state.gpus.items():
        if record.is_usable and gpu_id not in state.holders and gpu_id not in state.free.get(record.node, ()):
            yield f"GPU {gpu_id} is usable, held by nobody, and not free"


def _queue(state: State) -> Iterator[str]:
    for lane in state.lanes.values():
        if not lane.entries:
            yield f"lane {lane.key} is empty"
        for entry in lane.entries:
            if state.standing.get(entry[2]) != (lane, entry):
                yield f"job {entry[2]} stands in a lane that it does not know"
    yield from (f"{j} is queued and unknown" for j in (*state.standing, *state.blocked) if j not in state.jobs)
    yield from (f"{j} is hopeless and not blocked" for j in state.hopeless - state.blocked)


def _accounts(state: State) -> Iterator[str]:
    running = Counter(f"user:{j.spec.user}" for j in state.holding.values() if j.allocation is not None)
    waiting = Counter(f"user:{j.spec.user}" for j in state.jobs.values() if j.state in WAITING)
    for scope, account in state.ledger.accounts.items():
        if scope.startswith("user:") and (account.running, account.pending) != (running[scope], waiting[scope]):
            yield f"{scope} has {running[scope]} running, {waiting[scope]} waiting; counted {account.running}, {account.pending}"
    for name in state.cpus_held:
        node = state.nodes.get(name)
        if node is not None and state.cpus_held[name] > node.cpus:
            yield f"node {name} has {node.cpus} cores and {state.cpus_held[name]} are granted"


def _submissions(state: State) -> Iterator[str]:
    sent = {(j.spec.uid, s.key): range(j.id, j.id + s.jobs) for j in state.jobs.values() if (s := j.spec.submission)}
    if sent != state.submissions:
        yield f"jobs came in {sent}, and what was taken is {state.submissions}"


def check(state: State) -> None:
    """Raise AssertionError with every invariant that does not hold."""
    problems = broken(state)
    if problems:
        raise AssertionError("; ".join(problems))
