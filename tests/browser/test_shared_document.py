"""jupyter-collaboration: several pages have one document open, and what a job puts out stands in it once.

Installed into a folder of its own, so that no other test and nobody's JupyterLab is changed by it."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import SHOTS
from tests.browser.driver import Lab
from tests.labs import ROOT, JupyterServer, jupyter_server
from tests.leaks import end_all_in, temporary_home

#: what `pip install jupyter-collaboration` brings beside JupyterLab, for JupyterLab 4.6
PACKAGES = (
    "jupyter-collaboration==5.0.4", "jupyter-collaboration-ui==3.0.4", "jupyter-docprovider==3.0.4",
    "jupyter-server-ydoc==3.0.4", "jupyter-ydoc==4.2.1", "jupyter-server-fileid==0.10.0", "pycrdt==0.14.13",
    "pycrdt-store==0.1.5", "pycrdt-websocket==0.16.5", "sqlite-anyio==0.2.10",
)  # fmt: skip
ROWS = 24
CELL = f"""%%gpujob --name together
import time
for i in range({ROWS}):
    print("row", i, flush=True)
    time.sleep(0.4)
display({{"text/plain": "the end"}}, raw=True)"""
SETTINGS = (
    'c.ServerApp.jpserver_extensions = {"jupysched": True, "jupyter_server_ydoc": True, "jupyter_server_fileid": True}'
)


@pytest.fixture(scope="module")
def packages() -> Path:
    """The folder with the packages; kept between runs."""
    folder = ROOT / ".venv" / "collaboration"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        uv = Path(sys.executable).with_name("uv")
        pip = [str(uv), "pip"] if uv.exists() else [sys.executable, "-m", "pip"]
        python = ["--python", sys.executable] if uv.exists() else []
        command = [*pip, "install", "--quiet", "--no-deps", *python, "--target", str(folder), *PACKAGES]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"jupyter-collaboration cannot be installed here: {done.stderr[-300:]}")
        (folder / "complete").touch()
    return folder


@pytest.fixture(scope="module")
def server(packages: Path) -> Iterator[JupyterServer]:
    """JupyterLab with shared documents."""
    with temporary_home() as home, pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(packages))
        with jupyter_server(home, lab=True, settings=SETTINGS, more_share=packages / "share" / "jupyter") as running:
            yield running
        end_all_in(home)


@pytest.fixture
def other(lab: Lab, browser: Browser) -> Iterator[Lab]:
    """Somebody else's page."""
    profile = browser.new_context(viewport={"width": 1400, "height": 900})
    opened = Lab(lab.server, profile.new_page(), SHOTS)
    opened.open()
    yield opened
    profile.close()


def is_once(page: Lab) -> None:
    """Each row stands there once, in order, and so does what came after them."""
    shown = page.cell(1).locator(".jp-OutputArea").first
    page.eventually(lambda: "the end" in shown.inner_text(), "the last output is there")
    page.page.wait_for_timeout(1500)
    rows = [line for line in shown.inner_text().split("\n") if "row" in line or "end" in line]
    assert rows == [*(f"row {i}" for i in range(ROWS)), "the end"]


def begin(lab: Lab, other: Lab) -> str:
    """The job runs, and both pages have its notebook open."""
    lab.start_daemon()
    path = lab.notebook("%load_ext jupysched", CELL)
    assert lab.page.evaluate("window.jupyterapp.shell.currentWidget.context.model.collaborative")
    lab.run_cell(0)
    lab.run_cell(1)
    other.run("docmanager:open", {"path": path})
    lab.eventually(lambda: "row 2" in lab.text(1), "the job prints")
    return path


def holds(page: Lab, path: str, *pages: Lab) -> None:
    """The document has all of it, once; and so have the pages.

    They are loaded anew before: JupyterLab 4.6 shows outputs that another page writes in a wrong order, or not at all,
    after an update_display_data (of any code)."""
    page.eventually(lambda: "row 23" in page.saved_text(path, 1), "the shared document is saved by itself")
    assert page.saved_text(path, 1) == "".join(f"row {i}\n" for i in range(ROWS))
    for each in pages:
        each.reload()
        is_once(each)


def test_while_the_page_that_queued_it_is_there_its_kernel_alone_writes(lab: Lab, other: Lab) -> None:
    path = begin(lab, other)
    is_once(lab)
    lab.shot("shared-document")
    holds(lab, path, other)


def test_when_that_page_is_gone_one_of_the_others_writes(lab: Lab, other: Lab) -> None:
    path = begin(lab, other)
    lab.eventually(lambda: "row 4" in lab.text(1), "the job prints on")
    lab.page.goto("about:blank")
    holds(other, path, other)
    lab.open()
    lab.open_notebook(path)
    is_once(lab)


def test_after_a_kernel_restart_one_page_writes(lab: Lab, other: Lab) -> None:
    path = begin(lab, other)
    lab.eventually(lambda: "row 4" in lab.text(1), "the job prints on")
    lab.restart_kernel()
    holds(lab, path, lab, other)
