"""What the loss panel says is computed, and says nothing where nothing is known."""

import math

from jupysched.panels import runs
from jupysched.panels.series import Sample, Series


def a_series(values: list[float], name: str = "loss") -> Series:
    series = Series(name)
    series.add(Sample(time=100.0 + i, value=v, step=float(i), epoch=i / 2) for i, v in enumerate(values))
    return series


def test_smoothing_begins_at_the_first_value_and_leaves_gaps() -> None:
    smoothed = runs.smooth([4.0, math.nan, 4.0, 0.0], 0.5)
    assert smoothed[0] == 4.0
    assert math.isnan(smoothed[1])
    assert smoothed[2] == 4.0
    assert 0.0 < smoothed[3] < 4.0
    assert runs.smooth([1.0, 2.0], 0.0) == [1.0, 2.0]


def test_a_line_stands_over_step_epoch_minutes_or_clock() -> None:
    series = a_series([3.0, 2.0, 1.0])
    assert runs.line(series, axis="step", started=100.0, weight=0).x == [0.0, 1.0, 2.0]
    assert runs.line(series, axis="epoch", started=100.0, weight=0).x == [0.0, 0.5, 1.0]
    assert runs.line(series, axis="minutes", started=40.0, weight=0).x == [1.0, 61 / 60, 62 / 60]
    assert runs.line(series, axis="time", started=0.0, weight=0).x == [100_000.0, 101_000.0, 102_000.0]


def test_what_is_no_number_is_marked_at_the_height_of_what_was() -> None:
    line = runs.line(a_series([3.0, math.nan, 1.0]), axis="step", started=0.0, weight=0)
    assert (line.broken_x, line.broken_y) == ([1.0], [3.0])


def test_the_table_compares_last_and_least() -> None:
    row = runs.row("resnet (3)", a_series([3.0, 0.5, math.nan]))
    assert (row.points, row.last, row.best, row.best_step, row.note) == (3, None, 0.5, 1.0, "NaN since step 2")


def test_advice_is_given_where_something_is_known() -> None:
    assert runs.advice(utilization=None, series=[a_series([1.0])]) == ""
    assert runs.advice(utilization=23.4, series=[]).startswith("GPU busy 23 %: the data loader is the limit")
    assert runs.advice(utilization=95.0, series=[]) == "GPU busy 95 %: it is well fed."
    assert "NaN since step 1" in runs.advice(utilization=95.0, series=[a_series([1.0, math.nan])])
