"""Fair shares over time: recent use, which fades with a half-life, against what a user or group is entitled to.

Shares form a tree (group under group, user under group). At each level the branch that has used least of its share is
served next (Slurm's Fair Tree), so what happens inside a group is no matter to the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from jupysched.core.job import UserName
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies.base import Order
from jupysched.core.policies.settings import Read, positive
from jupysched.core.state import State

#: deeper than any tree that people make; a parent that is its own ancestor ends here
DEEPEST = 8


class FairShare(Order):
    """Settings: half_life_s (a week). Users without an entry in the tree have one share each, at the top."""

    name = "fair-share"
    summary = "least recent use of one's share first; use fades with a half-life"
    passing = Passing.EASY
    by_user = True
    moves = True
    reads: ClassVar[Mapping[str, Read]] = {**Order.reads, "half_life_s": positive}

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """Use of share at each level of the tree, from the top; what its user holds counts as an hour's use besides."""
        levels: list[float] = []
        for scope in path_of(state, lane):
            known = state.rules.shares.get(scope)
            share = known.share if known is not None else 1.0
            used = state.ledger.recent(scope, now)
            if scope == f"user:{lane.user}":
                # Else what was granted would count for nothing a moment later, and the next of the user's jobs be served.
                used += (state.ledger.seen(scope).gpus + taken.get(lane.user, 0.0)) * 3600.0
            levels.append(used / share)
        return (*levels, lane.priority.rank)


def path_of(state: State, lane: Lane) -> list[str]:
    """The entries of the tree from the top down to the user."""
    user = f"user:{lane.user}"
    shares = state.rules.shares
    scope = user
    if user not in shares:
        group = next((f"group:{g}" for g in lane.groups if f"group:{g}" in shares), None)
        if group is None:
            return [user]
        path, scope = [user], group
    else:
        path = []
    while scope and len(path) < DEEPEST:
        path.append(scope)
        entry = shares.get(scope)
        scope = entry.parent if entry is not None else ""
    return path[::-1]
