"""Who asks, and what they may do. Identity comes from the system (SO_PEERCRED), never from a message."""

from __future__ import annotations

from dataclasses import dataclass

from jupysched.core.errors import NoSuchJob, NotYours
from jupysched.core.job import Job, JobId
from jupysched.core.state import State
from jupysched.ports import Directory


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody at the other end of a connection."""

    uid: int
    name: str
    is_admin: bool
    groups: tuple[str, ...] = ()


def identify(directory: Directory, uid: int) -> Person:
    """The person behind a uid."""
    return Person(
        uid=uid, name=directory.user_name(uid), is_admin=directory.is_admin(uid), groups=tuple(directory.groups(uid))
    )


def may_change(person: Person, job: Job) -> bool:
    """Own jobs, or any if an admin."""
    return person.is_admin or person.uid == job.spec.uid


def find(state: State, job: int) -> Job:
    """Raises NoSuchJob."""
    found = state.jobs.get(JobId(job))
    if found is None:
        raise NoSuchJob(f"There is no job {job}.")
    return found


def find_own(state: State, person: Person, job: int) -> Job:
    """Raises NoSuchJob, NotYours."""
    found = find(state, job)
    if not may_change(person, found):
        raise NotYours(f"Job {job} belongs to {found.spec.user}.", hint="Only its user or an admin can do that.")
    return found
