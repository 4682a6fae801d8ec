"""%gpujobs in JupyterLab is a table that lives while it is seen, with buttons that work."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.driver import Lab

HOSTILE = "<img src=x onerror=window.__pwned=1>"
CELLS = (
    "%load_ext jupysched",
    f'%%gpujob --name "{HOSTILE}"\nimport time\nprint("it trains", flush=True)\ntime.sleep(600)',
    "%gpujobs",
    "import sys\nprint('seen:', sys.modules['jupysched.magic.table_widget']._tables[-1]._live._watching is not None)",
)


def test_a_job_is_watched_looked_into_and_cancelled_from_the_table(lab: Lab) -> None:
    lab.start_daemon()
    lab.notebook(*CELLS)
    lab.run_cell(0)
    lab.run_cell(1)
    lab.wait_for_state(1, "running")
    lab.run_cell(2)
    table = lab.cell(2).locator(".jp-OutputArea-output")
    row = table.locator(".widget-hbox").filter(has_text="onerror")
    expect(row).to_contain_text("running")
    expect(row).to_contain_text(HOSTILE[:20])
    row.get_by_role("button", name="Log").click()
    expect(table.locator("pre")).to_contain_text("it trains")
    # Seconds go on without anybody asking.
    expect(row).to_contain_text(re.compile(r"0:\d\d"))
    before = row.inner_text()
    lab.eventually(lambda: row.inner_text() != before, "the running time goes on")
    lab.shot("table-of-widgets")
    row.get_by_role("button", name="Cancel").click()
    again = row.get_by_role("button", name="Cancel? Press again")
    expect(again).to_be_visible()
    again.click()
    expect(row).to_contain_text("cancelled")
    expect(row.get_by_role("button", name="Queue again")).to_be_visible()
    assert lab.page.evaluate("window.__pwned === undefined")
    lab.wait_for_state(1, "cancelled")
    assert_seen(lab, seen=True)
    lab.page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2; }")
    lab.run("notebook:clear-cell-output")
    expect(table).to_have_count(0)
    assert_seen(lab, seen=False)


def assert_seen(lab: Lab, *, seen: bool) -> None:
    """Does the kernel keep the table up to date?"""

    def is_so() -> bool:
        lab.run_cell(3)
        return f"seen: {seen}" in lab.text(3)

    lab.eventually(is_so, f"the kernel {'follows' if seen else 'does not follow'} the table")


@pytest.mark.parametrize("width", [1400, 900])
def test_why_a_job_waits_is_not_covered_by_its_buttons(lab: Lab, width: int) -> None:
    lab.page.set_viewport_size({"width": width, "height": 900})
    lab.start_daemon()
    lab.show_sidebar()
    lab.notebook(
        "%load_ext jupysched",
        "import jupysched, time\njobs = [jupysched.submit(time.sleep, 600, name='sleeper') for _ in range(4)]",
        "%gpujobs",
        "for job in jobs: job.cancel()",
    )
    for cell in range(3):
        lab.run_cell(cell)
    rows = lab.cell(2).locator(".jp-OutputArea-output .widget-hbox").filter(has_text="waiting, 2nd")
    expect(rows.get_by_role("button", name="To the front")).to_be_visible()
    why, line = rows.locator("span[title*='CPU slot']").last.bounding_box(), rows.bounding_box()
    buttons = [button.bounding_box() for button in rows.get_by_role("button").all()]
    lab.shot(f"table-of-waiting-{width}")
    lab.run_cell(3)
    assert why is not None
    assert line is not None
    assert 100 <= why["width"] <= line["x"] + line["width"] - why["x"]
    assert len(buttons) == 5
    assert all(b and (b["x"] >= why["x"] + why["width"] or b["y"] >= why["y"] + why["height"]) for b in buttons)
