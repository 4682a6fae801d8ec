"""What admins set: policy, limits, shares, reservations; and what everybody may read of it: usage. Decides nothing."""

from __future__ import annotations

import re

from jupysched.core import events as ev
from jupysched.core.errors import BadRequest, NotYours
from jupysched.core.policies import POLICIES, check_policy
from jupysched.core.rules import LIMITS
from jupysched.daemon.auth import Person
from jupysched.daemon.loop import Loop
from jupysched.daemon.views import iso
from jupysched.sim.export import jobs_of
from jupysched.sim.trace import TraceJob
from jupysched.wire import requests as ask
from jupysched.wire.messages import PolicyRecord
from jupysched.wire.records import ReservationRecord, UsageRecord

_SCOPE = re.compile(r"(user|group):\S.*|class:(low|normal|high)")


def policy(loop: Loop, person: Person, request: ask.Policy) -> PolicyRecord:
    """The policy in force, after setting it if one is named. Running jobs are not disturbed."""
    known = sorted(POLICIES)
    if request.name is not None:
        _admin(person, "set the policy")
        check_policy(request.name, request.settings)
        loop.record(ev.PolicySet(at=loop.now(), by=person.name, name=request.name, settings=request.settings))
    return PolicyRecord(name=loop.state.policy, settings=loop.state.policy_settings, known=known)


def set_limits(loop: Loop, person: Person, request: ask.Limit) -> list[UsageRecord]:
    """Raises BadRequest that names the scope or limit that is wrong, NotYours."""
    _admin(person, "set limits")
    _check_scope(request.scope)
    for name, most in request.limits.items():
        if name not in LIMITS:
            raise BadRequest(f"There is no limit {name!r}; known are {', '.join(LIMITS)}.")
        if not most >= 0:
            raise BadRequest(f"The limit {name} is {most:g}; expected 0 or more.")
    loop.record(ev.LimitsSet(at=loop.now(), by=person.name, scope=request.scope, limits=request.limits))
    return usage(loop)


def set_share(loop: Loop, person: Person, request: ask.Share) -> list[UsageRecord]:
    """Raises BadRequest, NotYours."""
    _admin(person, "set shares")
    _check_scope(request.scope)
    if not request.share >= 0:
        raise BadRequest(f"The share is {request.share:g}; expected 0 or more.")
    if request.parent:
        _check_scope(request.parent)
    loop.record(
        ev.ShareSet(at=loop.now(), by=person.name, scope=request.scope, share=request.share, parent=request.parent)
    )
    return usage(loop)


def reserve(loop: Loop, person: Person, request: ask.Reserve) -> list[ReservationRecord]:
    """Raises BadRequest, NotYours."""
    _admin(person, "reserve GPUs")
    if request.gpus <= 0:
        if request.name not in loop.state.rules.reservations:
            raise BadRequest(f"There is no reservation {request.name!r}.")
        loop.record(ev.ReservationEnded(at=loop.now(), by=person.name, name=request.name))
        return reservations(loop)
    _check_scope(request.scope)
    if request.gpus > len(loop.state.gpus):
        raise BadRequest(f"{request.gpus} GPUs cannot be reserved; there are {len(loop.state.gpus)}.")
    if not request.starts_at < request.ends_at:
        raise BadRequest("The reservation ends before it begins.")
    loop.record(
        ev.ReservationMade(
            at=loop.now(),
            by=person.name,
            name=request.name,
            scope=request.scope,
            gpus=request.gpus,
            starts_at=request.starts_at,
            ends_at=request.ends_at,
        )
    )
    return reservations(loop)


def reservations(loop: Loop) -> list[ReservationRecord]:
    """All that are set, by their start."""
    found = sorted(loop.state.rules.reservations.values(), key=lambda r: r.starts_at)
    return [
        ReservationRecord(
            name=r.name, scope=r.scope, gpus=r.gpus, starts_at=iso(r.starts_at) or "", ends_at=iso(r.ends_at) or ""
        )
        for r in found
    ]


def usage(loop: Loop) -> list[UsageRecord]:
    """Every scope that has used something, waits, or has a limit or share; who used most lately first."""
    rules, ledger, now = loop.state.rules, loop.state.ledger, loop.now()
    found = []
    for scope in {*ledger.accounts, *rules.limits, *rules.shares}:
        account = ledger.seen(scope)
        share = rules.shares.get(scope)
        found.append(
            UsageRecord(
                scope=scope,
                gpus=account.gpus,
                running=account.running,
                pending=account.pending,
                gpu_seconds=account.total + max(0.0, now - account.at) * account.gpus,
                gpu_seconds_today=account.used_in(now, week=False),
                gpu_seconds_week=account.used_in(now, week=True),
                gpu_seconds_recent=ledger.recent(scope, now),
                share=share.share if share else None,
                limits=rules.limits_of(scope),
            )
        )
    return sorted(found, key=lambda r: (-r.gpu_seconds_recent, r.scope))


def history(loop: Loop, person: Person) -> list[TraceJob]:
    """What ran to its own end, as a trace that `jupysched simulate` reads. Raises NotYours."""
    _admin(person, "export the history: it tells who ran what")
    return jobs_of(loop.story())


def _admin(person: Person, what: str) -> None:
    if not person.is_admin:
        raise NotYours(f"Only an admin can {what}.")


def _check_scope(scope: str) -> None:
    if not _SCOPE.fullmatch(scope):
        raise BadRequest(
            f"{scope!r} is no scope; expected user:NAME, user:* (each user without his own), group:NAME or "
            "class:low, class:normal, class:high."
        )
