"""Everything in the sidebar can be done without a mouse, and a screen reader is told what there is."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from jupysched.client import Client
from jupysched.places import new_job_directory
from jupysched.wire.requests import SpecRecord
from tests.browser.driver import Lab
from tests.labs import ROOT


@pytest.fixture
def held(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Three jobs that wait to be released."""
    lab.start_daemon()
    monkeypatch.setenv("JUPYSCHED_HOME", str(lab.server.home))
    with Client() as client:
        jobs = client.submit(
            *(SpecRecord(name=f"kept {n}", directory=str(new_job_directory()), hold=True) for n in range(3))
        )
        yield jobs
        client.cancel(*jobs)


def test_jobs_are_found_chosen_opened_and_cancelled_by_keys(lab: Lab, held: list[int]) -> None:
    sidebar = lab.show_sidebar()
    # Lab's launcher takes the focus a moment after the page is there.
    expect(lab.page.locator(".jp-Launcher")).to_be_focused()
    keyboard = lab.page.keyboard
    sidebar.get_by_role("searchbox").focus()
    keyboard.type("kept held")
    rows = sidebar.locator("[data-jupysched-job]")
    expect(rows).to_have_count(3)
    for _ in range(4):  # mine, all, the head of the part, the list
        keyboard.press("Tab")
    expect(rows.nth(0)).to_be_focused()
    keyboard.press("ArrowDown")
    expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
    keyboard.press("Shift+ArrowDown")
    expect(sidebar.get_by_role("toolbar")).to_contain_text("2 chosen")
    expect(sidebar.locator("[aria-selected=true]")).to_have_count(2)
    lab.shot("keyboard-several-chosen")
    keyboard.press("Home")
    keyboard.press("Enter")
    expect(lab.page.get_by_role("heading", name="kept 0")).to_be_visible()
    lab.run("jupysched:show-sidebar")
    rows.nth(0).focus()
    keyboard.press("Shift+End")
    keyboard.press("Delete")
    dialog = lab.page.get_by_role("dialog")
    expect(dialog).to_contain_text("Cancel 3 jobs?")
    keyboard.press("Enter")
    expect(dialog).to_be_hidden()
    lab.eventually(
        lambda: {lab.server.api(f"jobs/{j}").json()["state"] for j in held} == {"cancelled"}, "they are cancelled"
    )


def test_what_cannot_be_undone_is_asked_once_and_can_be_kept(lab: Lab, held: list[int]) -> None:
    sidebar = lab.show_sidebar()
    sidebar.get_by_role("searchbox").fill(f"kept held {held[0]}")
    row = sidebar.locator("[data-jupysched-job]")
    row.click()
    lab.page.keyboard.press("Shift+F10")
    menu = lab.page.locator(".lm-Menu")
    expect(menu).to_contain_text("Release GPU Job")
    lab.page.keyboard.press("Escape")
    row.get_by_role("button", name="Release").click()
    lab.eventually(lambda: lab.server.api(f"jobs/{held[0]}").json()["state"] != "held", "it is released")


def test_axe_finds_no_serious_fault(lab: Lab, held: list[int]) -> None:
    lab.show_sidebar()
    lab.page.locator(f"[data-jupysched-job='{held[1]}']").click()
    lab.run("jupysched:show-detail", {"jobs": [held[1]]})
    expect(lab.page.get_by_role("heading", name="kept 1")).to_be_visible()
    axe = ROOT / "labextension" / "node_modules" / "axe-core" / "axe.min.js"
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        lab.theme(theme)
        lab.page.wait_for_timeout(500)
        lab.page.add_script_tag(path=axe)
        found = lab.page.evaluate(
            "axe.run({include: [['#jupysched'], ['.jp-jupysched-page'], ['.jp-jupysched-status']]}, {resultTypes: ['violations']})"
        )
        serious = [
            (theme, v["id"], v["help"], [n["html"][:160] for n in v["nodes"]][:3])
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert serious == []
        lab.shot(f"details-{theme.split()[-1].lower()}")
    lab.theme("JupyterLab Light")
