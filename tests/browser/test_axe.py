"""axe-core finds no serious fault in any of our views, in JupyterLab's light and dark."""

import pytest
from playwright.sync_api import expect

from tests.browser.driver import Lab
from tests.labs import ROOT

AXE = ROOT / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
CELLS = (
    "%load_ext jupysched",
    """%%gpujob --name fine
import jupysched, time
for step in range(5):
    jupysched.log(step=step, loss=1 / (step + 1))
    print("\\x1b[32mgreen\\x1b[0m", step, flush=True)
    time.sleep(0.1)""",
    "%%gpujob --name broken\nraise ValueError('no')",
    "%%gpujob --name goes-on\nimport time; time.sleep(120)",
    "x = 1",
)
OURS = (
    "#jupysched",
    ".jp-jupysched-status",
    ".jp-jupysched-card",
    ".jp-jupysched-badge",
    ".jp-jupysched-page",
    ".jp-jupysched-form",
)


def faults(lab: Lab, theme: str) -> list[tuple[str, str, list[str]]]:
    """What axe calls serious or critical in what is ours and in sight."""
    lab.page.add_script_tag(path=AXE)
    found = lab.page.evaluate(
        """ours => axe.run({include: ours.filter(s => document.querySelector(s)).map(s => [s])}, {resultTypes: ['violations']})""",
        list(OURS),
    )
    return [
        (theme, f"{v['id']}: {v['help']}", [n["html"][:160] for n in v["nodes"]][:3])
        for v in found["violations"]
        if v["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_finds_no_serious_fault(lab: Lab, theme: str) -> None:
    lab.start_daemon()
    lab.theme(f"JupyterLab {theme}")
    sidebar = lab.show_sidebar()
    lab.notebook(*CELLS)
    for cell in range(4):
        lab.run_cell(cell)
    for cell, state in ((1, "succeeded"), (2, "failed"), (3, "running")):
        lab.wait_for_state(cell, state)
    expect(lab.card(1)).to_contain_text("loss")
    fine = int(lab.card(1).get_attribute("data-jupysched-job") or 0)
    sidebar.locator(f"[data-jupysched-job='{fine}']").click()
    assert faults(lab, theme) == []
    lab.shot(f"cards-{theme.lower()}")
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 4")
    lab.run("jupysched:queue-cell", wait=False)
    expect(lab.page.locator(".jp-jupysched-form").get_by_role("status")).to_contain_text("It would")
    assert faults(lab, theme) == []
    lab.shot(f"form-{theme.lower()}")
    lab.page.keyboard.press("Escape")
    lab.run("jupysched:show-log", {"jobs": [fine]})
    expect(lab.page.get_by_role("log")).to_contain_text("green")
    assert faults(lab, theme) == []
    lab.run("jupysched:show-detail", {"jobs": [fine]})
    expect(lab.page.get_by_role("table")).to_be_visible()
    lab.page.locator(".jp-jupysched-detail summary").first.click()
    assert faults(lab, theme) == []
    lab.shot(f"details-{theme.lower()}")
    running = int(lab.card(3).get_attribute("data-jupysched-job") or 0)
    lab.server.api("actions", {"verb": "cancel", "jobs": [running]})
    lab.wait_for_state(3, "cancelled")
    lab.theme("JupyterLab Light")
