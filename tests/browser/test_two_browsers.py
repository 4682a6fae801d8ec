"""Two pages show the same queue and the same outputs at the same time, and what one does the other sees."""

from playwright.sync_api import Browser, expect

from tests.browser.conftest import SHOTS
from tests.browser.driver import Lab

CELL = """%%gpujob --name shared
import time
for i in range(40):
    print("row", i, flush=True)
    time.sleep(0.3)"""


def test_what_one_page_queues_and_cancels_the_other_shows(lab: Lab, browser: Browser) -> None:
    lab.start_daemon()
    path = lab.notebook("%load_ext jupysched", CELL)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.eventually(lambda: "row 2" in lab.text(1), "the job prints")
    lab.save()
    other_profile = browser.new_context(viewport={"width": 1400, "height": 900})
    other = Lab(lab.server, other_profile.new_page(), SHOTS)
    other.open()
    row = other.show_sidebar().locator(".jp-jupysched-row").filter(has_text="shared").first
    expect(row).to_contain_text("running")
    other.open_notebook(path)
    other.eventually(lambda: "row 12" in other.text(1), "the other page shows the outputs too")
    assert [other.text(1).split("\n").count(f"row {i}") for i in range(13)] == [1] * 13
    other.card(1).get_by_role("button", name="Cancel job").click()
    other.page.get_by_role("dialog").get_by_role("button", name="Cancel Job").click()
    other.wait_for_state(1, "cancelled")
    lab.wait_for_state(1, "cancelled")
    assert other.errors == []
    other_profile.close()
