"""Somebody who has never queued a job gets from the empty sidebar to a result in the notebook."""

from playwright.sync_api import expect

from tests.browser.driver import Lab


def test_the_first_job_is_queued_by_buttons_alone(lab: Lab) -> None:
    sidebar = lab.show_sidebar()
    sidebar.get_by_role("button", name="Start it").click()
    expect(sidebar.get_by_text("No job yet.")).to_be_visible()
    lab.shot("sidebar-first-use")
    lab.notebook("", "%load_ext jupysched\nanswer")
    sidebar.get_by_role("button", name="Insert an example").click()
    expect(lab.cell(1)).to_contain_text("%%gpujob")
    lab.cell(1).locator(".jp-InputArea-editor").click()
    lab.page.locator(".jp-cell-toolbar [data-command='jupysched:queue-cell']").click()
    form = lab.page.locator(".jp-jupysched-form")
    expect(form.get_by_label("GPUs")).to_be_focused()  # the dialog puts the focus there once it is drawn
    form.get_by_label("Time").fill("5m")
    form.get_by_label("Name").fill("my fist")
    form.get_by_label("Name").press("ArrowLeft")
    form.get_by_label("Name").press("ArrowLeft")
    form.get_by_label("Name").press_sequentially("r")
    expect(form.locator("code")).to_contain_text("--time 5m --name 'my first'")
    expect(form.get_by_role("status")).to_have_text("It would start now.")
    lab.shot("queue-form")
    form.get_by_label("Time").fill("5")
    expect(form.get_by_role("status")).to_contain_text("--time is '5'; expected a time with its unit")
    form.get_by_label("Time").fill("5m")
    lab.page.get_by_role("dialog").get_by_role("button", name="Queue").click()
    lab.wait_for_state(1, "running")
    expect(lab.card(1)).to_contain_text("loss")
    expect(sidebar.get_by_role("row").filter(has_text="my first")).to_be_visible()
    expect(lab.cell(1).locator(".jp-jupysched-badge")).to_contain_text("running")
    lab.shot("job-running")
    lab.wait_for_state(1, "succeeded")
    assert lab.text(1).count("step 20 loss:") == 1
    lab.run_cell(2)
    lab.eventually(lambda: "'steps': 20" in lab.cell(2).inner_text(), "the result is in the notebook")
    lab.shot("job-succeeded")
