"""Keeps the state's indexes true when one record changes. Called by fold alone."""

from __future__ import annotations

from sortedcontainers import SortedSet

from jupysched.core.job import Job, JobId
from jupysched.core.resources import Gpu, GpuId, NodeName
from jupysched.core.state import State
from jupysched.core.states import ENDED, HOLDING, JobState


def reindex_job(state: State, old: Job | None, new: Job) -> None:
    """Replace a job's record and put it into the indexes where it now belongs."""
    if old is not None:
        _leave(state, old)
    state.jobs[new.id] = new
    if new.state is JobState.PENDING:
        if state.is_blocked(new):
            state.blocked.add(new.id)
        else:
            state.pending[new.priority].add(new.id)
    elif new.state in HOLDING:
        state.holding[new.id] = None
        if new.allocation is not None:
            for gpu in new.allocation.gpus:
                state.holders[gpu] = (*state.holders.get(gpu, ()), new.id)
                _reindex_free(state, gpu)
    if new.state in ENDED:
        if old is None or old.state not in ENDED:
            _wake_dependents(state, new)
    else:
        for other in new.spec.after:
            state.dependents.setdefault(other, set()).add(new.id)


def _leave(state: State, job: Job) -> None:
    state.pending[job.priority].discard(job.id)
    state.blocked.discard(job.id)
    state.holding.pop(job.id, None)
    if job.state in HOLDING and job.allocation is not None:
        for gpu in job.allocation.gpus:
            left = tuple(j for j in state.holders.get(gpu, ()) if j != job.id)
            if left:
                state.holders[gpu] = left
            else:
                state.holders.pop(gpu, None)
            _reindex_free(state, gpu)


def _wake_dependents(state: State, ended: Job) -> None:
    for other in ended.spec.after:
        waiting = state.dependents.get(other)
        if waiting:
            waiting.discard(ended.id)
            if not waiting:
                del state.dependents[other]
    for waiting_id in state.dependents.get(ended.id, ()):
        waiting_job = state.jobs.get(waiting_id)
        if waiting_job is not None and waiting_id in state.blocked and not state.is_blocked(waiting_job):
            state.blocked.discard(waiting_id)
            state.pending[waiting_job.priority].add(waiting_id)


def remove_job(state: State, job_id: JobId) -> None:
    """Forget an ended job."""
    job = state.jobs[job_id]
    _leave(state, job)
    for other in job.spec.after:
        state.dependents.get(other, set()).discard(job_id)
    del state.jobs[job_id]
    state.dependents.pop(job_id, None)


def reindex_gpu(state: State, gpu: Gpu) -> None:
    """Replace a GPU's record."""
    state.gpus[gpu.id] = gpu
    _reindex_free(state, gpu.id)


def remove_node(state: State, name: NodeName) -> None:
    """Forget a node and its GPUs; what runs there keeps its allocation until it is heard of or given up."""
    node = state.nodes.pop(name, None)
    if node is not None:
        for gpu in node.gpus:
            state.gpus.pop(gpu, None)
    state.free.pop(name, None)


def _reindex_free(state: State, gpu_id: GpuId) -> None:
    gpu = state.gpus.get(gpu_id)
    if gpu is None:
        return
    free = state.free.setdefault(gpu.node, SortedSet(key=lambda g: state.gpus[g].index))
    if gpu.is_usable and gpu_id not in state.holders:
        free.add(gpu_id)
    else:
        free.discard(gpu_id)
