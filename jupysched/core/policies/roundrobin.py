"""Users take turns: whoever holds the fewest GPUs is served next."""

from __future__ import annotations

from collections.abc import Mapping

from jupysched.core.job import UserName
from jupysched.core.lanes import Entry, Lane, Passing, Rank
from jupysched.core.policies.base import Order
from jupysched.core.state import State


class RoundRobin(Order):
    """Equal GPUs now; among users who hold as many, the one who has had the fewest GPU-seconds in all."""

    name = "round-robin"
    summary = "users take turns, by the GPUs they hold and have had"
    passing = Passing.EASY
    by_user = True
    moves = True

    def rank(self, state: State, lane: Lane, entry: Entry, taken: Mapping[UserName, float], now: float) -> Rank:
        """GPUs that its user holds, then GPU-seconds that he has had."""
        account = state.ledger.seen(f"user:{lane.user}")
        had = account.total + account.gpus * max(0.0, now - account.at)
        return (account.gpus + taken.get(lane.user, 0), had, lane.priority.rank)
