"""The panels draw what happened, in Lab's theme, and give it away as a file."""

import pytest
from playwright.sync_api import FrameLocator, expect

from tests.browser.driver import Lab

TRAIN = """%%gpujob --name {name}
import time
for epoch in range(1, 4):
    for step in range(20):
        at = epoch * 20 + step
        print(f"[{{epoch}}, {{step:5d}}] loss: {{2.3 * {rate} ** at:.4f}}", flush=True)
        time.sleep(0.02)
    print(f"epoch {{epoch}} train_loss={{2 * {rate} ** at:.4f}} val_loss={{2.2 * {rate} ** at:.4f}}", flush=True)"""


@pytest.fixture
def trained(lab: Lab) -> list[int]:
    """Two jobs that have printed their losses."""
    lab.start_daemon()
    lab.notebook("%load_ext jupysched", TRAIN.format(name="resnet", rate=0.97), TRAIN.format(name="bert", rate=0.95))
    for cell in range(3):
        lab.run_cell(cell)
    lab.wait_for_state(1, "succeeded")
    lab.wait_for_state(2, "succeeded")
    return [int(lab.card(i).get_attribute("data-jupysched-job") or 0) for i in (1, 2)]


def panel(lab: Lab) -> FrameLocator:
    """The panel in front, drawn."""
    frame = lab.page.frame_locator(".jp-jupysched-panel:not(.lm-mod-hidden) iframe")
    expect(frame.locator("canvas").first).to_be_visible()
    return frame


def test_losses_of_two_jobs_are_compared_and_follow_the_theme(lab: Lab, trained: list[int]) -> None:
    lab.save()
    lab.run("application:close-all")
    lab.run("jupysched:open-loss", {"jobs": trained})
    frame = panel(lab)
    expect(frame.get_by_text("resnet").locator("visible=true").first).to_be_visible()
    expect(frame.locator(".slick-row").first).to_be_visible()
    lab.page.wait_for_timeout(2000)
    lab.shot("panel-loss-light")
    lab.theme("JupyterLab Dark")
    lab.page.wait_for_timeout(3000)
    panel(lab)
    assert frame.locator("body").evaluate("b => getComputedStyle(b).backgroundColor") == "rgb(17, 17, 17)"
    lab.shot("panel-loss-dark")
    lab.theme("JupyterLab Light")


@pytest.mark.parametrize("name", ["utilization", "queue", "usage"])
def test_the_other_panels_draw(lab: Lab, trained: list[int], name: str) -> None:
    lab.save()
    lab.run("application:close-all")
    lab.run(f"jupysched:open-{name}")
    frame = panel(lab)
    lab.page.wait_for_timeout(2500)
    lab.shot(f"panel-{name}")
    with lab.page.expect_download() as download:
        frame.get_by_role("button", name="CSV").click()
    text = download.value.path().read_text()
    assert len(text.splitlines()) > 1, text
