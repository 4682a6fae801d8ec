"""A slow network and one that is cut: what the page shows is late, and then it is all there, once, and true."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import BrowserContext, expect

from tests.browser.conftest import SHOTS
from tests.browser.driver import Lab
from tests.browser.wire import Wire, wire_to
from tests.cases.case import load
from tests.labs import JupyterServer

LINES = 2500
TALKS = f"""%%gpujob --name talks
for i in range({LINES}):
    print("row", i, "." * 60, flush=True)"""
#: slower than a bad mobile network
SLOW = 24_000.0


@pytest.fixture
def wire(server: JupyterServer) -> Iterator[tuple[Wire, JupyterServer]]:
    """Between the page and its server."""
    with wire_to(server) as made:
        yield made


@pytest.fixture
def lab(wire: tuple[Wire, JupyterServer], context: BrowserContext, server: JupyterServer) -> Iterator[Lab]:
    """JupyterLab at the far end of the wire."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    opened = Lab(wire[1], context.new_page(), SHOTS)
    opened.open()
    yield opened
    wire[0].bytes_a_second, wire[0].is_dead = None, False
    opened.page.goto("about:blank")
    Lab(server, opened.page, SHOTS).shut_down_kernels()
    assert opened.errors == []


def rows(lab: Lab) -> list[int]:
    """The rows that the cell shows, in order."""
    return [int(line.split()[1]) for line in lab.text(1).split("\n") if line.startswith("row ")]


def test_on_a_slow_network_everything_arrives_once_and_the_queue_is_shown_as_it_is_now(
    lab: Lab, wire: tuple[Wire, JupyterServer], server: JupyterServer
) -> None:
    lab.start_daemon()
    sidebar = lab.show_sidebar()
    path = lab.notebook("%load_ext jupysched", TALKS)
    lab.run_cell(0)
    wire[0].bytes_a_second = SLOW
    lab.run_cell(1)
    lab.eventually(lambda: server.api("jobs?limit=1").json()["jobs"][0]["state"] == "succeeded", "the job has ended")
    # What happened meanwhile does not wait in line before what is so now.
    expect(sidebar.get_by_role("row").filter(has_text="talks").first).to_contain_text("succeeded", timeout=30_000)
    wire[0].bytes_a_second = None
    lab.wait_for_state(1, "succeeded")
    lab.eventually(lambda: rows(lab)[-1:] == [LINES - 1], "all is there", within_s=120)
    assert rows(lab) == list(range(LINES))
    lab.save()
    assert [line.split()[1] for line in lab.saved_text(path, 1).splitlines()] == [str(i) for i in range(LINES)]


def test_case_G07_a_connection_that_drops_and_comes_back_leaves_no_gap_and_doubles_nothing(
    lab: Lab, wire: tuple[Wire, JupyterServer]
) -> None:
    (case,) = load(("G07",))
    dropped, restored = case["scenario"][1], case["scenario"][2]
    assert (dropped["do"], restored["do"]) == ("drop_websocket", "restore_websocket")
    lab.start_daemon()
    sidebar = lab.show_sidebar()
    path = lab.notebook("%load_ext jupysched", f"%%gpujob {case['magic_args']}\n{case['cell']}")
    lab.run_cell(0)
    lab.run_cell(1)
    lab.eventually(lambda: "row 0" in lab.text(1), "the job prints")
    lab.page.wait_for_timeout(dropped["after_s"] * 1000)
    wire[0].is_dead = True
    assert wire[0].cut() >= 2, "the page's stream and the kernel's"
    expect(sidebar.get_by_text("The Jupyter server does not answer")).to_be_visible()
    lab.shot("cut-off")
    lab.page.wait_for_timeout(restored["after_s"] * 1000)
    wire[0].is_dead = False
    lab.wait_for_state(1, "succeeded")
    expect(sidebar.get_by_text("The Jupyter server does not answer")).to_be_hidden()
    lab.eventually(lambda: rows(lab)[-1:] == [29], "the last row is there")
    lab.page.wait_for_timeout(4000)
    assert rows(lab) == list(range(30))
    lab.save()
    assert lab.saved_text(path, 1).splitlines() == [f"{case['expect']['each_line_once']} {i}" for i in range(30)]
