"""Wherever a metric comes from, its last value is on the card and in `show`, in the notebook and on the command line."""

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.cases.notebook import Notebook
from tests.cases.outputs import Outputs
from tests.magic.kernel import ended
from tests.runner.test_libraries import LIGHTNING, TRANSFORMERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.timeout(300),
    pytest.mark.leaky("the daemon lives for the whole file, and its zygote forks a pair ahead of each job"),
]

LOG = "import jupysched\nfor i in range(4): jupysched.log(step=i, epoch=i / 2, loss=1 / (i + 1))"
PRINTED = "for i in range(4): print(f'[{i // 2}, {i}] loss: {1 / (i + 1):.3f}')"
BAR = "from tqdm.auto import tqdm\nbar = tqdm(range(4))\nfor i in bar:\n    bar.set_postfix(loss=1 / (i + 1))\n    bar.refresh()"
WRITER = (
    "from torch.utils.tensorboard import SummaryWriter\nwith SummaryWriter('tb') as writer:\n"
    "    for i in range(4): writer.add_scalar('Loss/train', 1 / (i + 1), i)"
)
WRITER_X = WRITER.replace("torch.utils.tensorboard", "tensorboardX")
ACCELERATE = (
    "from accelerate import Accelerator\naccelerator = Accelerator(cpu=True)\n"
    "for i in range(4): accelerator.log({'train_loss': 1 / (i + 1)}, step=i)"
)


def run(notebook: Notebook, cell: str) -> Outputs:
    """The outputs of a job that has ended well."""
    seen = notebook.run(f"%%gpujob\n{cell}", allow_stdin=True, within_s=120)
    ended(notebook, seen, within_s=240)
    assert seen.card is not None
    assert seen.card["state"] == "succeeded", seen.text
    return seen


def shown(job: int) -> dict[str, Any]:
    """The metrics of a job, as the command line shows them."""
    command = [sys.executable, "-c", "from jupysched.cli import main; main()", "show", str(job), "--json"]
    said = subprocess.run(command, capture_output=True, text=True, check=True)
    record = json.loads(said.stdout)
    found: dict[str, Any] = (record[0] if isinstance(record, list) else record)["metrics"]
    return found


@pytest.mark.parametrize(
    ("cell", "name", "value"),
    [
        pytest.param(LOG, "loss", 0.25, id="log"),
        pytest.param(PRINTED, "loss", 0.25, id="printed"),
        pytest.param(BAR, "loss", 0.25, id="tqdm"),
        pytest.param(WRITER, "Loss/train", 0.25, id="tensorboard"),
        pytest.param(WRITER_X, "Loss/train", 0.25, id="tensorboardX"),
        pytest.param(LIGHTNING.format(package="lightning.pytorch", logger="False"), "train_loss", 0.25, id="lightning"),
        pytest.param(TRANSFORMERS, "loss", None, id="transformers"),
        pytest.param(ACCELERATE, "train_loss", 0.25, id="accelerate"),
    ],
)
def test_the_last_loss_is_on_the_card_and_in_show(
    notebook: Notebook, cell: str, name: str, value: float | None
) -> None:
    seen = run(notebook, cell)
    assert seen.card is not None
    said = notebook.run(f"%gpujob show {seen.card['job']}").displays[0]["text/plain"]
    metrics = shown(seen.card["job"])
    last = metrics[name]
    assert last == pytest.approx(value) if value is not None else last > 0
    assert seen.card["metrics"][name] == last
    assert f"{name} {last:.4g}" in said
    assert "step" in metrics


def test_a_loss_that_became_nan_is_called_out_on_the_card_and_in_show(notebook: Notebook) -> None:
    for cell in (
        "import jupysched\nfor i in range(200): jupysched.log(step=i, loss=float('nan') if i >= 120 else 0.5)",
        "for i in range(200): print('step', i, 'loss:', float('nan') if i >= 120 else 0.5)",
    ):
        seen = run(notebook, cell)
        assert seen.card is not None
        assert "loss became NaN at step 120." in seen.card["words"]["detail"]
        said = notebook.run(f"%gpujob show {seen.card['job']}").displays[0]["text/plain"]
        assert "loss became NaN at step 120" in said
        assert shown(seen.card["job"])["mark"] == "loss became NaN at step 120"
