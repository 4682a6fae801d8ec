"""Readings are made fewer without being made up: every one counts once in each tier, a gap is no 0, and a peak stays."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched.daemon.rollup import TIERS, Closed, Hold, Rollup, merged, step_of, tier_of

NUMBER = st.one_of(st.none(), st.floats(0, 100, allow_nan=False))
#: seconds to the next reading, and what it says
READINGS = st.lists(st.tuples(st.floats(0.1, 200), st.tuples(NUMBER, NUMBER)), min_size=1, max_size=80)


def rolled(readings: list[tuple[float, tuple[float | None, ...]]]) -> tuple[list[float], list[Closed]]:
    """When each was read, and all stretches."""
    rollup, at, times, closed = Rollup(), 1_000_000.0, [], list[Closed]()
    for pause, values in readings:
        at += pause
        times.append(at)
        closed += rollup.add(at, values)
    return times, closed + rollup.end()


@given(READINGS)
def test_every_reading_counts_once_in_each_tier(readings: list[tuple[float, tuple[float | None, ...]]]) -> None:
    times, closed = rolled(readings)
    for tier, (step_s, _) in enumerate(TIERS):
        ours = [c.stretch for c in closed if c.tier == tier]
        assert [s.at for s in ours] == sorted(
            {max(t for t in times if t // step_s == n) for n in {t // step_s for t in times}}
        )
        for stretch in ours:
            within = [v for t, (_, v) in zip(times, readings, strict=True) if t // step_s == stretch.at // step_s]
            for place in (0, 1):
                known = [v[place] for v in within if v[place] is not None]
                mean, peak = stretch.mean[place], stretch.peak[place]
                if not known:
                    assert (mean, peak) == (None, None)
                else:
                    assert mean is not None
                    assert math.isclose(mean, sum(known) / len(known), abs_tol=1e-9)  # type: ignore[arg-type]
                    assert peak == max(known)  # type: ignore[type-var]


@given(READINGS)
def test_a_tier_has_at_most_one_stretch_a_step(readings: list[tuple[float, tuple[float | None, ...]]]) -> None:
    _, closed = rolled(readings)
    for tier, (step_s, _) in enumerate(TIERS):
        numbers = [c.stretch.at // step_s for c in closed if c.tier == tier]
        assert len(numbers) == len(set(numbers))


def test_a_clock_that_is_set_back_loses_nothing() -> None:
    rollup = Rollup()
    closed = [*rollup.add(1000.0, (1.0,)), *rollup.add(400.0, (3.0,)), *rollup.end()]
    assert [(c.tier, c.stretch.mean) for c in closed if c.tier == 0] == [(0, (1.0,)), (0, (3.0,))]


@pytest.mark.parametrize(
    ("back_s", "most", "tier"),
    [(600, 600, 0), (3600, 360, 1), (3600, 3600, 0), (86_400, 480, 2), (86_400, 20_000, 1), (20 * 86_400, 600, 3), (20 * 86_400, 2000, 3), (10 * 86_400, 2000, 2), (1e9, 10, 3)],
)  # fmt: skip
def test_the_tier_read_is_the_coarsest_that_gives_enough_points(back_s: float, most: int, tier: int) -> None:
    now = 2_000_000_000.0
    assert tier == tier_of(since=now - back_s, until=now, now=now, most=most)


@given(st.floats(1, 30 * 86_400), st.integers(1, 2000))
def test_there_are_never_more_points_than_were_asked_for(back_s: float, most: int) -> None:
    now = 2_000_000_000.0
    tier = tier_of(since=now - back_s, until=now, now=now, most=most)
    step_s = step_of(since=now - back_s, until=now, tier=tier, most=most)
    assert back_s / step_s <= most + 1e-6
    assert step_s >= TIERS[tier].step_s


def a_hold(start: float, end: float | None, job: int = 1, user: str = "ann") -> Hold:
    return Hold("G", job, "n", user, start, end)


def test_holds_too_short_to_be_seen_are_one_and_the_others_stay_what_they_are() -> None:
    holds = [
        a_hold(0, 100, 1),
        a_hold(100, 101, 2),
        a_hold(101.5, 102, 3),
        a_hold(102, 103, 4, "bob"),
        a_hold(103, None, 5),
    ]
    first, short, last = merged(holds, least_s=5)
    assert (first, last) == (holds[0], holds[4])
    assert (short.jobs, short.start, short.end, short.name, short.user) == (3, 100, 103, "", "")


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0, 50)), max_size=40),
    st.floats(0.1, 20),
)  # fmt: skip
def test_joining_loses_no_job_and_no_time_at_the_ends(gaps: list[tuple[float, float]], least_s: float) -> None:
    at, holds = 0.0, []
    for number, (pause, length) in enumerate(gaps):
        holds.append(a_hold(at + pause, at + pause + length, number))
        at += pause + length
    joined = merged(holds, least_s=least_s)
    assert sum(h.jobs for h in joined) == len(holds)
    if holds:
        assert (joined[0].start, joined[-1].end) == (holds[0].start, holds[-1].end)
    assert len(joined) <= 2 + at / least_s * 2
