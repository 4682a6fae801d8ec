"""What the job's libraries log is reported, each point once, and the libraries themselves are as they were."""

import json
import math
import os
import re
from pathlib import Path
from typing import Any

import pytest

from jupysched.panels.training import AttemptMetrics
from jupysched.runner import points
from jupysched.spool import Kind
from tests.runner.node import Job, Node
from tests.waiting import eventually

pytestmark = [
    pytest.mark.leaky("the node's zygote forks a pair ahead of each job"),
    pytest.mark.slow,
    pytest.mark.timeout(300),
]

#: Nothing is asked of any hub, and nobody is told of what ran.
QUIET = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "DISABLE_TELEMETRY": "1"}


def reported(job: Job) -> list[tuple[float | None, float | None, dict[str, Any]]]:
    """Step, epoch and values of all that was reported."""
    assert job.outcome == "ok", job.error_text()
    found = [point for frame in job.frames if frame.kind == Kind.METRICS for point in points.read(frame.payload)]
    assert all(point.time is not None for point in found)
    return [(point.step, point.epoch, point.values) for point in found]


def notes(job: Job) -> list[str]:
    return [json.loads(frame.payload)["text"] for frame in job.frames if frame.kind == Kind.NOTE]


def run(node: Node, cell: str, **env: str) -> Job:
    """A job that has ended. To import these libraries takes a loaded machine a minute, in which a job says nothing."""
    job = node.job(cell, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **QUIET, **env})
    job.start()
    eventually(lambda: job.exit, within_s=240, what="the end of the job")
    job.follow()
    return job


WRITERS = pytest.mark.parametrize("library", ["torch.utils.tensorboard", "tensorboardX"])

TENSORBOARD = """
from {library} import SummaryWriter
import torch
writer = SummaryWriter("tb-{library}")
for i in range(3):
    writer.add_scalar("Loss/train", torch.tensor(0.5 - i / 4), i)
writer.add_scalar(tag="norm", scalar_value=float("nan"), global_step=3)
writer.add_scalars("loss", {{"train": 0.25, "val": 0.5}}, 4)
writer.add_scalar("no step", 7)
writer.add_hparams({{"lr": 0.1}}, {{"hparam/accuracy": 10}})
writer.add_text("note", "not a number", 5)
writer.close()
"""


@WRITERS
def test_what_a_summary_writer_is_given_is_reported_and_written_as_ever_and_hyper_parameters_are_not(
    node: Node, library: str
) -> None:
    cell = TENSORBOARD + (
        "from tensorboard.backend.event_processing.event_accumulator import EventAccumulator\n"
        "read = EventAccumulator('tb-{library}').Reload()\n"
        "kept = [(e.step, e.value) for e in read.Scalars('Loss/train')]\n"
    )
    job = run(node, cell.format(library=library))
    assert reported(job) == [
        (0, None, {"Loss/train": 0.5}),
        (1, None, {"Loss/train": 0.25}),
        (2, None, {"Loss/train": 0.0}),
        (3, None, {"norm": "nan"}),
        (4, None, {"loss/train": 0.25, "loss/val": 0.5}),
        (None, None, {"no step": 7.0}),
    ]
    assert job.landed()["kept"] == [(0, 0.5), (1, 0.25), (2, 0.0)]
    assert notes(job) == []


def test_switched_off_the_libraries_are_left_as_they_are(node: Node) -> None:
    job = run(
        node, TENSORBOARD.format(library="tensorboardX") + "\nprint(SummaryWriter.add_scalar)", JUPYSCHED_HOOKS="off"
    )
    assert reported(job) == []
    assert "covered" not in job.stdout


def test_what_the_cell_reports_itself_counts_and_what_it_also_writes_to_tensorboard_does_not(node: Node) -> None:
    cell = """
from tensorboardX import SummaryWriter
import jupysched
with SummaryWriter("own") as writer:
    for i in range(2):
        jupysched.log(step=i, loss=0.5 + i)
        writer.add_scalar("loss", 0.5 + i, i)
        writer.add_scalar("accuracy", 0.125 * i, i)
"""
    assert reported(run(node, cell)) == [
        (0, None, {"loss": 0.5}),
        (0, None, {"accuracy": 0.0}),
        (1, None, {"loss": 1.5}),
        (1, None, {"accuracy": 0.125}),
    ]


