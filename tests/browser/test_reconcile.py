"""Outputs are in their cell, on the screen and in the file, each once, whatever happened to page and kernel meanwhile."""

import os
import signal
from typing import Any

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.driver import Lab

LOAD = "%load_ext jupysched"
ROWS = 24
CELL = f"""%%gpujob --name rows
import time
from IPython.display import HTML, display
handle = display(HTML("<i>0 %</i>"), display_id="bar")
for i in range({ROWS}):
    print("row", i, flush=True)
    handle.update(HTML(f"<i>{{i}} done</i>"))
    time.sleep(0.35)
display({{"text/plain": "the end"}}, raw=True)
final = {{"acc": 0.91}}"""
EXPECTED = "".join(f"row {i}\n" for i in range(ROWS))


def is_complete(lab: Lab, path: str) -> None:
    """The cell and the file hold everything once, in order."""
    lab.wait_for_state(1, "succeeded")
    lab.eventually(lambda: "the end" in lab.cell(1).inner_text(), "the last output is there")
    lab.page.wait_for_timeout(1500)
    text = lab.cell(1).locator(".jp-OutputArea").first.inner_text()
    for i in range(ROWS):
        assert text.split("\n").count(f"row {i}") == 1, f"row {i} in {text!r}"
    lab.save()
    assert lab.saved_text(path, 1) == EXPECTED
    kinds = [o["output_type"] for o in lab.saved(path, 1)]
    assert kinds == ["display_data", "display_data", "stream", "display_data"]
    card = lab.saved(path, 1)[0]["data"]["application/vnd.jupysched.job+json"]
    assert card["state"] == "succeeded"
    html = "".join(lab.saved(path, 1)[1]["data"]["text/html"])
    assert html == f"<i>{ROWS - 1} done</i>"


@pytest.fixture
def running(lab: Lab) -> str:
    """A notebook whose job has printed something and goes on."""
    lab.start_daemon()
    path = lab.notebook(LOAD, CELL, "final")
    lab.run_cell(0)
    lab.run_cell(1)
    lab.eventually(lambda: "row 3" in lab.text(1), "the job prints")
    return path


def test_undisturbed_the_kernel_alone_writes(lab: Lab, running: str) -> None:
    is_complete(lab, running)


def test_after_a_reload_in_the_middle(lab: Lab, running: str) -> None:
    lab.save()
    lab.reload()
    lab.eventually(lambda: "row 8" in lab.text(1), "the outputs go on")
    lab.shot("after-reload")
    is_complete(lab, running)


def test_after_a_kernel_restart_in_the_middle(lab: Lab, running: str) -> None:
    lab.restart_kernel()
    is_complete(lab, running)


def test_in_a_notebook_that_was_renamed_in_the_middle(lab: Lab, running: str) -> None:
    """Case C21: the cell is found by what it is, not by the path it had."""
    renamed = f"renamed {running}"
    lab.page.evaluate("name => window.jupyterapp.shell.currentWidget.context.rename(name)", renamed)
    is_complete(lab, renamed)


def test_after_the_page_was_closed_until_the_end(lab: Lab, running: str) -> None:
    lab.save()
    lab.page.goto("about:blank")
    lab.eventually(lambda: lab.server.api("jobs?state=running").json()["total"] == 0, "the job has ended")
    lab.open()
    lab.open_notebook(running)
    is_complete(lab, running)


def test_after_kernel_and_page_were_gone_the_results_can_still_be_fetched(lab: Lab, running: str) -> None:
    lab.save()
    lab.page.goto("about:blank")
    lab.shut_down_kernels()
    lab.eventually(lambda: lab.server.api("jobs?state=running").json()["total"] == 0, "the job has ended")
    lab.open()
    lab.open_notebook(running)
    is_complete(lab, running)
    job = lab.card(1).get_attribute("data-jupysched-job")
    expect(lab.card(1)).to_contain_text(f"%gpujob fetch {job} brings back: ")
    lab.page.evaluate(
        "s => window.jupyterapp.shell.currentWidget.content.widgets[2].model.sharedModel.setSource(s)",
        f"%gpujob fetch {job}\nfinal",
    )
    lab.run_cell(0)
    lab.run_cell(2)
    expect(lab.cell(2)).to_contain_text("0.91")


def test_after_the_network_was_cut(lab: Lab, running: str) -> None:
    # Every WebSocket of the page passes through here after the reload, and can be cut.
    sockets = _through(lab.page)
    lab.save()
    lab.reload()
    lab.eventually(lambda: "row 6" in lab.text(1), "the outputs go on")
    for socket in list(sockets):
        socket.close()
    is_complete(lab, running)


def _through(page: Page) -> list[WebSocketRoute]:
    sockets: list[WebSocketRoute] = []

    def take(socket: WebSocketRoute) -> Any:
        socket.connect_to_server()
        if "jupysched" in socket.url:
            sockets.append(socket)

    page.route_web_socket("**/*", take)
    return sockets


def test_what_input_waits_for_is_answered_in_the_page_when_the_kernel_was_killed(lab: Lab) -> None:
    lab.start_daemon()
    cell = "%%gpujob --name asks --wait\nname = input('name? ')\nprint('hello', name, flush=True)"
    path = lab.notebook(f"{LOAD}\nimport os; print(os.getpid())", cell)
    lab.run_cell(0)
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1")
    lab.run("notebook:run-cell", wait=False)
    expect(lab.cell(1).locator(".jp-Stdin-input")).to_be_visible()
    lab.save()
    os.kill(int(lab.text(0)), signal.SIGKILL)
    lab.reload()
    question = lab.cell(1).locator(".jp-jupysched-question")
    expect(question).to_contain_text("name?")
    lab.shot("input-after-reload")
    question.locator("input").fill("Ada <b>L</b>")
    question.locator("input").press("Enter")
    lab.wait_for_state(1, "succeeded")
    lab.eventually(lambda: "hello Ada <b>L</b>" in lab.text(1), "it goes on")
    expect(question).to_be_hidden()
    lab.save()
    assert lab.saved_text(path, 1) == "hello Ada <b>L</b>\n"
