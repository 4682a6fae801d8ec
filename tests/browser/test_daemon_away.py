"""A daemon that is gone is said in one sentence, harms no running job, and is taken up again when it is back."""

import os
import signal

from playwright.sync_api import expect

from tests.browser.driver import Lab
from tests.waiting import eventually

CELL = """%%gpujob --name survivor
import time
for i in range(30):
    print("line", i, flush=True)
    time.sleep(0.3)"""


def stop_daemon(lab: Lab) -> None:
    """As a machine that is short of memory does it."""
    pid = lab.server.api("daemon").json()["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: lab.server.api("daemon").status == 503, what="it is gone")


def test_without_a_kernel_the_page_says_so_and_starts_it_again(lab: Lab) -> None:
    lab.start_daemon()
    sidebar = lab.show_sidebar()
    stop_daemon(lab)
    expect(sidebar.get_by_text("The GPU queue is not running.")).to_be_visible()
    expect(lab.page.locator(".jp-jupysched-status")).to_contain_text("GPU queue away")
    lab.shot("daemon-away")
    sidebar.get_by_role("button", name="Start it").click()
    expect(sidebar.get_by_text("The GPU queue is not running.")).to_be_hidden()
    expect(lab.page.locator(".jp-jupysched-status")).to_contain_text("CPU slots 0/2")


def test_a_job_goes_on_while_the_daemon_is_gone_and_comes_back(lab: Lab) -> None:
    lab.start_daemon()
    path = lab.notebook("%load_ext jupysched", CELL)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.eventually(lambda: "line 3" in lab.text(1), "the job prints")
    stop_daemon(lab)
    lab.eventually(lambda: "line 12" in lab.text(1), "the job goes on")
    lab.wait_for_state(1, "succeeded")
    lab.eventually(lambda: "line 29" in lab.text(1), "all is there")
    lab.save()
    assert lab.saved_text(path, 1) == "".join(f"line {i}\n" for i in range(30))
