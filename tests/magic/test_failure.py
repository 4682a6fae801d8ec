"""What a waiting cell raises is what the job raised, by name, value and traceback; or a sentence."""

import builtins
from typing import Any

import pytest

from jupysched.magic.failure import JobCancelled, JobFailed, JobLost, from_job, interrupted, of_job
from jupysched.wire.records import ExitRecord
from tests.magic.records import a_record

ZERO = {"outcome": "error", "ename": "ZeroDivisionError", "evalue": "division by zero", "traceback": ["here"]}


def shown(error: BaseException) -> list[str]:
    """Return what IPython shows."""
    return error._render_traceback_()  # type: ignore[attr-defined, no-any-return]


def test_success_raises_nothing() -> None:
    assert of_job(a_record(state="succeeded"), None) is None


def test_an_error_of_the_cell_has_its_name_value_and_traceback() -> None:
    error = of_job(a_record(state="failed", reason="exception"), ZERO)
    assert (type(error).__name__, str(error), shown(error)) == ("ZeroDivisionError", "division by zero", ["here"])  # type: ignore[arg-type]
    assert isinstance(error, ZeroDivisionError)


NAMES = [name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)]


@pytest.mark.parametrize("name", [*NAMES, "OutOfMemoryError", "MyError", "print"])
def test_every_name_can_be_raised(name: str) -> None:
    error = from_job(name, "what it said", ["line"])
    assert (type(error).__name__, str(error), shown(error)) == (name, "what it said", ["line"])
    with pytest.raises(type(error)):
        raise error


@pytest.mark.parametrize("name", ["SystemExit", "SyntaxError", "ExceptionGroup"])
def test_what_ipython_treats_in_its_own_way_is_only_alike_by_name(name: str) -> None:
    assert not isinstance(from_job(name, "", []), getattr(builtins, name))


def test_a_signal_is_told_in_a_sentence() -> None:
    record = a_record(
        state="failed", reason="exit_code", exit=ExitRecord(signal=11, sentence="It was ended by signal 11 (SIGSEGV)")
    )
    error = of_job(record, None)
    assert isinstance(error, JobFailed)
    assert "signal 11 (SIGSEGV)" in str(error)
    assert len(shown(error)) == 1


def test_a_time_limit_is_the_cause_and_the_cell_has_its_say_too() -> None:
    end = {"outcome": "interrupted", "ename": "KeyboardInterrupt", "evalue": "", "traceback": ["where it was"]}
    error = of_job(a_record(state="failed", reason="time_limit", why="ran longer than 10 s"), end)
    assert isinstance(error, JobFailed)
    assert "--time" in str(error)
    assert shown(error)[0] == "where it was"


def test_a_job_that_others_cancelled_says_so() -> None:
    assert isinstance(
        of_job(a_record(state="cancelled", reason="cancelled_by_admin", why="cancelled by bob"), None), JobCancelled
    )


def test_a_lost_job_is_not_the_fault_of_who_asked() -> None:
    assert isinstance(
        of_job(a_record(state="failed", reason="lease_expired", why="its supervisor died"), None), JobLost
    )


@pytest.mark.parametrize("end", [None, {}, ZERO, {"ename": "KeyboardInterrupt", "evalue": "", "traceback": ["t"]}])
def test_who_presses_stop_sees_an_interrupt(end: dict[str, Any] | None) -> None:
    assert type(interrupted(end)).__name__ == "KeyboardInterrupt"
    assert isinstance(interrupted(end), KeyboardInterrupt)
