"""Printed losses are found in the shapes in which people print them, and nothing else is taken for one."""

import math
import time

import pytest

from jupysched.metrics_text import Losses, Point, foremost, kind, parse_line


def values(text: str, name: str = "loss") -> list[float]:
    reader = Losses()
    return [p.value for p in (*reader.feed(text), *reader.end()) if p.name == name]


def test_epoch_and_step_in_brackets_with_accuracy_beside_it() -> None:
    text = (
        "Epoch [1/5], Step [100/600], Loss: 0.3421, Accuracy: 91.20%\n"
        "Epoch [1/5], Step [200/600], Loss: 2.5e-01, Perplexity: 1.2840\n"
        "TRAIN::Epoch [2/5], Step [100/600], Loss: 1e-3\n"
    )
    reader = Losses()
    assert reader.feed(text) == [
        Point("loss", 0.3421, 100, 1),
        Point("loss", 0.25, 200, 1),
        Point("loss", 0.001, 100, 2),
    ]


def test_lines_that_must_not_break_or_pollute_the_plot() -> None:
    lines = [
        "loss: nan",
        "loss: inf",
        "loss: -inf",
        "without loss of generality: 5",
        "lossless: 3",
        "loss function: CrossEntropyLoss()",
        "loss: 1,234.5",
        "Loss=tensor(0.7321, grad_fn=<NllLossBackward0>)",
        "weight_loss_kg: 80",
        "loss:",
        "\x1b[32mloss: 0.25\x1b[0m",
        "loss: 0.5 <img src=x onerror=alert(1)>",
    ]
    found = values("\n".join(lines))
    assert math.isnan(found[0])
    assert found[1:] == [math.inf, -math.inf, 1234.5, 0.7321, 0.25, 0.5]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("[1,   100] loss: 2.301", [Point("loss", 2.301, 100, 1)]),
        (
            "epoch 3 train_loss=0.12 val_loss=0.15",
            [Point("train_loss", 0.12, None, 3), Point("val_loss", 0.15, None, 3)],
        ),
        ("step 19999 loss: 0.01832", [Point("loss", 0.01832, 19999)]),
        ("loss 0.5", [Point("loss", 0.5)]),
        ("Training loss: 0.3, Validation Loss: 0.4", [Point("train_loss", 0.3), Point("val_loss", 0.4)]),
        ("{'loss': 0.6931, 'learning_rate': 5e-05, 'epoch': 1.5}", [Point("loss", 0.6931, None, 1.5)]),
        ("{'eval_loss': 0.51, 'eval_runtime': 2.1, 'epoch': 2.0}", [Point("eval_loss", 0.51, None, 2)]),
        ("{'loss': '0.21', 'epoch': '1'}", [Point("loss", 0.21, None, 1)]),
        ("Iteration 7, loss = 0.69314718", [Point("loss", 0.69314718, 7)]),
        ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.295", [Point("loss", 2.295, None, 1)]),
        (
            "Epoch 1:  45%|####5     | 45/100 [00:10<00:12,  4.40it/s, loss=0.412, v_num=3]",
            [Point("loss", 0.412, 45, 1)],
        ),
        (
            "1875/1875 ━━━━━━━━ 5s 2ms/step - accuracy: 0.9133 - loss: 0.2993 - val_accuracy: 0.95 - val_loss: 0.1711",
            [Point("loss", 0.2993, 1875), Point("val_loss", 0.1711, 1875)],
        ),
        ("loss_cls: 0.3 loss_bbox: 0.2", [Point("loss_cls", 0.3), Point("loss_bbox", 0.2)]),
        ("G_loss: 1.2 D_loss: 0.7", [Point("g_loss", 1.2), Point("d_loss", 0.7)]),
        ("loss: np.float64(0.125)", [Point("loss", 0.125)]),
        ("no loss here", []),
        ("loss went down by 5", []),
        ("loss: 12%", []),
        ("packet loss: 3 %", []),
        ("loss: 0.5.1", []),
        ("loss: 0x1f", []),
        ("nn.CrossEntropyLoss 3", []),
    ],
)
def test_a_line_gives_these_points(line: str, expected: list[Point]) -> None:
    assert parse_line(line) == expected


