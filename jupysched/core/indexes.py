"""Keeps the state's indexes true when one record changes. Called by fold alone."""

from __future__ import annotations

from typing import TypeVar

from sortedcontainers import SortedList, SortedSet

from jupysched.core.job import Job, JobId, scopes_of
from jupysched.core.lanes import Entry, Lane, lane_key
from jupysched.core.limits import deadline_of
from jupysched.core.resources import Allocation, Gpu, GpuId, NodeName
from jupysched.core.state import State
from jupysched.core.states import ENDED, HOLDING, WAITING, JobState

K = TypeVar("K", bound=str)


def reindex_job(state: State, old: Job | None, new: Job) -> None:
    """Replace a job's record and put it into the indexes where it now belongs."""
    state.jobs[new.id] = new
    if old is not None:
        if old.allocation is not None and old.allocation is new.allocation:
            _go_on(state, old, new)
            return
        _leave(state, old)
    if new.state in WAITING:
        _join_queue(state, new)
    elif new.state in HOLDING:
        _hold(state, new)
    if new.state in ENDED:
        if old is None or old.state not in ENDED:
            _wake_dependents(state, new)
    else:
        for other in new.spec.after:
            state.dependents.setdefault(other, set()).add(new.id)


def _go_on(state: State, old: Job, new: Job) -> None:
    """It holds what it held; only its state or times changed."""
    state.holding[new.id] = new
    state.runners.changed(new)
    before, after = deadline_of(state, old), deadline_of(state, new)
    if before != after:
        if before is not None:
            state.deadlines.discard((before, old.id))
        if after is not None:
            state.deadlines.add((after, new.id))


def _join_queue(state: State, job: Job) -> None:
    scopes = scopes_of(job)
    if job.state is JobState.PENDING and job.spec.after and state.is_blocked(job):
        state.blocked.add(job.id)
        note_hopeless(state, job)
    else:
        join_lane(state, job)
    state.ledger.queued(scopes, 1)


def join_lane(state: State, job: Job) -> None:
    """Put it into the lane of its like."""
    order = state.order
    if order is None:
        return
    key = lane_key(job, order.split(state, job), by_user=order.by_user or state.rules.need_users)
    lane = state.lanes.get(key)
    if lane is None:
        spec = job.spec
        place = job.moved.place if job.moved is not None else 0
        lane = Lane(
            key=key, request=spec.request, user=spec.user, groups=spec.groups, priority=job.priority, place=place
        )
        state.lanes[key] = lane
    entry = (order.key(state, job), job.since, job.id)
    lane.add(entry, job.spec.request.time_limit_s)
    state.standing[job.id] = (lane, entry)


def leave_lane(state: State, job: Job) -> None:
    """Take it out of its lane, if it stands in one."""
    stood = state.standing.pop(job.id, None)
    if stood is None:
        return
    lane, entry = stood
    lane.remove(entry, job.spec.request.time_limit_s)
    if not lane.entries:
        del state.lanes[lane.key]


def return_to_lane(state: State, job: Job, lane: Lane, entry: Entry) -> None:
    """Put it back exactly where it stood."""
    state.lanes.setdefault(lane.key, lane).add(entry, job.spec.request.time_limit_s)
    state.standing[job.id] = (lane, entry)


def rebuild_lanes(state: State) -> None:
    """The policy or the rules changed: everybody lines up anew."""
    state.runners.begin_anew(state.holding.values())
    waiting = sorted(state.standing)
    state.lanes.clear()
    state.standing.clear()
    for job_id in waiting:
        join_lane(state, state.jobs[job_id])


def rebuild_deadlines(state: State) -> None:
    """The limits changed: so did the time at which some running jobs must end."""
    ends = ((deadline_of(state, job), job.id) for job in state.holding.values())
    state.deadlines = SortedList((end, job) for end, job in ends if end is not None)


def _hold(state: State, job: Job) -> None:
    state.holding[job.id] = job
    state.runners.changed(job)
    held = job.allocation
    if held is None:
        return
    for gpu in held.gpus:
        state.holders[gpu] = (*state.holders.get(gpu, ()), job.id)
        reindex_free(state, gpu)
    _count_node(state, held, 1)
    state.ledger.holds(scopes_of(job), state.now, held.weight, 1)
    end = deadline_of(state, job)
    if end is not None:
        state.deadlines.add((end, job.id))


