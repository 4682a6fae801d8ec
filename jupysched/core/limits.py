"""What a job may not exceed: which limit it meets, how much is left, when it comes back. Knows rules and accounts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from jupysched.core.job import Job, JobSpec, Priority, scopes_of
from jupysched.core.resources import Request
from jupysched.core.state import State
from jupysched.core.states import JobState, Reason
from jupysched.core.usage import DAY_S, day_of, week_of, week_start


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A limit that a job meets."""

    reason: Reason
    sentence: str
    #: when it comes back by itself; None if only the end of other jobs helps
    until: float | None = None


def time_limit_of(state: State, job: Job) -> float | None:
    """Seconds an attempt may run: its --time, or the longest time its user, group or class may have."""
    limit = job.spec.request.time_limit_s
    if not state.rules.limits:
        return limit
    for scope in scopes_of(job):
        most = state.rules.limits_of(scope).get("time_s")
        if most is not None and (limit is None or most < limit):
            limit = most
    return limit


def deadline_of(state: State, job: Job) -> float | None:
    """When its limit runs out; None if it has none or does not run."""
    if job.state is not JobState.RUNNING or job.started_at is None:
        return None
    limit = time_limit_of(state, job)
    return None if limit is None else job.started_at + limit


def bound_now(
    state: State, job: Job, now: float, granted: Mapping[str, tuple[float, int]] = MappingProxyType({})
) -> Bound | None:
    """The limit that keeps a waiting job from starting now; `granted`: what scopes were given in this cycle."""
    if not state.rules.limits:
        return None
    for scope in scopes_of(job):
        limits = state.rules.limits_of(scope)
        if limits:
            bound = _bound(state, limits, scope, job, now, granted.get(scope, (0.0, 0)))
            if bound is not None:
                return bound
    return None


def weight_of(state: State, request: Request) -> float:
    """The GPUs that it will count for in accounts; of a share, on the smallest GPU that has it: it is never more."""
    share = request.gpu_memory_bytes
    if share is None or request.gpus != 1:
        return float(request.gpus)
    sizes = [g.memory_bytes for g in state.gpus.values() if g.memory_bytes is not None and g.memory_bytes >= share]
    return share / min(sizes) if sizes else 1.0


def _bound(
    state: State, limits: dict[str, float], scope: str, job: Job, now: float, more: tuple[float, int]
) -> Bound | None:
    account = state.ledger.seen(scope)
    reason = Reason.QOS_LIMIT if scope.startswith("class:") else Reason.QUOTA
    who = words(scope)
    most = limits.get("gpus")
    need = weight_of(state, job.spec.request)
    if most is not None and account.gpus + more[0] + need > most + 1e-9:
        left = max(0.0, most - account.gpus - more[0])
        are = "is" if left == 1 else "are"
        return Bound(reason=reason, sentence=f"{who} may hold {_many(most, 'GPU')} at once; {left:g} {are} left")
    most = limits.get("running")
    if most is not None and account.running + more[1] + 1 > most:
        return Bound(reason=reason, sentence=f"{who} may have {_many(most, 'job')} running at once, and has as many")
    for name, week in (("gpu_minutes_day", False), ("gpu_minutes_week", True)):
        most = limits.get(name)
        if most is not None and account.used_in(now, week=week) >= most * 60:
            back = week_start(week_of(now) + 1) if week else (day_of(now) + 1) * DAY_S
            span = "this week" if week else "today"
            text = f"{who} has used the {most:g} GPU-minutes of {span}; they come back {in_words(back - now)}"
            return Bound(reason=reason, sentence=text, until=back)
    return None


def refusal(state: State, spec: JobSpec, priority: Priority) -> str | None:
    """The sentence with which a submission is refused; None if it may wait in the queue."""
    if not state.rules.limits:
        return None
    asked = spec.request
    scopes = (f"user:{spec.user}", *(f"group:{g}" for g in spec.groups), f"class:{priority.value}")
    for scope in scopes:
        limits, who = state.rules.limits_of(scope), words(scope)
        most = limits.get("pending")
        waiting = state.ledger.seen(scope).pending
        if most is not None and waiting + 1 > most:
            return f"{who} may have {_many(most, 'job')} waiting, and has {waiting}."
        most = limits.get("time_s")
        if most is not None and asked.time_limit_s is not None and asked.time_limit_s > most:
            return f"{who} may ask for {most:g} s at most; this asks for {asked.time_limit_s:g} s."
        most = limits.get("gpus")
        if most is not None and asked.gpus > most:
            return f"{who} may hold {_many(most, 'GPU')} at once; this asks for {asked.gpus}."
    return None


def _many(count: float, what: str) -> str:
    return f"{count:g} {what}" + ("" if count == 1 else "s")


def words(scope: str) -> str:
    """A scope as people say it."""
    kind, _, name = scope.partition(":")
    return {"user": name, "group": f"group {name}", "class": f"the class {name}"}.get(kind, scope)


def in_words(seconds: float) -> str:
    """A span to come, roughly: 'in 40 min', 'in 3 h', 'in 2 days'."""
    if seconds < 90 * 60:
        return f"in {max(1, round(seconds / 60))} min"
    if seconds < 36 * 3600:
        return f"in {round(seconds / 3600)} h"
    return f"in {round(seconds / DAY_S)} days"