def test_a_bar_gives_one_point_for_each_new_value_and_not_for_each_repaint() -> None:
    bar = "".join(
        f"\r{i}/3 [00:0{i}<00:03,  1.00it/s, loss={loss}]"
        for i, loss in [(1, 0.9), (1, 0.9), (2, 0.5), (2, 0.5), (3, 0.4)]
    )
    assert values(bar) == [0.9, 0.5, 0.4]


def test_a_line_cut_anywhere_is_one_line() -> None:
    text = "step 1 loss: 0.5\nstep 2 loss: 0.25\n"
    for cut in range(len(text)):
        reader = Losses()
        assert [p.value for p in (*reader.feed(text[:cut]), *reader.feed(text[cut:]))] == [0.5, 0.25]


def test_a_line_of_a_megabyte_costs_nothing() -> None:
    assert values("loss: " * 300_000 + "\n" + "loss: 2\n") == [2.0]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("loss", {"loss"}),
        ("train_loss_step", {"loss"}),
        ("Loss/train", {"loss"}),
        ("validation-loss", {"val", "loss"}),
        ("eval/loss", {"eval", "loss"}),
        ("epoch", {"epoch"}),
        ("loss_cls", {"loss", "cls"}),
    ],
)
def test_one_metric_is_known_under_every_librarys_way_to_write_its_name(name: str, words: set[str]) -> None:
    assert kind(name) == words


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["step", "epoch", "mark"], None),
        (["lr", "accuracy"], "lr"),
        (["lr", "val_loss", "Loss/train", "loss_cls"], "Loss/train"),
        (["train_loss", "loss"], "loss"),
        (["step", "accuracy", "eval_loss"], "eval_loss"),
    ],
)
def test_the_trainings_loss_is_shown_before_other_metrics(names: list[str], chosen: str | None) -> None:
    assert foremost(names) == chosen


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "Epoch: 001/010 | Train Loss: 0.123 | Val Loss: 0.456",
            [Point("train_loss", 0.123, None, 1), Point("val_loss", 0.456, None, 1)],
        ),
        ("epoch=3, step=120, loss=0.5", [Point("loss", 0.5, 120, 3)]),
        ("Step 100: loss = 0.5 (0.02 sec)", [Point("loss", 0.5, 100)]),
        ("[Epoch 1, Batch 200] loss: 0.5", [Point("loss", 0.5, 200, 1)]),
        ("iter 100: loss 2.4567, time 123ms, mfu 1.2%", [Point("loss", 2.4567, 100)]),
        ("step 250: train loss 1.9, val loss 2.0", [Point("train_loss", 1.9, 250), Point("val_loss", 2.0, 250)]),
        ("Epoch: [0][ 10/100]\tTime 0.5 (0.4)\tLoss 1.2e+00 (1.3e+00)\tAcc@1", [Point("loss", 1.2, 10, 0)]),
        ("epoch 1, loss 0.040436", [Point("loss", 0.040436, None, 1)]),
        ("loss 0.417, train acc 0.853, test acc 0.80", [Point("loss", 0.417)]),
        ("2024-01-01 12:00:00,123 - INFO - Epoch 3 - Training Loss: 0.25", [Point("train_loss", 0.25, None, 3)]),
        ("[0]\tvalidation_0-logloss:0.60491", [Point("logloss", 0.60491)]),
        ("[7]\ttrain-logloss:0.4\teval-logloss:0.5", [Point("train_logloss", 0.4), Point("eval_logloss", 0.5)]),
        ("Loss after iteration 10: 0.25", [Point("loss", 0.25, 10)]),
        ("Loss after epoch 3: 0.5", [Point("loss", 0.5, None, 3)]),
        ("Loss at step 10 = 0.5", [Point("loss", 0.5, 10)]),
        ("[D loss: 0.69, acc: 50%] [G loss: 0.5]", [Point("d_loss", 0.69), Point("g_loss", 0.5)]),
        ("Step: 1ms | Tot: 10ms | Loss: 0.9 | Acc: 90.0% (9000/10000)", [Point("loss", 0.9)]),
        ("Steps:  10%|# | 100/1000 [00:10<01:30, 10it/s, lr=1e-5, step_loss=0.123]", [Point("step_loss", 0.123, 100)]),
        ("Best loss: 0.3", [Point("best_loss", 0.3)]),
        (
            "Epoch(train)  [1][ 50/100]  lr: 1e-3 eta: 0:10 loss: 0.5 loss_cls: 0.3",
            [Point("loss", 0.5, 50, 1), Point("loss_cls", 0.3, 50, 1)],
        ),
        ("train/loss=0.25 val/loss: 0.5", [Point("train_loss", 0.25), Point("val_loss", 0.5)]),
        ("Epoch 00001: val_loss improved from inf to 0.25, saving model", []),
        (
            " iteration       10/    100 | lm loss: 1.08E+01 | loss scale: 4.0 | grad norm: 1.0",
            [Point("loss", 10.8, 10)],
        ),
        ("Epoch 3 loss 0.5:  45%|#### | 45/100 [00:10<00:12,  4.40it/s]", [Point("loss", 0.5, 45, 3)]),
        ("loss: 0.5.", [Point("loss", 0.5)]),
        ("Epoch 12. Loss: 0.25. Step 3.", [Point("loss", 0.25, 3, 12)]),
        ("see http://x/loss/3 for loss", []),
        ("Epoch 1 of 5, 30% done, loss: 2", [Point("loss", 2, None, 1)]),
    ],
)
def test_what_well_known_examples_and_libraries_print_is_read(line: str, expected: list[Point]) -> None:
    assert parse_line(line) == expected


