"""The last values of a job's metrics, as the queue shows them."""

import json

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
        (b"loss: nan\n", {"loss": "nan"}),
        (b"without loss of generality\n", None),
        (b"no such thing\n", None),
        (b"loss: 0." + b"1" * 10_000, None),
    ],
)
def test_the_last_loss_that_was_printed_is_told(printed: bytes, values: dict[str, object] | None) -> None:
    gauge = Gauge()
    gauge.read(printed)
    assert gauge.due(0.0) == values
