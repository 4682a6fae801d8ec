"""What a hold came to, in GPU-seconds: by day, busy, idle, and nothing where nothing was told."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched.daemon.metering import IDLE_AFTER_S, Meter, by_day


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_a_night_is_split_at_midnight() -> None:
    assert list(by_day(at("2026-03-01T22:00"), at("2026-03-03T01:00"))) == [
        ("2026-03-01", 7200.0), ("2026-03-02", 86_400.0), ("2026-03-03", 3600.0),
    ]  # fmt: skip


@given(st.floats(1.7e9, 1.9e9), st.floats(0, 1e6))
def test_splitting_loses_no_second(start: float, length: float) -> None:
    parts = list(by_day(start, start + length))
    assert sum(seconds for _, seconds in parts) == pytest.approx(length, abs=1e-3)
    assert [day for day, _ in parts] == sorted({day for day, _ in parts})


def meter(*utilizations: float | None, weight: float = 1.0) -> dict[str, float]:
    """What minutes of these utilizations come to."""
    made, sums = Meter(), dict[str, float]()
    for utilization in utilizations:
        for name, more in minute(made, utilization, weight=weight).items():
            sums[name] = sums.get(name, 0.0) + more
    return sums


def minute(made: Meter, utilization: float | None, *, weight: float = 1.0) -> dict[str, float]:
    for _ in range(60):
        made.add(utilization=utilization, memory=20.0)
    return made.settle(weight=weight, capacity=80.0).sums


def test_busy_is_time_by_utilization_and_memory_by_what_is_used_of_it() -> None:
    assert meter(100, 50, weight=0.5) == {
        "measured": 60, "busy": 45, "idle": 0, "remembered": 60, "memory": 15,
    }  # fmt: skip


def test_what_was_not_told_is_not_measured_and_not_idle() -> None:
    assert meter(None, None) == {"remembered": 120, "memory": 30}


def test_a_short_pause_is_no_idling() -> None:
    assert meter(90, 0, 0, 0, 90)["idle"] == 0


def test_once_it_is_clear_that_it_idles_its_first_minutes_count_too() -> None:
    assert meter(90, 0, 0, 0, 0, 0)["idle"] == IDLE_AFTER_S
    assert meter(90, 0, 0, 0, 0, 0, 0, 80, 0)["idle"] == IDLE_AFTER_S + 60
    assert meter(*[0] * 6, 80, *[0] * 7)["idle"] == 13 * 60


def test_it_says_how_long_it_has_been_idle_now() -> None:
    made = Meter()
    for _ in range(4):
        minute(made, 0)
    assert made.idle_s == 0
    minute(made, 1)
    assert made.idle_s == 300
    minute(made, 50)
    assert made.idle_s == 0


def test_readings_are_counted_once_and_the_most_memory_is_remembered() -> None:
    made = Meter()
    for memory in (10.0, 30.0, 20.0):
        made.add(utilization=None, memory=memory)
    assert not made.is_due
    assert made.settle(weight=1, capacity=None) == ({}, 30.0)
    assert made.settle(weight=1, capacity=80.0) == ({}, None)
