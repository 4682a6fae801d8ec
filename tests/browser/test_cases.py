"""The cases of group G that need a browser, with the numbers that they name. G07 is in test_bad_wire.py, G09 in tests/cases."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect

from jupysched.client import Client
from jupysched.places import new_job_directory
from jupysched.wire.requests import SpecRecord
from tests.browser.driver import Lab
from tests.browser.test_hostile import is_inert
from tests.browser.test_many_jobs import FRAMES
from tests.cases.case import load

CASES: dict[str, Any] = {case["id"]: case for case in load(("G",))}


def test_G02_html_in_what_is_printed_and_raised_runs_nowhere(lab: Lab) -> None:
    case = CASES["G02"]
    lab.start_daemon()
    lab.show_sidebar()
    path = lab.notebook("%load_ext jupysched", f"%%gpujob {case['magic_args']}\n{case['cell']}")
    lab.run_cell(0)
    lab.run_cell(1)
    lab.wait_for_state(1, "failed")
    for wanted in case["expect"]["stdout_contains"]:
        lab.eventually(lambda wanted=wanted: wanted in lab.text(1), f"{wanted} is printed")
    lab.save()
    errors = [o for o in lab.saved(path, 1) if o["output_type"] == "error"]
    assert [e["ename"] for e in errors] == [case["expect"]["error_name"]]
    job = int(lab.card(1).get_attribute("data-jupysched-job") or 0)
    lab.run("jupysched:show-log", {"jobs": [job]})
    expect(lab.page.get_by_role("log")).to_contain_text("<svg/onload=alert(1)>")
    lab.run("jupysched:open-loss", {"jobs": [job]})
    expect(lab.page.frame_locator(".jp-jupysched-panel iframe").locator("canvas").first).to_be_visible()
    assert case["expect"]["ui"] == {"script_runs": False}
    is_inert(lab)


@pytest.fixture
def many(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The thousand jobs of G04; they are held, so that they need not run to be in the list."""
    count: int = CASES["G04"]["scenario"][0]["times"]
    lab.start_daemon()
    monkeypatch.setenv("JUPYSCHED_HOME", str(lab.server.home))
    directory = str(new_job_directory())
    with Client() as client:
        jobs = client.submit(*(SpecRecord(name=f"many {n}", directory=directory, hold=True) for n in range(count)))
        yield count
        client.cancel(*jobs)


def test_G04_a_thousand_jobs_are_painted_soon_scroll_and_cost_few_bytes(lab: Lab, many: int) -> None:
    most = CASES["G04"]["expect"]["ui"]
    lab.open()
    lab.eventually(lambda: lab.page.evaluate("document.readyState === 'complete'"), "Lab is there")
    lab.page.wait_for_timeout(2000)
    began = time.monotonic()
    sidebar = lab.show_sidebar()
    expect(sidebar.locator("[data-jupysched-job]").first).to_be_visible()
    assert (time.monotonic() - began) * 1000 < most["first_paint_ms_max"]
    expect(sidebar.get_by_text(f"Held {many}", exact=False)).to_be_visible()
    times = sorted(lab.page.evaluate(FRAMES))
    assert times[len(times) // 2] < 1000 / most["scroll_fps_min"]
    assert len(lab.server.api("state").body) < most["api_bytes_max"]


def test_G05_a_name_without_end_is_refused_in_words_and_one_that_turns_its_line_keeps_its_place(lab: Lab) -> None:
    lab.start_daemon()
    sidebar = lab.show_sidebar()
    longest, turned = "A" * 4000 + "\u202eevil\u200b name", "A" * 900 + "\u202eevil\u200b name"
    lab.notebook(
        "%load_ext jupysched",
        f"%%gpujob --gpus 1 --name '{longest}'\nprint('ok')",
        f"%%gpujob --gpus 1 --name '{turned}'\nprint('ok')",
        "%%gpujob --gpus 1 --name '   '\nprint('ok')",
    )
    for cell in range(4):
        lab.run_cell(cell)
    expect(lab.cell(1)).to_contain_text("at most 1000 characters")
    lab.wait_for_state(2, "succeeded")
    assert "ok" in lab.text(2)
    width = (sidebar.bounding_box() or {"width": 0.0})["width"]
    for row in sidebar.locator(".jp-jupysched-row").all():
        assert (row.bounding_box() or {"width": 9999.0})["width"] <= width
    assert "\u202e" not in sidebar.inner_html()
    job = int(lab.card(2).get_attribute("data-jupysched-job") or 0)
    name = lab.server.api(f"jobs/{job}").json()["name"].split("\u202e")[0]
    row = sidebar.locator(f"[data-jupysched-job='{job}'] .jp-jupysched-row-name")
    assert len(name) > 150
    assert (row.get_attribute("title") or "").startswith(name)
