"""The last values of a job's metrics, as the queue shows them."""

import json
from collections.abc import Mapping

import pytest

from jupysched.runner.gauge import EVERY_S, Gauge


def logged(**values: object) -> bytes:
    return json.dumps({"step": 3, "epoch": None, "time": 1.0, "values": values}).encode()


def test_the_newest_value_of_each_metric_is_told_once_and_not_more_often_than_every_second() -> None:
    gauge = Gauge()
    assert gauge.due(0.0) is None
    gauge.take(logged(loss=0.5, accuracy=0.8))
    gauge.take(logged(loss=0.25))
    assert gauge.due(10.0) == {"loss": 0.25, "accuracy": 0.8, "step": 3}
    assert gauge.due(10.0) is None
    gauge.take(logged(loss=0.125))
    assert gauge.due(10.0 + EVERY_S / 2) is None
    assert gauge.seconds_left(10.0 + EVERY_S / 2) == pytest.approx(EVERY_S / 2)
    assert gauge.due(10.0 + EVERY_S) == {"loss": 0.125, "accuracy": 0.8, "step": 3}


def points(*rows: tuple[int, Mapping[str, object]]) -> bytes:
    """A frame of several points."""
    return json.dumps({"points": [[step, None, 1.0, values] for step, values in rows]}).encode()


@pytest.mark.parametrize("payload", [b"", b"[1]", b"{}", b'{"values": 3}', b"\xff", b"null"])
def test_what_is_no_metrics_frame_is_passed_over(payload: bytes) -> None:
    gauge = Gauge()
    gauge.take(payload)
    assert gauge.due(0.0) is None


@pytest.mark.parametrize(
    ("printed", "values"),
    [
        (b"[1,   100] loss: 2.301\n", {"loss": 2.301, "step": 100, "epoch": 1}),
        (
            b"loss: 3\nloss: 2\nepoch 3 train_loss=0.12 val_loss=0.15",
            {"train_loss": 0.12, "val_loss": 0.15, "epoch": 3},
        ),
        (b"\r 10%| loss=0.9\r 20%| loss=0.7", {"loss": 0.7}),
        (b"loss: nan\n", {"loss": "nan", "mark": "loss became NaN"}),
        (b"without loss of generality\n", None),
        (b"no such thing\n", None),
        (b"loss: 0." + b"1" * 10_000, None),
    ],
)
def test_the_last_loss_that_was_printed_is_told(printed: bytes, values: dict[str, object] | None) -> None:
    gauge = Gauge()
    gauge.read(printed)
    assert gauge.due(0.0) == values


def test_what_became_no_number_is_called_out_until_it_is_one_again() -> None:
    gauge = Gauge()
    gauge.take(points(*[(step, {"loss": "nan" if step >= 120 else 0.5, "norm": "inf"}) for step in range(118, 123)]))
    assert (gauge.values["loss"], gauge.values["mark"]) == ("nan", "loss became NaN at step 120")
    gauge.take(points((123, {"loss": 0.4})))
    assert gauge.values["mark"] == "norm became infinite at step 118"
    gauge.take(points((124, {"norm": 1.0})))
    assert "mark" not in gauge.values


def test_where_a_printed_loss_became_no_number_is_found_among_all_that_came_at_once() -> None:
    gauge = Gauge()
    gauge.read(b"".join(b"step %d loss: %s\n" % (i, b"nan" if i >= 7 else b"0.5") for i in range(50)))
    assert gauge.values == {"loss": "nan", "step": 49, "mark": "loss became NaN at step 7"}


@pytest.mark.parametrize("stated", ["loss", "train_loss", "Loss/train"])
def test_what_is_stated_and_printed_is_told_as_it_was_stated(stated: str) -> None:
    gauge = Gauge()
    gauge.read(b"step 1 loss: nan val_loss: 0.9\n")
    gauge.take(logged(**{stated: 0.5123}))
    gauge.read(b"step 3 loss: 0.51 val_loss: 0.8\n")
    assert gauge.values == {stated: 0.5123, "val_loss": 0.8, "step": 3}
    gauge.read(b"step 9 loss: 0.51\n")
    assert gauge.values["step"] == 3


@pytest.mark.parametrize(
    "payload",
    [
        b'{"points": 3}',
        b'{"points": [[1, 2]]}',
        b'{"points": [[1, 2, 3, [4]]]}',
        b"[" * 100_000,
        b'{"values": {"a": [[]]}}',
    ],
)
def test_what_the_jobs_code_may_write_does_not_stop_the_gauge(payload: bytes) -> None:
    gauge = Gauge()
    gauge.take(logged(loss="nan"))
    gauge.take(payload)
    assert gauge.values["loss"] == "nan"
