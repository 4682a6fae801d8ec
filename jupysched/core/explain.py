"""Why a job waits, when it should start, and what would help, in one plain sentence. From what decide reads and does."""

from __future__ import annotations

import math
from dataclasses import dataclass

from jupysched.core.forecast import forecast
from jupysched.core.job import Job, JobId
from jupysched.core.limits import Bound, bound_now, in_words
from jupysched.core.placement import Room, could_ever_fit, fits_type
from jupysched.core.reserve import withheld_from
from jupysched.core.resources import Request
from jupysched.core.state import State
from jupysched.core.states import REASONS, WAITING, JobState, Reason
from jupysched.core.whatif import shorter, smaller


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What to tell the person who waits."""

    reason: Reason | None
    sentence: str
    position: int | None = None
    #: unix time by which it should have started; None where nothing is known of how long those ahead will take
    expected_start_at: float | None = None
    #: unix time before which it will hardly start
    expected_start_from: float | None = None


_STARTS = "starts now"


def explain(state: State, job_id: JobId, *, now: float) -> Explanation:
    """Return the reason and one sentence for a job in any state."""
    job = state.jobs[job_id]
    if job.state in WAITING:
        return _pending(state, job, now)
    if job.reason is None:
        return Explanation(reason=None, sentence="")
    said = job.detail if " " in job.detail else REASONS[job.reason]
    if job.reason is Reason.PREEMPTED:
        said = f"preempted {job.detail}" if job.detail else REASONS[job.reason]
    return Explanation(reason=job.reason, sentence=said)


def _pending(state: State, job: Job, now: float) -> Explanation:
    if job.id in state.blocked:
        names = [
            f"job {o} ({state.jobs[o].spec.name})"
            for o in job.spec.after
            if o in state.jobs and state.jobs[o].state is not JobState.SUCCEEDED
        ]
        return Explanation(reason=Reason.DEPENDENCY, sentence=f"waits for {', '.join(names)} to succeed")
    position = state.position(job.id)
    never = _never(state, job)
    if never is not None:
        return Explanation(reason=never.reason, sentence=never.sentence + _moved(job, now), position=position)
    bound = bound_now(state, job, now) or withheld_from(state, job, now, Room(state).total, {})
    if bound is not None:
        sentence = bound.sentence + _moved(job, now)
        return Explanation(reason=bound.reason, sentence=sentence, position=position, expected_start_from=bound.until)
    soon, late = _forecasts(state, now).get(job.id, (math.inf, math.inf))
    reason, sentence = _waits(state, job, position or 1, now)
    return Explanation(
        reason=reason,
        sentence=sentence
        + _moved(job, now)
        + _when(soon, late, now)
        + ("" if sentence == _STARTS else _help(state, job, now)),
        position=position,
        expected_start_at=None if math.isinf(late) else late,
        expected_start_from=None if math.isinf(soon) else soon,
    )


def _forecasts(state: State, now: float) -> dict[JobId, tuple[float, float]]:
    if state.forecasts[0] != state.version:
        state.forecasts = (state.version, forecast(state, now))
    return state.forecasts[1]


def _never(state: State, job: Job) -> Bound | None:
    """Why it cannot start while the nodes are what they are."""
    request = job.spec.request
    if not state.nodes:
        return Bound(reason=Reason.NODE_DRAINED, sentence="no node has joined yet")
    unit = _unit(state, request.gpus)
    if not could_ever_fit(state, request):
        most = _most(state, request, usable=False)
        what = (
            f"the largest node has {most}" if most < request.gpus else "no node has the CPU cores and RAM it asks for"
        )
        return Bound(reason=Reason.GANG_TOO_WIDE, sentence=f"needs {unit}{_kind(request)} on one node; {what}")
    if not could_ever_fit(state, request, usable=True):
        most = _most(state, request, usable=True)
        said = [s for g in state.gpus.values() for s in (*g.drains.values(), *g.foreign)]
        why = f" ({said[0]})" if said else ""
        return Bound(
            reason=Reason.NODE_DRAINED,
            sentence=f"needs {unit}{_kind(request)}; only {most} of one node are usable now{why}",
        )
    return None


def _most(state: State, request: Request, *, usable: bool) -> int:
    """GPUs of the asked kind on the node that has most."""
    counts = (
        sum(
            1
            for g in n.gpus
            if g in state.gpus and fits_type(state.gpus[g], request) and (state.gpus[g].is_usable or not usable)
        )
        for n in state.nodes.values()
    )
    return max(counts, default=0)


def _unit(state: State, wanted: int) -> str:
    slots = any(g.kind.value == "cpu_slot" for g in state.gpus.values())
    return f"{wanted} {'CPU slot' if slots else 'GPU'}{'s' if wanted != 1 else ''}"


def _kind(request: Request) -> str:
    if request.gpu_memory_bytes:
        return f" with {request.gpu_memory_bytes / (1 << 30):.3g} GiB"
    return f" of type {request.gpu_type}" if request.gpu_type else ""


def _waits(state: State, job: Job, position: int, now: float) -> tuple[Reason, str]:
    """What it waits for, and who is ahead."""
    request = job.spec.request
    room = Room(state)
    sentence = f"needs {_needs(state, request)}; {_there_is(state, room, request)}"
    if position > 1:
        ahead = next(iter(state.queue(now)), None)
        who = _name(ahead, job) if ahead is not None else "another"
        more = position - 2
        sentence += f"; {who}{f' and {more} more' if more else ''} {'are' if more else 'is'} ahead of it"
        if ahead is not None and ahead.moved is not None:
            sentence += f" (job {ahead.id} was moved to the front by {ahead.moved.by})"
    ending = _next_end(state, job, now)
    if ending:
        sentence += f"; {ending}"
    fits = room.place(request) is not None
    if fits and position == 1:
        return Reason.RESOURCES, _STARTS
    return (Reason.PRIORITY if position > 1 else Reason.RESOURCES), sentence


def _needs(state: State, request: Request) -> str:
    wanted = [f"{_unit(state, request.gpus)}{_kind(request)}"] if request.gpus else []
    if request.cpus or not request.gpus:
        wanted.append(f"{request.cpus or 1} CPU core{'s' if (request.cpus or 1) > 1 else ''}")
    if request.memory_bytes:
        wanted.append(f"{request.memory_bytes / (1 << 30):.3g} GiB of RAM")
    is_on_one = request.nodes == 1 and (request.gpus > 1 or len(wanted) > 1)
    return _and(wanted) + (" on one node" if is_on_one else "")


def _there_is(state: State, room: Room, request: Request) -> str:
    """What of it is free, on the node that has most."""
    fitting = {name: len(room.fitting(name, request)) for name in state.nodes}
    free = max(fitting.values(), default=0)
    said = [f"{free or 'none'} {'is' if free <= 1 else 'are'} free"] if request.gpus else []
    nodes = [node for name, node in state.nodes.items() if fitting[name] >= request.gpus]
    if nodes and not any(room.has_cpus(node, request) for node in nodes):
        cpus, memory = max((max(0, room.free_cpus(node)), max(0, room.free_memory(node))) for node in nodes)
        said += [f"{cpus or 'no'} core{'' if cpus == 1 else 's'}"] if request.cpus or not request.gpus else []
        said += [f"{memory / (1 << 30):.3g} GiB of RAM"] if request.memory_bytes else []
        if not request.gpus:
            return _and(said) + " are free"
        return f"{said[0]}, but only {_and(said[1:])} with {'it' if free == 1 else 'them'}"
    return _and(said) or "the cores are free"


def _and(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _name(other: Job, job: Job) -> str:
    """Another job, as the user of this one knows it."""
    whose = f", {other.spec.user}" if other.spec.user != job.spec.user else ""
    return f"job {other.id} ({other.spec.name}{whose})"


def _moved(job: Job, now: float) -> str:
    """Who had it moved to the front, and when."""
    if job.moved is None:
        return ""
    ahead_of = "" if job.moved.place < 0 else f" of {job.spec.user}'s {job.priority.value} jobs"
    ago = in_words(now - job.moved.at).removeprefix("in ") + " ago" if now - job.moved.at >= 60 else "just now"
    return f"; moved to the front{ahead_of} by {job.moved.by} {ago}"


def _next_end(state: State, job: Job, now: float) -> str:
    """Which running job must end first."""
    if state.deadlines:
        end, job_id = state.deadlines[0]
        return f"{_name(state.jobs[job_id], job)} ends {in_words(max(0.0, end - now))} at the latest"
    running = [j for j in state.holding.values() if j.state is not JobState.STOPPING]
    if len(running) == 1:
        return f"{_name(running[0], job)} is running"
    return f"{len(running)} jobs are running" if running else ""


def _when(soon: float, late: float, now: float) -> str:
    if math.isinf(soon) or (soon <= now and late <= now):
        return ""
    first = in_words(max(0.0, soon - now))
    if math.isinf(late):
        return f"; should start {first} at the earliest"
    last = in_words(late - now)
    if first == last:
        return f"; should start {first}"
    if first.split()[2] == last.split()[2]:
        first = " ".join(first.split()[:2])  # 'in 1 to 2 min', not 'in 1 min to 2 min'
    return f"; should start {first} to {last.removeprefix('in ')}"


def _help(state: State, job: Job, now: float) -> str:
    """What would start now instead, if anything would."""
    if job.state is not JobState.PENDING or not state.free_gpus():
        return ""
    fewer = smaller(state, job, now)
    if fewer is not None:
        return f"; {_unit(state, fewer)} would start now"
    seconds = shorter(state, job, now)
    return f"; with --time {seconds / 60:g}m it would start now" if seconds is not None else ""
