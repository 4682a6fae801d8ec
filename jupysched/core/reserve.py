"""GPUs kept for somebody: whom a reservation holds back, and until when. Knows rules and accounts, not nodes."""

from __future__ import annotations

from collections.abc import Mapping

from jupysched.core.backfill import length_of
from jupysched.core.job import Job, scopes_of
from jupysched.core.limits import Bound, words
from jupysched.core.rules import Reservation
from jupysched.core.state import State
from jupysched.core.states import Reason

#: from this long before it begins, a reservation keeps out jobs whose end nobody knows
LEAD_S = 3600.0

Granted = Mapping[str, tuple[float, int]]


def withheld_from(state: State, job: Job, now: float, free: int, granted: Granted) -> Bound | None:
    """The reservation that keeps a job out, if it would take one of the reserved GPUs."""
    if not state.rules.reservations:
        return None
    scopes = scopes_of(job)
    kept = 0.0
    first: Reservation | None = None
    for reservation in state.rules.reservations.values():
        if reservation.scope in scopes or not _stands(state, job, reservation, now):
            continue
        used = state.ledger.seen(reservation.scope).gpus + granted.get(reservation.scope, (0.0, 0))[0]
        kept += max(0.0, reservation.gpus - used)
        first = first or reservation
    if first is None or free - job.spec.request.gpus >= kept:
        return None
    are = "GPU is" if kept == 1 else "GPUs are"
    sentence = f"{kept:g} free {are} reserved for {words(first.scope)} ({first.name})"
    return Bound(reason=Reason.RESERVATION, sentence=sentence, until=first.ends_at)


def _stands(state: State, job: Job, reservation: Reservation, now: float) -> bool:
    """Does it hold now, or will it before the job has ended?"""
    if now >= reservation.ends_at:
        return False
    if reservation.starts_at <= now:
        return True
    length = length_of(state, job)
    if length == float("inf"):
        return now >= reservation.starts_at - LEAD_S
    return now + length > reservation.starts_at
