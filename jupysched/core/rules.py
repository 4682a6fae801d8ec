"""What an admin has set: limits, shares and reservations. Knows scopes and numbers; knows nothing of jobs or GPUs."""

from __future__ import annotations

from dataclasses import dataclass, field

#: limit -> what it means, as `jupysched limit` takes it
LIMITS: dict[str, str] = {
    "gpus": "GPUs held at once",
    "running": "jobs running at once",
    "pending": "jobs waiting at once",
    "time_s": "longest time of one job, in seconds",
    "gpu_minutes_day": "GPU-minutes a day (from midnight UTC)",
    "gpu_minutes_week": "GPU-minutes a week (from Monday, UTC)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """An entry in the tree of shares."""

    share: float
    parent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """GPUs kept for one scope for a while."""

    name: str
    scope: str
    gpus: int
    starts_at: float
    ends_at: float


@dataclass(slots=True)
class Rules:
    """All that is set now."""

    limits: dict[str, dict[str, float]] = field(default_factory=dict)
    shares: dict[str, Share] = field(default_factory=dict)
    reservations: dict[str, Reservation] = field(default_factory=dict)

    def limits_of(self, scope: str) -> dict[str, float]:
        """The limits of one scope; a user without his own has those of 'user:*'."""
        own = self.limits.get(scope)
        if own is None and scope.startswith("user:"):
            own = self.limits.get("user:*")
        return own or {}

    @property
    def need_users(self) -> bool:
        """Must the queue tell users apart, whatever the policy?"""
        return bool(self.limits or self.reservations)
