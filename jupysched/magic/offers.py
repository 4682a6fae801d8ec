"""What may be done with a job in its state: a button for each. Knows records; knows nothing of how a button looks or acts."""

from __future__ import annotations

from typing import NamedTuple

from jupysched.core.states import JobState
from jupysched.magic.tracked import is_holding
from jupysched.wire.records import JobRecord

#: the classes of priority, lowest first
CLASSES = ("low", "normal", "high")


class Offer(NamedTuple):
    """One thing that may be done."""

    verb: str
    label: str
    #: what the label means, where it is an arrow
    tip: str
    #: what stops a running job asks once
    asks: bool = False


#: The verbs of a state. What changes nothing is not offered; what the daemon refuses it refuses in its own words.
_OF_STATE: dict[JobState, tuple[str, ...]] = {
    JobState.PENDING: ("cancel", "hold", "front", "up", "down"),
    JobState.HELD: ("cancel", "release", "up", "down"),
    JobState.STARTING: ("cancel", "requeue"),
    JobState.RUNNING: ("cancel", "requeue", "logs"),
    JobState.STOPPING: ("logs",),
    JobState.SUSPENDED: ("cancel", "logs"),
    JobState.SUCCEEDED: ("requeue", "logs"),
    JobState.FAILED: ("requeue", "logs"),
    JobState.CANCELLED: ("requeue", "logs"),
}
_LABELS = {
    "cancel": "Cancel",
    "hold": "Hold",
    "release": "Release",
    "front": "To the front",
    "requeue": "Requeue",
    "up": "↑",
    "down": "↓",
    "logs": "Log",
}
_TIPS = {"up": "Raise priority", "down": "Lower priority"}


def offered(record: JobRecord) -> tuple[Offer, ...]:
    """The buttons of one's own job; none for a job of somebody else, or in a state of a newer daemon."""
    if not record.mine or record.state not in set(JobState):
        return ()
    verbs = [verb for verb in _OF_STATE[JobState(record.state)] if _makes_sense(record, verb)]
    labels = _LABELS if is_holding(record) else {**_LABELS, "requeue": "Queue again"}
    return tuple(
        Offer(v, labels[v], _TIPS.get(v, labels[v]), asks=is_holding(record) and v in ("cancel", "requeue"))
        for v in verbs
    )


def _makes_sense(record: JobRecord, verb: str) -> bool:
    match verb:
        case "up" | "down":
            return moved(record.priority, verb) is not None
        case "front":
            return record.position != 1
        case "logs":
            return bool(record.directory and record.attempt)
        case _:
            return True


def moved(priority: str, verb: str) -> str | None:
    """The class above or below; None where there is none."""
    if priority not in CLASSES:
        return None
    at = CLASSES.index(priority) + (1 if verb == "up" else -1)
    return CLASSES[at] if 0 <= at < len(CLASSES) else None