LIGHTNING = """
import logging, warnings
warnings.simplefilter("ignore")
logging.getLogger("{package}").setLevel(logging.ERROR)
import torch
from torch.utils.data import DataLoader, TensorDataset
import {package} as lightning

class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def training_step(self, batch, index):
        self.log("train_loss", 1.0 / (1 + self.global_step), prog_bar=True)
        return self.layer(batch[0]).pow(2).mean()

    def validation_step(self, batch, index):
        self.log("val_loss", torch.tensor(0.5) / (1 + self.current_epoch), prog_bar=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)

data = DataLoader(TensorDataset(torch.ones(4, 1)), batch_size=2)
logger = {logger}
trainer = lightning.Trainer(
    max_epochs=2, logger=logger, log_every_n_steps=1, accelerator="cpu", enable_checkpointing=False, enable_model_summary=False,
)
trainer.fit(Net(), data, data)
loggers = len(trainer.loggers)
callbacks = sorted(type(callback).__name__ for callback in trainer.callbacks)
"""


@pytest.mark.parametrize(
    ("package", "logger"),
    [
        ("lightning.pytorch", "False"),
        ("lightning.pytorch", "lightning.loggers.TensorBoardLogger('logs')"),
        ("pytorch_lightning", "[lightning.loggers.CSVLogger('csv'), lightning.loggers.TensorBoardLogger('logs')]"),
    ],
)
def test_what_lightnings_self_log_is_given_is_reported_once_whatever_loggers_there_are(
    node: Node, package: str, logger: str
) -> None:
    job = run(node, LIGHTNING.format(package=package, logger=logger))
    assert reported(job) == [
        (0, 0, {"train_loss": 1.0}),
        (1, 0, {"train_loss": 0.5}),
        (1, 0, {"val_loss": 0.5}),
        (2, 1, {"train_loss": pytest.approx(1 / 3)}),
        (3, 1, {"train_loss": 0.25}),
        (3, 1, {"val_loss": 0.25}),
    ]
    names = job.landed()
    assert names["loggers"] == logger.count("Logger")
    assert names["callbacks"] == ["TQDMProgressBar"] or "Progress" in names["callbacks"][-1]
    assert notes(job) == []
    # Lightning's own bar says it again, and adds no point.
    assert re.search(r"train_loss[:=]", job.stdout + job.stderr)
    metrics = AttemptMetrics("")
    metrics.feed(job.frames)
    assert {name: series.total for name, series in metrics.series.items()} == {"train_loss": 4, "val_loss": 2}


TRANSFORMERS = """
import os
os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from torch.utils.tensorboard import SummaryWriter

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)

    def forward(self, x=None, labels=None):
        out = self.layer(x)
        return {"loss": (out - labels).pow(2).mean(), "logits": out}

class Own(TrainerCallback):
    # writes of its own, while the Trainer logs
    def on_log(self, args, state, control, logs=None, **more):
        if "loss" in logs:
            writer.add_scalar("temperature", 20.0 + state.global_step, state.global_step)

writer = SummaryWriter("own-writer")
data = [{"x": torch.ones(1), "labels": torch.zeros(1)} for _ in range(4)]
asked = TrainingArguments(
    "out", num_train_epochs=2, per_device_train_batch_size=2, logging_steps=1, eval_strategy="epoch", save_strategy="no",
    report_to=["tensorboard"], use_cpu=True,
)
trainer = Trainer(Net(), asked, train_dataset=data, eval_dataset=data, callbacks=[Own])
trainer.train()
told = [(entry["step"], entry["loss"]) for entry in trainer.state.log_history if "loss" in entry]
told_eval = [(entry["step"], entry["eval_loss"]) for entry in trainer.state.log_history if "eval_loss" in entry]
"""


