"""Journals in, plans out, one line an action. JUPYSCHED_UPDATE_GOLDEN=1 writes them anew; the diff is the review."""

import os
from pathlib import Path

import pytest

from jupysched.core import events as ev
from jupysched.core.actions import End, Grant, Resume, Stop, Suspend
from jupysched.core.explain import explain
from jupysched.core.fold import fold
from jupysched.core.job import Exit, JobId, Priority
from jupysched.core.states import WAITING
from tests.core.builders import a_state, applied, asked, ended, joined

HERE = Path(__file__).parent


def line(action) -> str:
    """An action as people would say it."""
    match action:
        case Grant() | Resume():
            note = f" ({action.allocation.note})" if action.allocation.note else ""
            return f"{type(action).__name__.lower()} job {action.job} attempt {action.attempt}: {' '.join(action.allocation.gpus)}{note}"
        case Stop():
            return (
                f"stop job {action.job} attempt {action.attempt}: {action.reason}, then {action.then} ({action.detail})"
            )
        case Suspend():
            return f"suspend job {action.job} attempt {action.attempt} ({action.detail})"
        case End():
            return f"end job {action.job}: {action.state}, {action.reason} ({action.detail})"


class Story:
    """Events and plans as they come, told line by line."""

    def __init__(self, *events) -> None:
        self.state = a_state(*events)
        self.told: list[str] = []

    def say(self, *events) -> None:
        for event in events:
            fold(self.state, event)

    def cycle(self, at: float) -> None:
        plan = applied(self.state, at)
        self.told += [f"{at:>7g}  {line(action)}" for action in plan.actions] or [f"{at:>7g}  nothing"]

    def why(self, at: float) -> None:
        for job in self.state.jobs.values():
            if job.state in WAITING:
                said = explain(self.state, job.id, now=at)
                self.told.append(f"{at:>7g}  job {job.id} waits ({said.reason}): {said.sentence}")

    def ends(self, job: int, at: float, exit_: Exit | None = None) -> None:
        ended(self.state, job, at, *([exit_] if exit_ else []))


def an_afternoon() -> Story:
    """Classes, a gang, backfill, a limit, a failed dependency."""
    story = Story(joined("n1", 4))
    story.say(
        asked(1, 2, time_s=600.0),
        asked(2, 1, at=1, user="bob"),
        asked(3, 4, at=2),
        asked(4, 1, at=3, time_s=60.0, user="eve"),
    )
    story.cycle(5)
    story.why(5)
    story.say(asked(5, 1, at=6, priority=Priority.HIGH), asked(6, 1, at=7, after=[2]))
    story.cycle(8)
    story.ends(2, 70, Exit(code=1, outcome="error", error="ValueError"))
    story.cycle(70)
    story.ends(5, 80)
    story.cycle(80)
    story.cycle(141)
    story.ends(4, 142)
    story.cycle(605)
    story.ends(1, 607, Exit(signal=15))
    story.cycle(607)
    return story


def an_urgent_job() -> Story:
    """Preemption: who gives way, and that the victims come back."""
    settings = {"preempt": "on", "min_run_s": "60"}
    story = Story(ev.PolicySet(at=0, by="root", name="priority", settings=settings), joined("n1", 2), joined("n2", 2))
    story.say(asked(1, 1, priority=Priority.LOW), asked(2, 1, at=1), asked(3, 2, at=2, priority=Priority.LOW))
    story.cycle(3)
    story.say(asked(4, 2, at=30, priority=Priority.HIGH, user="bob"))
    story.cycle(31)
    story.why(31)
    story.cycle(100)
    story.cycle(101)
    story.ends(3, 105, Exit(signal=15))
    story.cycle(105)
    story.ends(4, 200)
    story.cycle(200)
    return story


def islands_of_links() -> Story:
    """Topology: pairs go to the islands of NVLink, and the choice is explained."""
    links = {(a, b): "NVLink x12" if a // 2 == b // 2 else "PHB" for a in range(4) for b in range(a + 1, 4)}
    story = Story(joined("n1", 4, links=links))
    story.say(asked(1, 1), asked(2, 2, at=1))
    story.cycle(2)
    story.ends(1, 3)
    story.say(asked(3, 2, at=4))
    story.cycle(5)
    return story


STORIES = {f.__name__: f for f in (an_afternoon, an_urgent_job, islands_of_links)}


@pytest.mark.parametrize("name", sorted(STORIES))
def test_the_plans_are_as_they_were(name):
    path = HERE / f"{name}.txt"
    told = "\n".join(STORIES[name]().told) + "\n"
    if os.environ.get("JUPYSCHED_UPDATE_GOLDEN"):
        path.write_text(told)
    assert told == path.read_text()


def test_a_position_is_told_for_each_that_waits():
    state = an_urgent_job().state
    assert state.position(JobId(99)) is None
