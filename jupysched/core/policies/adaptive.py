"""Ours, for when nobody states a length: the least expected effort per job that ends by it goes first.

What a job of this user and width that has come this far still needs is learnt from those that ran before (Gittins'
index, with the attained service in place of a length: Aalto, Ayesta & Righter 2009; Tiresias, NSDI '19), corrected by
what became of those that were submitted together with it, and weighed by its GPUs. With `age` a job also rises as it
waits (as in Brinch Hansen's highest response ratio next, 1971); what that does on traces stands in docs/policies.md. A
running job counts a third of its effort, so that only a clearly better one preempts it. Whoever has waited too long, by
what has become usual here, goes first, the longest wait ahead: nothing starves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from jupysched.core.history import NOTHING_KNOWN, Outlook, bin_of
from jupysched.core.job import Job, JobId, Kind, UserName, kinds_of
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies.base import Order
from jupysched.core.policies.settings import Read, number, positive, switch
from jupysched.core.siblings import ALONE, Burst
from jupysched.core.state import State
from jupysched.core.usage import DAY_S

#: attained service is told apart by bins, bursts by their number; no burst has more bins than this
_BINS = 1000
#: seconds for which it is good enough to know how far the siblings that run have come
_STALE_S = 60.0
#: a burst is looked at again when a tenth more of it has ended
_MORE = 1.1


class Adaptive(Order):
    """Settings: learn (on, off), margin, age (the power of the wait that the effort is divided by), min_run_s, patience_s,
    patience (times the mean turnaround), quantum_s."""

    name = "adaptive"
    summary = "least expected effort first, learnt from what ran before; preempts"
    passing = Passing.SKIP
    preempts = True
    can_preempt = True
    by_user = True
    min_run_s = 1800.0
    reads: ClassVar[Mapping[str, Read]] = {
        **Order.reads, "learn": switch, "margin": positive, "age": number, "patience": number, "patience_s": number,
        "quantum_s": positive,
    }  # fmt: skip

    def __init__(self, settings: Mapping[str, str]) -> None:
        super().__init__(settings)
        self.learns = self.is_on("learn", default=True)
        self.margin = self.number("margin", 3.0)
        self.age = self.number("age", 0.0)
        self.patience_s = self.number("patience_s", 30 * DAY_S)
        self.patience = self.number("patience", 13.0)
        self.quantum_s = self.number("quantum_s", 600.0)
        #: outlooks by kind, remembered within one cycle
        self._outlooks: dict[Kind, Outlook] = {}
        self._asked_at = -1
        #: how far the running job of each burst that has come farthest has come, and when that was found
        self._farthest: dict[int, float] = {}
        self._looked_at = float("-inf")
        self._ends_seen = 0
        #: ranks that were found a moment ago: the job as it was, until when and until how many of its burst have ended they
        #: are good enough
        self._ranks: dict[JobId, tuple[Job, float, Burst, float, Rank]] = {}

    def key(self, state: State, job: Job) -> float:
        """First come, first served among those that have come as far; who has waited longest stands first."""
        return job.since + job.attained_s

    def split(self, state: State, job: Job) -> int:
        """By how far they have come, and by those that they came with."""
        burst = state.siblings.of.get(job.id) if self.learns else None
        return bin_of(job.attained_s) + (_BINS * burst.number if burst is not None else 0)

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """Expected effort in GPU-seconds, behind those who have waited too long."""
        job = state.jobs[entry[2]]
        known = self._ranks.get(job.id)
        if known is not None and known[0] is job and known[1] > now and known[2].ended <= known[3]:
            return known[4]
        return self._found(state, job, job.attained_s, now, 1.0, self.quantum_s)

    def running_rank(self, state: State, job: Job, now: float) -> Rank:
        """The same, at a third of the effort; looked at again when it has come further by the tenth of a doubling."""
        known = self._ranks.get(job.id)
        if known is not None and known[0] is job and known[1] > now and known[2].ended <= known[3]:
            return known[4]
        attained = job.attained_s + (now - job.started_at if job.started_at is not None else 0.0)
        return self._found(state, job, attained, now, self.margin, max(_STALE_S, attained * 0.07))

    def running_until(self, state: State, job: Job, now: float) -> float:
        """For as long as its rank was found good enough, and nobody asks before it may be stopped."""
        known = self._ranks.get(job.id)
        good = known[1] if known is not None and known[0] is job else now
        return good if job.granted_at is None else max(good, job.granted_at + self.min_run_s)

    def stirred(self, state: State) -> Iterable[JobId]:
        """Those of a burst of which another came to its end."""
        if self._ends_seen == state.siblings.ends:
            return []
        self._ends_seen = state.siblings.ends
        known = ((job, self._ranks.get(job)) for job in state.runners.places)
        return [job for job, its in known if its is not None and its[2].ended > its[3]]

    def _found(self, state: State, job: Job, attained: float, now: float, margin: float, good_for_s: float) -> Rank:
        waited = now - job.since - attained
        if waited > self._patience(state):
            rank: Rank = (0, job.since)
        else:
            effort = self._effort(state, job, attained, now) * max(1, job.spec.request.gpus) / margin
            rank = (1, effort / (max(0.0, waited) + 3600.0) ** self.age if self.age else effort)
        if len(self._ranks) > 2 * (len(state.holding) + len(state.standing)) + 100:
            self._ranks = {j: k for j, k in self._ranks.items() if j in state.holding or j in state.standing}
        burst = state.siblings.of.get(job.id, ALONE)
        self._ranks[job.id] = (job, now + good_for_s, burst, burst.ended * _MORE, rank)
        return rank

    def _effort(self, state: State, job: Job, attained: float, now: float) -> float:
        """Seconds to be spent on jobs like this, for each that ends by them."""
        if not self.learns:
            return NOTHING_KNOWN.effort_at(attained)
        outlook = self._outlook(state, job, now)
        burst = state.siblings.of.get(job.id)
        if burst is None:
            return outlook.effort_at(attained)
        if burst.ended:
            return burst.effort(attained, outlook.effort_at(attained))
        # None has ended: it will hardly end before it has come as far as the others.
        most = max(attained, burst.most_s, self._farthest_of(state, burst.number, now))
        return most - attained + outlook.effort_at(most)

    def _outlook(self, state: State, job: Job, now: float) -> Outlook:
        if self._asked_at != state.version:
            self._asked_at = state.version
            self._outlooks.clear()
        chain = kinds_of(job.spec)[::-1]
        outlook = self._outlooks.get(chain[-1])
        if outlook is None:
            outlook = state.history.outlook(chain, lambda kind: _live(state, kind, now))
            self._outlooks[chain[-1]] = outlook
        return outlook

    def _farthest_of(self, state: State, burst: int, now: float) -> float:
        if not self._looked_at <= now < self._looked_at + _STALE_S:
            self._looked_at = now
            self._farthest.clear()
            for job in state.holding.values():
                mine = state.siblings.of.get(job.id)
                if job.started_at is not None and mine is not None:
                    come = job.attained_s + now - job.started_at
                    self._farthest[mine.number] = max(come, self._farthest.get(mine.number, 0.0))
        return self._farthest.get(burst, 0.0)

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
