"""Everything in the sidebar can be done without a mouse, and a screen reader is told what there is."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from jupysched.client import Client
from jupysched.places import new_job_directory
from jupysched.wire.requests import SpecRecord
from tests.browser.driver import Lab


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


def test_a_cell_is_queued_by_keys_alone(lab: Lab) -> None:
    lab.start_daemon()
    lab.notebook("%load_ext jupysched", "answer = 6 * 7", "answer")
    lab.run_cell(0)
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1")
    lab.page.locator(".jp-Notebook:visible").focus()
    keyboard = lab.page.keyboard
    keyboard.press("Control+Alt+g")
    form = lab.page.locator(".jp-jupysched-form")
    expect(form.locator("input, select").first).to_be_focused()
    for _ in range(2):  # memory, time
        keyboard.press("Tab")
    keyboard.type("5m")
    expect(form.locator("code")).to_contain_text("--time 5m")
    expect(form.get_by_role("status")).to_contain_text("It would")
    keyboard.press("Enter")
    expect(form).to_be_hidden()
    lab.wait_for_state(1, "succeeded")
    lab.run_cell(2)
    lab.eventually(lambda: "42" in lab.text(2), "the result is there")
