"""A job's row offers what may be done with it, and nothing else."""

import pytest

from jupysched.core.states import ENDED, JobState
from jupysched.magic.offers import moved, offered
from jupysched.wire.records import JobRecord


def a_job(state: str, **more: object) -> JobRecord:
    return JobRecord(id=1, user="ann", name="n", state=state, mine=True, directory="/d", attempt=1, **more)  # type: ignore[arg-type]


def verbs(record: JobRecord) -> list[str]:
    return [offer.verb for offer in offered(record)]


@pytest.mark.parametrize("state", list(JobState))
def test_every_state_has_its_verbs_and_what_has_ended_cannot_be_cancelled(state: JobState) -> None:
    found = verbs(a_job(state))
    assert found
    assert ("cancel" in found) == (state not in ENDED and state != JobState.STOPPING)
    assert ("requeue" in found) == (state in ENDED or state in (JobState.STARTING, JobState.RUNNING))


def test_the_job_of_somebody_else_and_a_state_of_a_newer_daemon_offer_nothing() -> None:
    assert offered(a_job("running").__class__(id=1, user="bob", name="n", state="running", mine=False)) == ()
    assert verbs(a_job("hibernating")) == []


def test_only_what_stops_a_running_job_asks_first() -> None:
    assert {o.verb for o in offered(a_job("running")) if o.asks} == {"cancel", "requeue"}
    assert not any(o.asks for state in ("pending", "held", "failed") for o in offered(a_job(state)))


def test_a_priority_moves_between_its_ends() -> None:
    assert verbs(a_job("pending", position=1, priority="high")) == ["cancel", "hold", "down"]
    assert verbs(a_job("pending", position=1, priority="low")) == ["cancel", "hold", "up"]
    assert (moved("low", "up"), moved("normal", "down"), moved("high", "up"), moved("odd", "up")) == (
        "normal",
        "low",
        None,
        None,
    )


def test_the_front_is_offered_to_who_is_not_there() -> None:
    assert "front" in verbs(a_job("pending", position=2))
    assert "front" not in verbs(a_job("pending", position=1))


def test_a_job_that_never_ran_has_no_log() -> None:
    never = JobRecord(id=1, user="ann", name="n", state="cancelled", mine=True, directory="/d")
    assert verbs(never) == ["requeue"]


def test_words_are_those_of_the_sidebar() -> None:
    def labels(state: str) -> dict[str, str]:
        return {offer.verb: offer.label for offer in offered(a_job(state, position=2))}

    assert (labels("running")["requeue"], labels("failed")["requeue"]) == ("Requeue", "Queue again")
    assert {o.label: o.tip for o in offered(a_job("pending")) if o.verb in ("up", "down")} == {
        "↑": "Raise priority",
        "↓": "Lower priority",
    }
