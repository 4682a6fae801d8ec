"""Thousands of jobs are drawn in time, and scroll without being all in the page."""

import json
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from jupysched.client import Client
from jupysched.places import new_job_directory
from jupysched.wire.requests import SpecRecord
from tests.browser.driver import Lab

MANY = 5000
FRAMES = """async () => {
  const list = document.querySelector('.jp-jupysched-scroller');
  const times = [];
  let last = performance.now();
  for (let i = 0; i < 60; i++) {
    list.scrollTop = (list.scrollHeight - list.clientHeight) * (i / 59);
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - last);
    last = now;
  }
  return times;
}"""


@pytest.fixture
def many(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Five thousand held jobs, in one directory: none of them will run."""
    lab.start_daemon()
    monkeypatch.setenv("JUPYSCHED_HOME", str(lab.server.home))
    directory = str(new_job_directory())
    with Client() as client:
        jobs: list[int] = []
        for part in range(0, MANY, 500):
            jobs += client.submit(
                *(SpecRecord(name=f"sweep {part + n}", directory=directory, hold=True) for n in range(500))
            )
        yield jobs
        for part in range(0, MANY, 500):
            client.cancel(*jobs[part : part + 500])


def test_five_thousand_jobs_scroll_and_only_those_in_sight_are_drawn(lab: Lab, many: list[int]) -> None:
    start = time.monotonic()
    lab.open()
    sidebar = lab.show_sidebar()
    expect(sidebar.get_by_text(f"Held {MANY}", exact=False)).to_be_visible()
    first_paint_s = time.monotonic() - start
    assert sidebar.locator("[data-jupysched-job]").count() < 60
    times = sorted(lab.page.evaluate(FRAMES))
    assert sidebar.locator("[data-jupysched-job]").count() < 60
    sidebar.get_by_role("searchbox").fill("sweep 4321")
    # Its name, and perhaps another one's number.
    expect(sidebar.locator("[data-jupysched-job]").nth(2)).to_be_hidden()
    expect(sidebar.get_by_text("sweep 4321")).to_be_visible()
    figures = {
        "jobs": MANY, "lab_and_sidebar_s": round(first_paint_s, 2), "frame_median_ms": round(times[30], 1),
        "frame_worst_ms": round(times[-1], 1),
    }  # fmt: skip
    print(json.dumps(figures))
    lab.shot("five-thousand-jobs")
    assert times[30] < 50, figures
