"""Metrics come from what a job reports and from what it prints, each value once."""

import json
import math
from pathlib import Path

from jupysched.panels.training import AttemptMetrics
from jupysched.spool import Frame, Kind, pack_frame


def frame(kind: Kind, payload: bytes | dict[str, object], at: float = 0.0) -> Frame:
    return Frame(0, kind, at, payload if isinstance(payload, bytes) else json.dumps(payload).encode())


def logged(step: int, **values: object) -> Frame:
    return frame(Kind.METRICS, {"step": step, "epoch": None, "time": float(step), "values": values})


def test_a_loss_that_is_reported_and_printed_counts_once() -> None:
    metrics = AttemptMetrics("")
    metrics.feed([frame(Kind.STDOUT, b"step 0 loss: 9\n")])
    metrics.feed([logged(1, loss=0.5), frame(Kind.STDOUT, b"step 1 loss: 0.5\nval_loss: 0.7\n"), logged(2, loss=0.25)])
    assert [(p.step, p.value) for p in metrics.series["loss"].points] == [(1, 0.5), (2, 0.25)]
    assert [p.value for p in metrics.series["val_loss"].points] == [0.7]


def test_bars_on_stderr_are_read_too() -> None:
    metrics = AttemptMetrics("")
    metrics.feed(
        [frame(Kind.STDERR, b"\r1/3 [00:01<00:02, 1.00it/s, loss=0.9]\r2/3 [00:02<00:01, 1.00it/s, loss=0.4]\r")]
    )
    assert [(p.step, p.value) for p in metrics.series["loss"].points] == [(1, 0.9), (2, 0.4)]


def test_nan_and_infinity_travel_as_words_and_words_that_are_no_numbers_are_left_out() -> None:
    metrics = AttemptMetrics("")
    metrics.feed([logged(1, loss="nan", norm="inf", note="warming up")])
    assert math.isnan(metrics.series["loss"].points[0].value)
    assert metrics.series["norm"].points[0].value == math.inf
    assert set(metrics.series) == {"loss", "norm"}


def test_a_spool_is_read_as_it_grows_and_a_torn_frame_waits(tmp_path: Path) -> None:
    path = tmp_path / "frames"
    whole = pack_frame(Kind.STDOUT, 1.0, b"loss: 0.5\n")
    torn = pack_frame(Kind.STDOUT, 2.0, b"loss: 0.25\n")
    path.write_bytes(whole + torn[:-3])
    metrics = AttemptMetrics(str(path))
    assert metrics.read()
    assert not metrics.read()
    path.write_bytes(whole + torn)
    assert metrics.read()
    assert [p.value for p in metrics.series["loss"].points] == [0.5, 0.25]


def test_frames_of_another_make_harm_no_other() -> None:
    metrics = AttemptMetrics("")
    metrics.feed([frame(Kind.METRICS, b"{"), frame(Kind.METRICS, {"values": None}), logged(1, loss=1.0)])
    assert [p.value for p in metrics.series["loss"].points] == [1.0]


def test_the_series_to_show_first_is_the_loss() -> None:
    metrics = AttemptMetrics("")
    metrics.feed([logged(1, accuracy=0.5, my_loss=3.0)])
    first = metrics.first()
    assert first is not None
    assert first.name == "my_loss"


def test_points_that_were_gathered_each_have_their_step_epoch_and_time() -> None:
    metrics = AttemptMetrics("")
    metrics.feed([frame(Kind.METRICS, {"points": [[3, 0.5, 10.0, {"loss": 0.5}], [4, 0.6, 10.1, {"loss": "nan"}]]})])
    found = metrics.series["loss"].points
    assert [(p.step, p.epoch, p.time) for p in found] == [(3, 0.5, 10.0), (4, 0.6, 10.1)]
    assert metrics.series["loss"].mark() == "NaN since step 4"


def test_what_a_library_states_counts_and_the_same_metric_printed_under_another_name_does_not() -> None:
    metrics = AttemptMetrics("")
    metrics.feed([frame(Kind.STDOUT, b"step 0 loss: 0.9\n")])
    metrics.feed([logged(1, **{"Loss/train": 0.5})])
    metrics.feed(
        [frame(Kind.STDERR, b"\r2/3 [00:02<00:01, 1.00it/s, train_loss=0.4]\r"), logged(2, **{"Loss/val": 0.6})]
    )
    assert {name: [p.value for p in s.points] for name, s in metrics.series.items()} == {
        "Loss/train": [0.5],
        "Loss/val": [0.6],
    }
    first = metrics.first()
    assert first is not None
    assert first.name == "Loss/train"
