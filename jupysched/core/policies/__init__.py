"""The policies by name. A site adds its own through the entry-point group `jupysched.policies` (see site.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jupysched.core.policies.adaptive import Adaptive
from jupysched.core.policies.base import Order
from jupysched.core.policies.fairshare import FairShare
from jupysched.core.policies.feedback import Feedback
from jupysched.core.policies.fifo import Fifo
from jupysched.core.policies.priority import PriorityOrder
from jupysched.core.policies.roundrobin import RoundRobin
from jupysched.core.policies.shortest import Shortest
from jupysched.core.state import Policy

MakePolicy = Callable[[Mapping[str, str]], Policy]

POLICIES: dict[str, MakePolicy] = {
    "fifo": Fifo,
    "priority": PriorityOrder,
    "round-robin": RoundRobin,
    "fair-share": FairShare,
    "feedback": Feedback,
    "shortest": Shortest,
    "adaptive": Adaptive,
}
DEFAULT = "priority"


def make_policy(name: str, settings: Mapping[str, str]) -> Policy:
    """The policy of that name. An unknown one (a site's package was removed) orders as the default does: a journal
    must stay readable, and a queue must go on."""
    return POLICIES.get(name, POLICIES[DEFAULT])(settings)


def register(name: str, make: MakePolicy) -> None:
    """Make a policy known."""
    POLICIES[name] = make


__all__ = ["DEFAULT", "POLICIES", "MakePolicy", "Order", "make_policy", "register"]
