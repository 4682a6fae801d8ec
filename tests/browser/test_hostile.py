"""Names and outputs made to break the page are inert text everywhere, and break no layout."""

import pytest
from playwright.sync_api import expect

from tests.browser.driver import Lab

MARKUP = "<img src=x onerror=window.__pwned=1><b>bold</b>"
NAME = "A" * 150 + "\u202eevil\u200b "
CELL = f"""%%gpujob --name "{MARKUP}"
import jupysched
for i in range(5):
    jupysched.log(step=i, loss=1 / (i + 1), **{{"<img src=x onerror=window.__pwned=2>": i}})
print("</pre><script>window.__pwned=3</script>", flush=True)
print("loss: 0.5</script><svg/onload=window.__pwned=4>")
print("\\x1b[31mred\\x1b[0m plain")
raise ValueError("<img src=x onerror=window.__pwned=5>")"""


def is_inert(lab: Lab) -> None:
    """Nothing of it ran, in this page or in any frame."""
    for frame in lab.page.frames:
        assert frame.evaluate("window.__pwned === undefined"), f"a script ran in {frame.url}"
        assert frame.evaluate("document.querySelectorAll('img[src=x], svg[onload]').length") == 0


@pytest.fixture
def job(lab: Lab) -> int:
    """The job of a hostile cell, ended."""
    lab.start_daemon()
    lab.notebook("%load_ext jupysched", CELL)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.wait_for_state(1, "failed")
    return int(lab.card(1).get_attribute("data-jupysched-job") or 0)


def test_markup_is_text_in_card_row_log_details_and_panel(lab: Lab, job: int) -> None:
    sidebar = lab.show_sidebar()
    expect(lab.card(1)).to_contain_text("<img src=x onerror=window.__pwned=1><b>bold</b>")
    row = sidebar.locator(f"[data-jupysched-job='{job}']")
    expect(row).to_contain_text("<b>bold</b>")
    row.click()
    lab.run("jupysched:show-log", {"jobs": [job]})
    log = lab.page.get_by_role("log")
    expect(log).to_contain_text("<script>window.__pwned=3</script>")
    expect(log.locator(".ansi-red-fg").first).to_contain_text("red")
    lab.page.get_by_role("searchbox", name="Search the log").fill("__PWNED=3")
    expect(log.locator("mark").first).to_have_text("__pwned=3")
    lab.shot("log")
    lab.page.get_by_role("tab", name="Details").click()
    expect(lab.page.get_by_role("table")).to_contain_text("<img src=x onerror=window.__pwned=5>")
    lab.run("jupysched:open-loss", {"jobs": [job]})
    frame = lab.page.frame_locator(".jp-jupysched-panel iframe")
    expect(frame.locator("canvas").first).to_be_visible()
    expect(frame.get_by_text("<b>bold</b>").first).to_be_visible()
    lab.page.wait_for_timeout(1500)
    is_inert(lab)


def test_a_name_without_end_or_that_turns_its_line_keeps_its_place(lab: Lab) -> None:
    lab.start_daemon()
    sidebar = lab.show_sidebar()
    lab.notebook("%load_ext jupysched", f"%%gpujob --name '{NAME}'\nprint('ok')")
    lab.run_cell(0)
    lab.run_cell(1)
    lab.wait_for_state(1, "succeeded")
    width = sidebar.bounding_box() or {"width": 0.0}
    for part in sidebar.locator(".jp-jupysched-row").all():
        box = part.bounding_box() or {"width": 0.0}
        assert box["width"] <= width["width"]
    title = sidebar.locator(".jp-jupysched-row-name").first.get_attribute("title") or ""
    assert "\u202e" not in sidebar.inner_text()
    assert title.startswith("A" * 150)
    card = lab.card(1).bounding_box() or {"width": 9999.0}
    assert card["width"] <= 722
    lab.shot("hostile-name")
