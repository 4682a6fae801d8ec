"""A sweep is told together, one message a kind: a toast for each job hid the notebook."""

from playwright.sync_api import expect

from tests.browser.driver import Lab


def test_jobs_that_end_one_after_the_other_are_told_in_one_message(lab: Lab) -> None:
    lab.start_daemon()
    lab.notebook(
        "import jupysched, time\njobs = [jupysched.submit(time.sleep, 1, name=f'sweep {n}') for n in range(6)]"
    )
    lab.run_cell(0)
    toasts = lab.page.locator(".Toastify__toast").filter(has_text="succeeded")
    expect(toasts.filter(has_text="(and 5 more just before)")).to_be_visible()
    lab.shot("notices")
    expect(toasts).to_have_count(1)


def test_at_a_cell_of_one_line_the_mark_gives_way_to_the_toolbar(lab: Lab) -> None:
    lab.start_daemon()
    lab.notebook("%load_ext jupysched", "%%gpujob --name first\n1", "%gpujob attach last")
    lab.run_cell(0)
    lab.run_cell(1)
    lab.wait_for_state(1, "succeeded")
    lab.run_cell(2)
    lab.wait_for_state(2, "succeeded")
    expect(lab.cell(2).locator(".jp-cell-toolbar")).to_be_visible()
    expect(lab.cell(2).locator(".jp-jupysched-badge")).to_be_hidden()
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1")
    expect(lab.cell(2).locator(".jp-jupysched-badge")).to_be_visible()
    expect(lab.cell(1).locator(".jp-jupysched-badge")).to_be_visible()
