"""Who used how many GPU-seconds: now, lately (decayed), today and this week. Knows scopes, not jobs.

Scopes are 'user:ann', 'group:vision', 'class:low'. Decay is folded in when an account is touched, so an account that
nobody touches costs nothing and no timer runs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

DAY_S = 86400.0
LOG2_E = 1.0 / math.log(2.0)
WEEK_S = 7 * DAY_S
#: the Unix epoch was a Thursday; weeks here begin on Mondays, at midnight UTC
_MONDAY_S = 4 * DAY_S


@dataclass(slots=True)
class Account:
    """What one scope uses and has used."""

    #: GPUs held, jobs that hold them, jobs that wait
    gpus: float = 0.0
    running: int = 0
    pending: int = 0
    #: GPU-seconds, in all and decayed, as of `at`
    total: float = 0.0
    recent: float = 0.0
    at: float = 0.0
    #: GPU-seconds since midnight and since Monday (UTC), with the number of that day and week
    day: int = 0
    in_day: float = 0.0
    week: int = 0
    in_week: float = 0.0

    def accrue(self, now: float, half_life_s: float) -> None:
        """Bring it up to date."""
        elapsed = now - self.at
        if elapsed <= 0:
            return
        if self.gpus or self.recent:
            # Decays while it grows: the integral of gpus * 2**(-(now - t) / half_life) over the time elapsed.
            kept = math.exp2(-elapsed / half_life_s)
            self.recent = self.recent * kept + self.gpus * half_life_s * (1.0 - kept) * LOG2_E
        if not self.gpus:
            self.at = now
            return
        self.total += elapsed * self.gpus
        day, week = day_of(now), week_of(now)
        if day != self.day:
            self.day, self.in_day = day, 0.0
        if week != self.week:
            self.week, self.in_week = week, 0.0
        self.in_day += min(elapsed, now - day * DAY_S) * self.gpus
        self.in_week += min(elapsed, now - week_start(week)) * self.gpus
        self.at = now

    def recent_at(self, now: float, half_life_s: float) -> float:
        """Decayed GPU-seconds at a time, without touching it."""
        elapsed = max(0.0, now - self.at)
        if not elapsed:
            return self.recent
        kept = math.exp2(-elapsed / half_life_s)
        return self.recent * kept + self.gpus * half_life_s * (1.0 - kept) * LOG2_E

    def used_in(self, now: float, *, week: bool) -> float:
        """GPU-seconds of the day or week that `now` lies in."""
        elapsed = max(0.0, now - self.at)
        if week:
            number, kept = week_of(now), self.in_week
            return (kept if number == self.week else 0.0) + min(elapsed, now - week_start(number)) * self.gpus
        number, kept = day_of(now), self.in_day
        return (kept if number == self.day else 0.0) + min(elapsed, now - number * DAY_S) * self.gpus


def day_of(now: float) -> int:
    """The number of a day, from midnight UTC."""
    return int(now // DAY_S)


def week_of(now: float) -> int:
    """The number of a week, from Monday midnight UTC."""
    return int((now - _MONDAY_S) // WEEK_S)


def week_start(week: int) -> float:
    """When a week begins."""
    return week * WEEK_S + _MONDAY_S


@dataclass(slots=True)
class Ledger:
    """The accounts of all scopes."""

    accounts: dict[str, Account] = field(default_factory=dict)
    half_life_s: float = WEEK_S

    def of(self, scope: str) -> Account:
        """The account of a scope, opened if there is none."""
        account = self.accounts.get(scope)
        if account is None:
            account = self.accounts[scope] = Account()
        return account

    def seen(self, scope: str) -> Account:
        """The account of a scope, to read; an empty one if it has none yet."""
        return self.accounts.get(scope) or Account()

    def part_of(self, user: str, now: float) -> float:
        """The part of what all users used lately that is this user's; 0 if nobody used anything."""
        half = self.half_life_s
        everybody = sum(a.recent_at(now, half) for scope, a in self.accounts.items() if scope.startswith("user:"))
        return self.recent(f"user:{user}", now) / everybody if everybody else 0.0

    def queued(self, scopes: Iterable[str], change: int) -> None:
        """More or fewer of their jobs wait."""
        for scope in scopes:
            self.of(scope).pending += change

    def holds(self, scopes: Iterable[str], now: float, gpus: float, jobs: int) -> None:
        """They hold more or fewer GPUs from `now` on."""
        for scope in scopes:
            account = self.of(scope)
            account.accrue(now, self.half_life_s)
            account.gpus += gpus
            account.running += jobs

    def recent(self, scope: str, now: float) -> float:
        """Decayed GPU-seconds of a scope."""
        account = self.accounts.get(scope)
        return 0.0 if account is None else account.recent_at(now, self.half_life_s)
