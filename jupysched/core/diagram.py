"""The life of a job as a diagram, printed from the table of states (README.md)."""

from __future__ import annotations

from jupysched.core.states import ENDED, TRANSITIONS, JobState


def mermaid() -> str:
    """The table as Mermaid text, one arrow for all events that lead the same way."""
    arrows: dict[tuple[JobState, JobState], list[str]] = {}
    for (state, event), to in TRANSITIONS.items():
        for target in sorted(to):
            if target is not state:
                arrows.setdefault((state, target), []).append(event)
    lines = ["stateDiagram-v2", "    [*] --> pending"]
    lines += [f"    {a} --> {b}: {', '.join(events)}" for (a, b), events in sorted(arrows.items())]
    lines += [f"    {state} --> [*]" for state in sorted(ENDED)]
    return "\n".join(lines)
