"""A job that is preempted saves its work and goes on later, in a real kernel on a real daemon."""

import subprocess
import sys

import pytest

from tests.cases.notebook import Notebook
from tests.magic.kernel import ended

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.timeout(180),
    pytest.mark.leaky("the daemon lives for the whole file, and its zygote forks a pair ahead of each job"),
]

TRAINS = """%%gpujob --gpus 2 --priority low --name trains
import jupysched, os, pathlib, time
epoch = jupysched.restored(0)
print("from", epoch)
while epoch < 3 and not jupysched.should_stop():
    epoch += 1
    pathlib.Path("came").touch()
    while epoch == 2 and not jupysched.should_stop():
        time.sleep(0.01)
jupysched.checkpoint(epoch)
"""


def test_a_preempted_job_saves_its_work_and_its_next_attempt_goes_on_from_there(notebook: Notebook) -> None:
    notebook.run("import jupysched; from pathlib import Path; Path('came').unlink(missing_ok=True)")
    setting = [sys.executable, "-c", "from jupysched.cli import main; main()", "policy", "set", "priority"]
    subprocess.run([*setting, "preempt=on", "min_run_s=0"], check=True, capture_output=True)
    first = notebook.run(TRAINS, allow_stdin=True)
    notebook.run("import time\nwhile not Path('came').exists(): time.sleep(0.05)")
    urgent = notebook.run("%%gpujob --gpus 2 --priority high --wait\nprint('went first')", within_s=60)
    assert "went first" in urgent.text

    ended(notebook, first, within_s=60)
    assert first.card is not None
    assert first.card["state"] == "succeeded"
    assert "from 2" in first.text
    assert notebook.run("print(epoch)").text.strip() == "3"
