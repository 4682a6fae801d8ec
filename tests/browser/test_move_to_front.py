"""Waiting jobs are moved to the front from the sidebar: one from its row, several from the context menu."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, expect

from jupysched.client import Client
from jupysched.places import new_job_directory
from jupysched.wire.records import RequestRecord
from jupysched.wire.requests import SpecRecord
from tests.browser.driver import Lab


@pytest.fixture
def waiting(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Four jobs in the queue, behind slots that take no job."""
    lab.start_daemon()
    monkeypatch.setenv("JUPYSCHED_HOME", str(lab.server.home))
    with Client() as client:
        slots = [gpu.id for gpu in client.gpus()]
        client.drain(slots, why="kept for the test")
        specs = [
            SpecRecord(name=f"queued {n}", directory=str(new_job_directory()), request=RequestRecord(gpus=1))
            for n in range(4)
        ]
        jobs = client.submit(*specs)
        yield jobs
        client.cancel(*jobs)
        client.drain(slots, restore=True)


def order(sidebar: Locator) -> list[int]:
    """The jobs as the list shows them."""
    rows = sidebar.locator("[data-jupysched-job]").all()
    return [int(row.get_attribute("data-jupysched-job") or 0) for row in rows]


def test_jobs_are_moved_to_the_front_and_the_list_follows(lab: Lab, waiting: list[int]) -> None:
    first, second, third, fourth = waiting
    sidebar = lab.show_sidebar()
    sidebar.get_by_role("searchbox").fill("queued")
    lab.eventually(lambda: order(sidebar) == waiting, "they stand in the order in which they came")
    row = sidebar.locator(f"[data-jupysched-job='{third}']")
    row.click()
    row.get_by_role("button", name="To the front").click()
    lab.eventually(lambda: order(sidebar) == [third, first, second, fourth], "the third is first")
    expect(row.get_by_role("button", name="To the front")).to_be_hidden()
    record = lab.server.api(f"jobs/{third}").json()
    assert (record["position"], "moved to the front by root" in record["why"]) == (1, True)
    sidebar.locator(f"[data-jupysched-job='{second}']").click()
    sidebar.locator(f"[data-jupysched-job='{fourth}']").click(modifiers=["Shift"])
    sidebar.locator(f"[data-jupysched-job='{fourth}']").click(button="right")
    lab.shot("move-to-front")
    lab.page.locator(".lm-Menu").get_by_text("Move GPU Job to the Front").click()
    lab.eventually(lambda: order(sidebar) == [second, fourth, third, first], "both are ahead, in their order")
    sidebar.get_by_role("searchbox").fill("")