def test_a_bar_that_moves_on_before_its_loss_is_new_gives_no_point_for_it() -> None:
    bar = (
        "\r0/3 [00:00<?, ?it/s]\r1/3 [00:00<00:03, 1it/s, loss=0.9]\r2/3 [00:01<00:02, 1it/s, loss=0.9]"
        "\r2/3 [00:01<00:02, 1it/s, loss=0.5]\r3/3 [00:02<00:00, 1it/s, loss=0.4]\n"
    )
    for cut in (0, 30, 60, 100, len(bar) - 1):
        reader = Losses()
        found = [*reader.feed(bar[:cut]), *reader.feed(bar[cut:])]
        assert [(p.step, p.value) for p in found] == [(1, 0.9), (2, 0.5), (3, 0.4)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_that_print_the_same_value_again_are_points_each(end: str) -> None:
    assert values(f"loss: 0.4{end}" * 3) == [0.4, 0.4, 0.4]


def test_the_epoch_above_keras_bars_is_theirs() -> None:
    reader = Losses()
    text = "Epoch 1/2\n1/2 [==>..] - loss: 0.9\r2/2 [====] - loss: 0.8 - val_loss: 0.7\nEpoch 2/2\n1/2 [=>..] - loss: 0.8\r"
    assert reader.feed(text) == [
        Point("loss", 0.9, 1, 1),
        Point("loss", 0.8, 2, 1),
        Point("val_loss", 0.7, 2, 1),
        Point("loss", 0.8, 1, 2),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "a_" * 1950 + " loss",
        "a/" * 1950 + " loss",
        "loss " + " " * 3900 + "x",
        "train " * 600 + "loss",
        "epoch" + "\t" * 3900 + "loss",
    ],
)
def test_no_line_takes_long(line: str) -> None:
    began = time.process_time()
    assert parse_line(line) == []
    assert time.process_time() - began < 0.2