def test_what_a_trainer_of_transformers_logs_is_reported_once_with_step_and_epoch(node: Node) -> None:
    job = run(node, TRANSFORMERS)
    said = reported(job)
    names = job.landed()
    assert [(step, values["loss"]) for step, _, values in said if "loss" in values] == names["told"]
    assert [(step, values["eval_loss"]) for step, _, values in said if "eval_loss" in values] == names["told_eval"]
    assert [epoch for _, epoch, values in said if "loss" in values] == [0.5, 1.0, 1.5, 2.0]
    assert [values["temperature"] for _, _, values in said if "temperature" in values] == [21.0, 22.0, 23.0, 24.0]
    every = {name for _, _, values in said for name in values}
    assert every == {"loss", "grad_norm", "learning_rate", "eval_loss", "train_loss", "temperature"}
    assert notes(job) == []


def test_what_an_accelerator_logs_is_reported_once_with_and_without_a_tracker(node: Node) -> None:
    cell = """
from accelerate import Accelerator
for number, tracker in enumerate([None, "tensorboard"]):
    accelerator = Accelerator(log_with=tracker, project_dir="tracked", cpu=True)
    accelerator.init_trackers("run", config={"lr": 0.1})
    for i in range(2):
        accelerator.log({"train_loss": number + 1 / (i + 1), "epoch": i / 2, "tag": "text"}, step=i)
    accelerator.log({"eval": {"loss": number + 0.25}}, step=2)
    accelerator.end_training()
"""
    assert reported(run(node, cell)) == [
        (step, epoch, {name: number + value})
        for number in (0, 1)
        for step, epoch, name, value in (
            (0, 0.0, "train_loss", 1.0),
            (1, 0.5, "train_loss", 0.5),
            (2, None, "eval/loss", 0.25),
        )
    ]


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("class Writer: ...", "AttributeError"),
        ("class SummaryWriter:\n    add_scalar = add_hparams = print", "AttributeError"),
        (
            "class SummaryWriter:\n    add_scalar = add_scalars = add_hparams = lambda self, one: print(one)",
            "TypeError",
        ),
    ],
)
def test_a_library_that_is_not_as_we_know_it_works_and_is_noted_once(node: Node, source: str, what: str) -> None:
    folder = node.work / f"other{abs(hash(source))}" / "tensorboardX"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "writer.py").write_text(source)
    cell = f"""
import sys
sys.path.insert(0, {str(folder.parent)!r})
import tensorboardX.writer as library
writer = getattr(library, "SummaryWriter", library.__class__)
for i in range(3):
    if hasattr(writer, "add_scalar"):
        writer().add_scalar("it works")
"""
    job = run(node, cell)
    assert reported(job) == []
    assert job.stdout.count("it works") == (3 if "add_scalar" in source else 0)
    said = [note for note in notes(job) if "tensorboardX" in note]
    assert len(said) == 1
    assert what in said[0]


def test_a_thousand_points_a_second_travel_in_few_frames_and_none_is_lost(node: Node) -> None:
    job = run(
        node, "import jupysched\nfor i in range(20_000):\n    jupysched.log(step=i, loss=i / 2, norm=float('nan'))"
    )
    assert [(step, values["loss"]) for step, _, values in reported(job)] == [(i, i / 2) for i in range(20_000)]
    assert sum(frame.kind == Kind.METRICS for frame in job.frames) < 400
    assert job.exit is not None
    last = job.exit["metrics"]
    assert (last["loss"], last["step"], last["mark"]) == (9999.5, 19_999, "norm became NaN at step 0")
    assert math.isnan(float(last["norm"]))


def test_a_single_point_is_there_while_the_job_still_works(node: Node) -> None:
    cell = "import jupysched, time\njupysched.log(loss=1)\njupysched.log(loss=2)\ntime.sleep(600)"
    job = node.job(cell)
    job.start()
    with job.read_until('{"loss": 2.0}'):
        assert job.exit is None
    job.tell(op="stop")
    job.follow()


def test_what_a_forked_child_reports_comes_once(node: Node) -> None:
    cell = """
import jupysched, os
for i in range(3):
    jupysched.log(step=i, loss=i)
pid = os.fork()
if pid == 0:
    jupysched.log(step=9, loss=9)
    os._exit(0)
os.waitpid(pid, 0)
jupysched.log(step=3, loss=3)
"""
    said = [values["loss"] for _, _, values in reported(run(node, cell))]
    assert sorted(said) == [0.0, 1.0, 2.0, 3.0, 9.0]
