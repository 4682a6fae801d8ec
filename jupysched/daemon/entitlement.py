"""Which part of all GPUs a user is entitled to beside others, by the tree of shares. Pure; the order of the queue is decided elsewhere."""

from __future__ import annotations

from collections.abc import Iterable

from jupysched.core.job import Priority, UserName
from jupysched.core.lanes import Lane
from jupysched.core.policies.fairshare import path_of
from jupysched.core.resources import Request
from jupysched.core.state import State


def parts(state: State, users: Iterable[str]) -> dict[str, float]:
    """The part of each of these users, if only they want GPUs; the parts add up to 1."""
    groups = {job.spec.user: job.spec.groups for job in state.jobs.values()}
    paths = {user: _path(state, user, groups.get(UserName(user), ())) for user in users}
    #: an entry of the tree, as the way to it -> the entries below it
    below: dict[tuple[str, ...], set[str]] = {}
    for path in paths.values():
        for depth, scope in enumerate(path):
            below.setdefault(tuple(path[:depth]), set()).add(scope)
    return {user: _part(state, path, below) for user, path in paths.items()}


def _path(state: State, user: str, groups: tuple[str, ...]) -> list[str]:
    lane = Lane(key=(), request=Request(), user=UserName(user), groups=groups, priority=Priority.NORMAL)
    return path_of(state, lane)


def _part(state: State, path: list[str], below: dict[tuple[str, ...], set[str]]) -> float:
    part = 1.0
    for depth, scope in enumerate(path):
        siblings = below[tuple(path[:depth])]
        part *= _share(state, scope) / sum(_share(state, sibling) for sibling in siblings)
    return part


def _share(state: State, scope: str) -> float:
    known = state.rules.shares.get(scope)
    return known.share if known is not None else 1.0
