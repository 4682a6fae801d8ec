"""A metric of any length is kept in bounded memory, and what people look for is never thinned away."""

import math

from hypothesis import given
from hypothesis import strategies as st

from jupysched.panels.series import MOST, Sample, Series, thin


def a_series(values: list[float]) -> Series:
    series = Series("loss")
    series.add(Sample(time=float(i), value=v) for i, v in enumerate(values))
    return series


@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=1, max_size=400), st.integers(10, 60)
)
def test_thinning_keeps_first_last_least_greatest_and_a_gap(values: list[float], most: int) -> None:
    points = [Sample(time=float(i), value=v, step=float(i)) for i, v in enumerate(values)]
    kept = thin(points, most)
    finite = [p.value for p in points if math.isfinite(p.value)]
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert [p.time for p in kept] == sorted({p.time for p in kept})
    assert len(kept) <= max(most, 3 * (most // 2) + 5)
    if finite:
        assert {min(finite), max(finite)} <= {p.value for p in kept}
    if len(finite) < len(points):
        assert any(not math.isfinite(p.value) for p in kept)


def test_a_million_points_stay_bounded() -> None:
    series = Series("loss")
    for start in range(0, 1_000_000, 10_000):
        series.add(Sample(time=float(i), value=math.exp(-i / 5000)) for i in range(start, start + 10_000))
    assert series.total == 1_000_000
    assert len(series.points) <= 3 * MOST
    assert len(series.record().values) <= 2 * MOST
    assert series.points[0].value == 1.0


def test_a_gap_is_none_with_a_word_for_what_stood_there() -> None:
    record = a_series([1.0, math.nan, math.inf, 0.5]).record()
    assert record.values == [1.0, None, None, 0.5]
    assert record.marks == {1: "NaN", 2: "infinite"}


def test_a_loss_that_broke_is_called_out_until_it_is_a_number_again() -> None:
    assert a_series([1.0, math.nan, math.nan]).mark() == "NaN since step 1"
    assert a_series([1.0, math.nan, 0.5]).mark() == ""
    assert a_series([1.0, math.nan]).least == Sample(time=0.0, value=1.0, step=0.0)


def test_without_steps_points_are_counted() -> None:
    assert a_series([3.0, 2.0]).record().steps == [0.0, 1.0]


def test_steps_that_begin_anew_with_each_epoch_go_on() -> None:
    series = Series("loss")
    series.add(Sample(time=0.0, value=1.0, step=float(s), epoch=float(e)) for e in (1, 2) for s in (100, 200, 300))
    assert series.record().steps == [100, 200, 300, 400, 500, 600]


def test_bars_without_an_epoch_go_on_too_but_a_resumed_run_goes_back() -> None:
    bars, resumed = Series("loss"), Series("loss")
    bars.add(Sample(time=0.0, value=1.0, step=float(s)) for s in (1, 2, 3, 1, 2, 3))
    resumed.add(Sample(time=0.0, value=1.0, step=float(s)) for s in (10, 20, 30, 20, 30, 40))
    assert bars.record().steps == [1, 2, 3, 4, 5, 6]
    assert resumed.record().steps == [10, 20, 30, 20, 30, 40]
