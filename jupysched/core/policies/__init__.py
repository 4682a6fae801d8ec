"""The policies by name. A site adds its own through the entry-point group `jupysched.policies` (see site.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jupysched.core.errors import BadRequest
from jupysched.core.policies.adaptive import Adaptive
from jupysched.core.policies.base import Order
from jupysched.core.policies.fairshare import FairShare
from jupysched.core.policies.feedback import Feedback
from jupysched.core.policies.fifo import Fifo
from jupysched.core.policies.priority import PriorityOrder
from jupysched.core.policies.roundrobin import RoundRobin
from jupysched.core.policies.settings import Read, wrong_in
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


def check_policy(name: str, settings: Mapping[str, str]) -> None:
    """Raises BadRequest if there is no such policy, or if it cannot use these settings."""
    make = POLICIES.get(name)
    if make is None:
        raise BadRequest(f"There is no policy {name!r}; known are {', '.join(sorted(POLICIES))}.")
    wrong = _wrong_in(name, settings)
    if wrong:
        raise BadRequest(" ".join(wrong.values()))
    try:
        make(settings)
    except Exception as error:  # a site's own code
        raise BadRequest(f"The policy {name} cannot use these settings: {error}.") from error


def make_policy(name: str, settings: Mapping[str, str]) -> Policy:
    """The policy of that name. An unknown one (a site's package was removed) orders as the default does, a setting that
    cannot be used is left out: a journal must stay readable, and a queue must go on."""
    name = name if name in POLICIES else DEFAULT
    wrong = _wrong_in(name, settings)
    usable = {key: text for key, text in settings.items() if key not in wrong}
    try:
        return POLICIES[name](usable)
    except Exception:  # noqa: BLE001 a site's own code; the journal was written when it could use them
        return POLICIES[DEFAULT]({})


def reads_of(name: str) -> Mapping[str, Read]:
    """The settings that a known policy has, and what each is read with."""
    reads: Mapping[str, Read] = getattr(POLICIES[name], "reads", Order.reads)
    return reads


def _wrong_in(name: str, settings: Mapping[str, str]) -> dict[str, str]:
    return wrong_in(settings, reads_of(name), name)


def register(name: str, make: MakePolicy) -> None:
    """Make a policy known."""
    POLICIES[name] = make


__all__ = ["DEFAULT", "POLICIES", "MakePolicy", "Order", "check_policy", "make_policy", "reads_of", "register"]
