"""Ours, for when nobody states a length: the least expected effort per job that ends by it goes first.

What a job of this user and width that has come this far still needs is learnt from those that ran before (Gittins'
index, with the attained service in place of a length: Aalto, Ayesta & Righter 2009; Tiresias, NSDI '19), and weighed by
its GPUs. A running job counts a third of its effort, so that only a clearly better one preempts it. Whoever has waited too
long, by what has become usual here, goes first, the longest wait ahead: nothing starves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from jupysched.core.history import NOTHING_KNOWN, Outlook, bin_of
from jupysched.core.job import Job, JobId, Kind, UserName, kinds_of
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies.base import Order
from jupysched.core.state import State
from jupysched.core.usage import DAY_S


class Adaptive(Order):
    """Settings: learn (on, off), margin, min_run_s, patience_s, patience (times the mean turnaround), quantum_s."""

    name = "adaptive"
    summary = "least expected effort first, learnt from what ran before; preempts"
    passing = Passing.SKIP
    preempts = True
    can_preempt = True
    by_user = True
    min_run_s = 1800.0

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.learns = settings.get("learn", "on") in ("on", "true", "yes", "1")
        self.margin = self.number("margin", 3.0)
        self.patience_s = self.number("patience_s", 30 * DAY_S)
        self.patience = self.number("patience", 13.0)
        self.quantum_s = self.number("quantum_s", 600.0)
        #: outlooks by user and width, remembered within one cycle
        self._outlooks: dict[tuple[str, int], Outlook] = {}
        self._asked_at = -1
        #: (job as it was, until when it is good enough, rank)
        self._ranks: dict[JobId, tuple[Job, float, Rank]] = {}

    def key(self, state: State, job: Job) -> float:
        """First come, first served among those that have come as far."""
        return 0.0

    def split(self, state: State, job: Job) -> int:
        """By how far they have come."""
        return bin_of(job.attained_s)

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, int], now: float) -> Rank:
        """Expected effort in GPU-seconds, behind those who have waited too long."""
        attained = state.jobs[entry[2]].attained_s
        if now - entry[1] - attained > self._patience(state):
            return (0, entry[1])
        return (1, self._effort(state, lane.user, lane.request.gpus, attained, now))

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        """The same, at a third of the effort. What it was a moment ago is good enough: it changes by the tenth of a doubling."""
        known = self._ranks.get(job.id)
        if known is not None and known[0] is job and known[1] > now:
            return known[2]
        attained = job.attained_s + (now - job.started_at if job.started_at is not None else 0.0)
        if now - job.since - attained > self._patience(state):
            rank: Rank = (0, job.since)
        else:
            effort = self._effort(state, job.spec.user, job.spec.request.gpus, attained, now)
            rank = (1, effort / self.margin)
        if len(self._ranks) > 2 * len(state.holding) + 100:
            self._ranks = {j: k for j, k in self._ranks.items() if j in state.holding}
        self._ranks[job.id] = (job, now + max(60.0, attained * 0.07), rank)
        return rank

    def _effort(self, state: State, user: str, gpus: int, attained: float, now: float) -> float:
        if not self.learns:
            return NOTHING_KNOWN.effort_at(attained) * max(1, gpus)
        if self._asked_at != state.version:
            self._asked_at = state.version
            self._outlooks.clear()
        outlook = self._outlooks.get((user, gpus))
        if outlook is None:
            chain: tuple[Kind, ...] = (("all",), ("user", user), ("width", user, gpus))
            outlook = self._outlooks[user, gpus] = state.history.outlook(chain, lambda kind: _live(state, kind, now))
        return outlook.effort_at(attained) * max(1, gpus)

    def _patience(self, state: State) -> float:
        return max(self.patience_s, self.patience * state.history.mean_turnaround_s)

    def next_change(self, state: State, now: float) -> float | None:
        """Those that run come further all the time; looked at again now and then."""
        return now + self.quantum_s if state.lanes else None


def _live(state: State, kind: Kind, now: float) -> Iterator[tuple[int, int]]:
    """The attempts of a kind that run now, as (first bin, bin that they are in)."""
    for job in state.holding.values():
        if job.started_at is not None and kind in kinds_of(job.spec):
            yield bin_of(job.attained_s), bin_of(job.attained_s + now - job.started_at)
