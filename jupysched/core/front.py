"""Jobs moved to the front: which facts that makes. Knows the queue and ages; asks nobody whether it is allowed.

An admin's jobs go ahead of everybody: next to start, and nobody may delay them, but nobody is stopped for them. A user's
go ahead of the user's own waiting jobs of the same class, as with `scontrol top`: those jobs exchange their ages among
themselves, so all of them together stand where they stood, and nobody else waits longer or shorter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jupysched.core import events as ev
from jupysched.core.job import Job, JobId
from jupysched.core.state import State
from jupysched.core.states import JobState

#: jobs of one age start in the order of their numbers; this much older goes first all the same
JUST_S = 1e-5


def ahead_of_all(state: State, jobs: Sequence[Job], *, by: str, at: float) -> list[ev.Event]:
    """The first named starts first; jobs that were moved before follow."""
    first = min((j.moved.place for j in state.jobs.values() if j.moved is not None), default=0)
    return [
        ev.MovedToFront(at=at, job=job.id, by=by, since=job.since, place=first - len(jobs) + number)
        for number, job in enumerate(jobs)
    ]


def ahead_of_own(state: State, jobs: Sequence[Job], *, by: str, at: float) -> list[ev.Event]:
    """The first named starts first among the waiting jobs of its user and class."""
    found: list[ev.Event] = []
    for user, priority in dict.fromkeys((job.spec.user, job.priority) for job in jobs):
        mine = [j for j in jobs if (j.spec.user, j.priority) == (user, priority)]
        chosen = {j.id for j in mine}
        waiting = sorted(
            (
                j
                for j in state.jobs.values()
                if j.state is JobState.PENDING and (j.spec.user, j.priority) == (user, priority)
            ),
            key=lambda j: (j.since, j.id),
        )
        others = [j for j in waiting if j.id not in chosen]
        ages = _ages([j.since for j in waiting], [j.id for j in (*mine, *others)])
        for job in mine:
            found.append(ev.MovedToFront(at=at, job=job.id, by=by, since=ages[job.id]))
        found += [
            ev.GaveWay(at=at, job=j.id, by=by, to=mine[0].id, since=ages[j.id]) for j in others if ages[j.id] != j.since
        ]
    return found


def _ages(since: Sequence[float], order: Iterable[JobId]) -> dict[JobId, float]:
    """These ages, dealt out so that (age, number) goes up in this order."""
    dealt: dict[JobId, float] = {}
    behind: tuple[float, JobId] | None = None
    for age, job in reversed(list(zip(since, order, strict=True))):
        if behind is None or (age, job) < behind:
            dealt[job] = age
        else:
            dealt[job] = behind[0] if job < behind[1] else behind[0] - JUST_S
        behind = (dealt[job], job)
    return dealt