def _leave(state: State, job: Job) -> None:
    if job.state in WAITING:
        state.blocked.discard(job.id)
        state.hopeless.discard(job.id)
        leave_lane(state, job)
        state.ledger.queued(scopes_of(job), -1)
    elif job.state in HOLDING:
        state.holding.pop(job.id, None)
        state.runners.left(job.id)
        held = job.allocation
        if held is None:
            return
        end = deadline_of(state, job)
        if end is not None:
            state.deadlines.discard((end, job.id))
        for gpu in held.gpus:
            left = tuple(j for j in state.holders.get(gpu, ()) if j != job.id)
            if left:
                state.holders[gpu] = left
            else:
                state.holders.pop(gpu, None)
            reindex_free(state, gpu)
        _count_node(state, held, -1)
        state.ledger.holds(scopes_of(job), state.now, -held.weight, -1)


def _count_node(state: State, held: Allocation, sign: int) -> None:
    """CPU cores, RAM and shares of a GPU, which are counted and not named."""
    state.shapes.pop(held.nodes[0], None)
    if held.cpus:
        _count(state.cpus_held, held.nodes[0], sign * held.cpus)
    if held.memory_bytes:
        _count(state.memory_held, held.nodes[0], sign * held.memory_bytes)
    if held.gpu_memory_bytes is not None:
        for gpu in held.gpus:
            _count(state.shared, gpu, sign * held.gpu_memory_bytes)


def _count(counts: dict[K, int], key: K, change: int) -> None:
    left = counts.get(key, 0) + change
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)


def note_hopeless(state: State, job: Job) -> None:
    """Remember a blocked job whose dependency ended without success."""
    for other_id in job.spec.after:
        other = state.jobs.get(other_id)
        if other is not None and other.state in ENDED and other.state is not JobState.SUCCEEDED:
            state.hopeless.add(job.id)
            return
    state.hopeless.discard(job.id)


def _wake_dependents(state: State, ended: Job) -> None:
    for other in ended.spec.after:
        waiting = state.dependents.get(other)
        if waiting:
            waiting.discard(ended.id)
            if not waiting:
                del state.dependents[other]
    for waiting_id in sorted(state.dependents.get(ended.id, ())):
        waiting_job = state.jobs.get(waiting_id)
        if waiting_job is None or waiting_id not in state.blocked:
            continue
        if state.is_blocked(waiting_job):
            note_hopeless(state, waiting_job)
        else:
            state.blocked.discard(waiting_id)
            join_lane(state, waiting_job)


def remove_job(state: State, job_id: JobId) -> None:
    """Forget an ended job; one that others still wait for is kept, so that its failure is not forgotten with it."""
    if state.dependents.get(job_id):
        return
    spec = state.jobs.pop(job_id).spec
    if spec.submission is not None:
        state.submissions.pop((spec.uid, spec.submission.key), None)
    state.siblings.forget(job_id)
    state.dependents.pop(job_id, None)


def reindex_gpu(state: State, gpu: Gpu) -> None:
    """Replace a GPU's record."""
    state.gpus[gpu.id] = gpu
    state.hardware_changed()
    reindex_free(state, gpu.id)


def remove_node(state: State, name: NodeName, *, keep: tuple[Gpu, ...] = ()) -> None:
    """Forget a node and its GPUs (but those that it still has, if it joins anew); what runs there keeps its allocation
    until it is heard of or given up."""
    node = state.nodes.pop(name, None)
    kept = {gpu.id for gpu in keep}
    state.hardware_changed()
    state.free.pop(name, None)
    state.shapes.pop(name, None)
    if node is not None:
        for gpu in node.gpus:
            if gpu not in kept:
                state.gpus.pop(gpu, None)


def reindex_free(state: State, gpu_id: GpuId) -> None:
    """Put a GPU among the free ones of its node, or take it out."""
    gpu = state.gpus.get(gpu_id)
    if gpu is None:
        return
    state.shapes.pop(gpu.node, None)
    free = state.free.get(gpu.node)
    if free is None:
        free = state.free[gpu.node] = SortedSet(key=lambda g: state.gpus[g].index)
    if gpu_id not in state.holders and gpu.is_usable:
        free.add(gpu_id)
    else:
        free.discard(gpu_id)
