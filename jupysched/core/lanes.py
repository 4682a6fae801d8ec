"""Who waits, in lanes of jobs that are alike, and how lanes merge into one queue. Knows nothing of GPUs.

Within a lane the order stands still while time passes (it is sorted once, when a job joins); between lanes the policy
ranks the heads anew in each cycle. So a cycle costs as many comparisons as there are lanes and grants, not jobs."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from sortedcontainers import SortedList

from jupysched.core.job import Job, JobId, Priority, UserName
from jupysched.core.resources import Request

#: smaller is served first
Rank = tuple[float, ...]
#: (order within the lane, since, job)
Entry = tuple[float, float, JobId]
LaneKey = tuple[str | int | None, ...]


class Passing(StrEnum):
    """What may start past a job that does not fit."""

    NONE = "none"
    SKIP = "skip"
    EASY = "easy"


@dataclass(slots=True)
class Lane:
    """Jobs of one shape (and of one user and class, if the policy tells them apart), in order."""

    key: LaneKey
    #: of its first job; what the others ask for differs in time limit alone
    request: Request
    user: UserName
    groups: tuple[str, ...]
    priority: Priority
    entries: SortedList = field(default_factory=SortedList)
    #: below 0: its one job was moved ahead of all
    place: int = 0
    #: time limits of those that have one: if the shortest is too long for backfill, nobody need be looked at
    limits: SortedList = field(default_factory=SortedList)
    #: the first of its entries
    first: Entry | None = None

    def add(self, entry: Entry, limit_s: float | None) -> None:
        """A job joins it, with this time limit."""
        self.entries.add(entry)
        self.first = self.entries[0]
        if limit_s is not None:
            self.limits.add(limit_s)

    def remove(self, entry: Entry, limit_s: float | None) -> None:
        """It leaves."""
        self.entries.remove(entry)
        self.first = self.entries[0] if self.entries else None
        if limit_s is not None:
            self.limits.remove(limit_s)


def lane_key(job: Job, split: int, *, by_user: bool) -> LaneKey:
    """Jobs of one key wait in one lane; `split`: what the policy tells apart besides."""
    r = job.spec.request
    if job.moved is not None and job.moved.place < 0:
        return (job.moved.place, job.id)  # ahead of all: nobody is like it
    if by_user:
        user, rank, groups = job.spec.user, job.priority.rank, ",".join(job.spec.groups)
        return (r.gpus, r.nodes, r.gpu_memory_bytes, r.gpu_type, r.cpus, r.memory_bytes, split, user, rank, groups)
    return (r.gpus, r.nodes, r.gpu_memory_bytes, r.gpu_type, r.cpus, r.memory_bytes, split)


RankOf = Callable[[Lane, Entry, Mapping[UserName, float]], Rank]
#: (rank, since, job, sequence, lane, entry, the rest of the lane if anybody of it was passed)
Head = tuple[Rank, float, JobId, int, Lane, Entry, Iterator[Entry] | None]


class Merge:
    """The queue of one cycle: head() is the job to serve next, given what was taken before."""

    __slots__ = ("heads", "moves", "rank_of", "taken")

    def __init__(self, lanes: Iterable[Lane], rank_of: RankOf, *, moves: bool) -> None:
        self.rank_of = rank_of
        #: does what one job takes move the others of its user back?
        self.moves = moves
        #: GPUs given to each user in this cycle
        self.taken: dict[UserName, float] = {}
        self.heads: list[Head] = []
        for number, lane in enumerate(lanes):
            entry = lane.first
            if entry is not None:
                self.heads.append((rank_of(lane, entry, self.taken), entry[1], entry[2], number, lane, entry, None))
        heapq.heapify(self.heads)

    def head(self) -> Head | None:
        """The job to serve next, left where it is."""
        heads = self.heads
        if not self.moves or not self.taken:
            return heads[0] if heads else None
        while heads:
            rank, since, job, number, lane, entry, rest = heads[0]
            rank_now = self.rank_of(lane, entry, self.taken)
            if rank_now <= rank:
                return heads[0]
            heapq.heapreplace(heads, (rank_now, since, job, number, lane, entry, rest))
        return None

    def take(self, weight: float | None = None) -> None:
        """The head was served: count for its user what it will count for in accounts, and let the next of its lane step up."""
        lane = self.heads[0][4]
        self.taken[lane.user] = self.taken.get(lane.user, 0.0) + (lane.request.gpus if weight is None else weight)
        self.pass_over()

    def pass_over(self) -> None:
        """Leave the head where it waits, and look at the next of its lane."""
        _rank, _since, _job, number, lane, _entry, rest = self.heads[0]
        if rest is None:
            rest = islice(lane.entries, 1, None)
        entry = next(rest, None)
        if entry is None:
            heapq.heappop(self.heads)
        else:
            rank = self.rank_of(lane, entry, self.taken)
            heapq.heapreplace(self.heads, (rank, entry[1], entry[2], number, lane, entry, rest))

    def close_lane(self) -> None:
        """Nothing like the head can start in this cycle."""
        heapq.heappop(self.heads)

    def close_wider(self, on_one: int, in_all: int) -> None:
        """Nor can anything that asks for more GPUs than these, of one node or of several."""
        requests = ((head, head[4].request) for head in self.heads)
        self.heads = [head for head, r in requests if r.gpus <= (on_one if r.nodes == 1 else in_all)]
        heapq.heapify(self.heads)
