"""What must always hold. check(state) is run by the tests after every step, and by the daemon after recovery."""

from __future__ import annotations

from jupysched.core.job import Priority
from jupysched.core.state import State
from jupysched.core.states import ENDED, HOLDING, JobState


def broken(state: State) -> list[str]:
    """Sentences about what does not hold; empty if all is well."""
    found: list[str] = []
    seen: dict[str, int] = {}
    for job in state.jobs.values():
        holds = job.allocation is not None
        if holds != (job.state in HOLDING):
            found.append(f"job {job.id} is {job.state} and {'holds' if holds else 'holds no'} GPUs")
        if job.allocation is not None:
            if len(job.allocation.gpus) != job.spec.request.gpus:
                found.append(f"job {job.id} asked {job.spec.request.gpus} GPUs and holds {len(job.allocation.gpus)}")
            for gpu in job.allocation.gpus:
                if job.spec.request.gpu_memory_bytes is None and gpu in seen:
                    found.append(f"GPU {gpu} is held by jobs {seen[gpu]} and {job.id}")
                seen[gpu] = job.id
                if job.id not in state.holders.get(gpu, ()):
                    found.append(f"GPU {gpu} does not know its holder {job.id}")
        waits = job.id in state.pending[job.priority] or job.id in state.blocked
        if waits != (job.state is JobState.PENDING):
            found.append(f"job {job.id} is {job.state} and {'in' if waits else 'not in'} the queue")
        if (job.ended_at is not None) != (job.state in ENDED):
            found.append(f"job {job.id} is {job.state} with ended_at {job.ended_at}")
    found += [f"{j} is queued and unknown" for p in Priority for j in state.pending[p] if j not in state.jobs]
    for gpu, holders in state.holders.items():
        found += [f"GPU {gpu} is held by {j}, which holds nothing" for j in holders if j not in state.holding]
    for free in state.free.values():
        found += [f"GPU {g} is free and held" for g in free if g in state.holders]
        found += [f"GPU {g} is free and not usable" for g in free if not state.gpus[g].is_usable]
    return found


def check(state: State) -> None:
    """Raise AssertionError with every invariant that does not hold."""
    problems = broken(state)
    if problems:
        raise AssertionError("; ".join(problems))
