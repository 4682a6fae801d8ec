"""The jobs that run, by the rank that their policy gives them, kept from cycle to cycle. Knows who stands behind whom;
knows nothing of what they would give back.

A rank is looked at again when the policy said that it may differ, or when something happened to the job. So a cycle
costs as much as there are jobs that rank behind the head of the queue, not as there are jobs that run."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import inf

from sortedcontainers import SortedList

from jupysched.core.job import Job, JobId
from jupysched.core.lanes import Rank
from jupysched.core.states import JobState

#: (rank, since, job)
Place = tuple[Rank, float, JobId]


#: a job's rank, and until when it is that, if nothing happens to the job
RankOf = Callable[[Job], tuple[Rank, float]]


@dataclass(slots=True)
class Runners:
    """Told of every job that holds GPUs, by `changed` and `left`; asked once `look_again` has brought it up to date."""

    ranked: SortedList = field(default_factory=SortedList)
    places: dict[JobId, Place] = field(default_factory=dict)
    #: those that were told to stop, and still hold their GPUs
    stopping: dict[JobId, Job] = field(default_factory=dict)
    #: those to which something happened since they were ranked
    news: dict[JobId, Job] = field(default_factory=dict)
    #: (until when a rank is good, job), and the newest of these for each job
    due: list[tuple[float, JobId]] = field(default_factory=list)
    good_until: dict[JobId, float] = field(default_factory=dict)

    def changed(self, job: Job) -> None:
        """It was granted GPUs, or something happened to it while it holds them."""
        self.news[job.id] = job

    def left(self, job_id: JobId) -> None:
        """It holds nothing any more."""
        self.news.pop(job_id, None)
        self._drop(job_id)

    def begin_anew(self, holding: Iterable[Job]) -> None:
        """The policy changed: all that was known is worth nothing."""
        self.ranked.clear()
        self.places.clear()
        self.stopping.clear()
        self.due.clear()
        self.good_until.clear()
        self.news = {job.id: job for job in holding}

    def look_again(self, holding: Mapping[JobId, Job], stirred: Iterable[JobId], rank_of: RankOf, now: float) -> None:
        """Bring the ranks up to date; `stirred`: those whose rank was changed by what happened to others."""
        again, self.news = self.news, {}
        while (at := self.next_due()) is not None and at <= now:
            job_id = heapq.heappop(self.due)[1]
            again[job_id] = holding[job_id]
        for job_id in stirred:
            again[job_id] = holding[job_id]
        for job in again.values():
            self._rank(job, rank_of)

    def next_due(self) -> float | None:
        """When the next rank may differ."""
        due, good_until = self.due, self.good_until
        while due and good_until.get(due[0][1]) != due[0][0]:
            heapq.heappop(due)
        return due[0][0] if due else None

    def behind(self, head: Place) -> list[Place]:
        """Those that rank behind somebody who waits, the best first."""
        return list(self.ranked.irange(head))

    def _rank(self, job: Job, rank_of: RankOf) -> None:
        self._drop(job.id)
        held = job.allocation
        if held is None or held.gpu_memory_bytes is not None:
            return  # who shares a GPU gives nobody a whole one
        if job.state is JobState.STOPPING:
            self.stopping[job.id] = job
            return
        rank, until = rank_of(job)
        place = self.places[job.id] = (rank, job.since, job.id)
        self.ranked.add(place)
        self.good_until[job.id] = until
        if until < inf:
            heapq.heappush(self.due, (until, job.id))

    def _drop(self, job_id: JobId) -> None:
        self.stopping.pop(job_id, None)
        place = self.places.pop(job_id, None)
        if place is not None:
            self.ranked.remove(place)
            del self.good_until[job_id]
