"""GPUs are shown as what they are: busy, free, lost, or used by somebody outside; and their readings over time."""

import gc
import re
import shutil
import subprocess
from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import SHOTS
from tests.browser.driver import Lab
from tests.fakenvml.machine import FakeMachine
from tests.labs import jupyter_server
from tests.leaks import end_all_in, temporary_home

pytestmark = pytest.mark.skipif(shutil.which("gcc") is None, reason="the stand-in for NVML is built with gcc")

TRAIN = """%%gpujob --name resnet --time 10m
for step in range(200):
    print(f"step {step} train_loss: {2.3 * 0.98 ** step:.4f} val_loss: {2.4 * 0.985 ** step:.4f}", flush=True)
    import time; time.sleep(0.1)"""


@pytest.fixture
def machine() -> Iterator[FakeMachine]:
    """Four GPUs: one at work, one that waits for data, one outside jupysched, one free."""
    made = FakeMachine(4)
    for index, (busy, memory) in enumerate([(96, 61e9), (23, 20e9), (12, 70e9), (0, 0.4e9)]):
        _set(made, index, util_gpu=busy, mem_used=int(memory), temp=60 - 8 * index, power_mw=600_000 - 150_000 * index)
    yield made
    gc.collect()
    made.close()


def _set(machine: FakeMachine, index: int, **values: int) -> None:
    # No reference to a GPU may outlive the machine's map.
    for name, value in values.items():
        setattr(machine.gpus[index], name, value)


@pytest.fixture
def outsider(machine: FakeMachine) -> Iterator[int]:
    """A process that is no job and holds a GPU."""
    process = subprocess.Popen(["sleep", "600"])
    machine.use(2, process.pid, int(70e9))
    yield process.pid
    process.terminate()
    process.wait()


@pytest.fixture
def lab(machine: FakeMachine, outsider: int, context: BrowserContext, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    """JupyterLab on that machine."""
    for name, value in machine.environ.items():
        monkeypatch.setenv(name, value)
    SHOTS.mkdir(parents=True, exist_ok=True)
    with temporary_home() as home:
        with jupyter_server(home, lab=True, slots=0) as server:
            opened = Lab(server, context.new_page(), SHOTS)
            opened.open()
            yield opened
            opened.shut_down_kernels()
        end_all_in(home)
    assert opened.errors == []


def test_gpus_are_shown_as_what_they_are(lab: Lab, machine: FakeMachine, outsider: int) -> None:
    assert lab.server.api("daemon", {}).json()["kind"] == "gpu"
    sidebar = lab.show_sidebar()
    gpus = sidebar.locator(".jp-jupysched-gpu")
    expect(gpus).to_have_count(4)
    expect(gpus.nth(2)).to_contain_text("outside")
    expect(gpus.nth(2)).to_have_attribute("title", re.compile(rf"PID {outsider}\b"))
    expect(gpus.nth(0)).to_contain_text("free")
    lab.notebook("%load_ext jupysched", TRAIN)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.wait_for_state(1, "running")
    expect(gpus.nth(0)).to_contain_text("96 %")
    expect(gpus.nth(0)).to_contain_text("resnet")
    expect(gpus.nth(0)).to_have_attribute("title", re.compile("you · resnet"))
    expect(lab.card(1)).to_contain_text("GPU 96 % · 61.0 of 85.9 GB")
    _set(machine, 3, lost=1)
    expect(gpus.nth(3)).to_contain_text("drained")
    lab.page.wait_for_timeout(8000)
    lab.shot("gpus")
    lab.save()
    lab.run("jupysched:open-loss", {"jobs": [1]})
    frame = lab.page.frame_locator(".jp-jupysched-panel iframe")
    expect(frame.get_by_text("GPU busy 96 %: it is well fed.")).to_be_visible()
    lab.shot("gpus-loss")
    lab.run("jupysched:open-utilization")
    lab.page.wait_for_timeout(5000)
    lab.shot("gpus-utilization")
