"""The panels draw what happened, in Lab's theme, and give it away as a file."""

import csv
import io
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from playwright.sync_api import FrameLocator, expect

from tests.browser.driver import Lab

TRAIN = """%%gpujob --name {name}
import time
for epoch in range(1, 4):
    for step in range(20):
        at = epoch * 20 + step
        print(f"[{{epoch}}, {{step:5d}}] loss: {{2.3 * {rate} ** at:.4f}}", flush=True)
        time.sleep(0.08)
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


#: the columns of everything that is drawn in a panel, and of its tables
DRAWN = """() => {
  const plain = column => Array.from(column, v => typeof v === "number" && !isFinite(v) ? null : v);
  const found = new Map();
  for (const model of Bokeh.documents[0].all_models) {
    const source = model.type === "GlyphRenderer" ? model.data_source : model.type === "DataTable" ? model.source : null;
    if (source) found.set(source.id, Object.fromEntries(Object.entries(source.data).map(([k, c]) => [k, plain(c)])));
  }
  return [...found.values()];
}"""


def saved(lab: Lab, frame: FrameLocator, kind: str) -> bytes:
    """The file that a button gives."""
    with lab.page.expect_download() as download:
        frame.get_by_role("button", name=kind, exact=True).click()
    assert download.value.suggested_filename.endswith(f".{kind.lower()}")
    return download.value.path().read_bytes()


def tables(text: str) -> dict[tuple[str, ...], list[dict[str, str]]]:
    """The tables of a CSV file, by their columns."""
    found: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for part in text.strip().split("\n\n"):
        rows = csv.DictReader(io.StringIO(part))
        found[tuple(rows.fieldnames or ())] = list(rows)
    return found


def as_written(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in ("time", "start", "end"):
        return datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    # As JavaScript writes numbers.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def same(written: str, drawn: str) -> bool:
    try:
        return math.isclose(float(written), float(drawn), rel_tol=1e-12)
    except ValueError:
        return written == drawn


#: panel -> a column of each table that its file has
COLUMNS = {
    "utilization": ("utilization", "user"),
    "loss": ("value", "percent", "best_step"),
    "queue": ("running", "median_s", "wait_s"),
    "usage": ("share", "day", "job"),
}


@pytest.mark.parametrize("name", list(COLUMNS))
def test_a_panel_gives_away_what_it_shows_as_csv_and_as_a_picture(lab: Lab, trained: list[int], name: str) -> None:
    lab.save()
    lab.run("application:close-all")
    lab.run(f"jupysched:open-{name}", {"jobs": trained} if name == "loss" else {})
    frame = panel(lab)

    def has_all() -> bool:
        drawn = frame.locator("body").evaluate(DRAWN)
        return all(any(any(v is not None for v in data.get(c, [])) for data in drawn) for c in COLUMNS[name])

    lab.eventually(has_all, "readings of all kinds")
    lab.shot(f"panel-{name}")
    text = saved(lab, frame, "CSV").decode()
    drawn = frame.locator("body").evaluate(DRAWN)
    given = tables(text)
    for column in COLUMNS[name]:
        [columns] = [columns for columns in given if column in columns]
        rows = given[columns]
        assert rows, text
        shown = [data for data in drawn if column in data and set(columns) - {"series"} <= set(data)]
        everything = [
            [as_written(c, data[c][i]) for c in columns if c != "series"]
            for data in shown
            for i in range(len(data[column]))
        ]
        for row in rows[:200]:
            values = [row[c] for c in columns if c != "series"]
            assert any(all(map(same, values, other)) for other in everything), (columns, values, everything[-3:])
    picture = saved(lab, frame, "PNG")
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(picture) > 5000


#: heads of tables whose text has no room
CUT = """() => {
  const all = root => [...root.querySelectorAll("*")].flatMap(e => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);
  const heads = all(document).filter(e => e.classList.contains("slick-header-column"));
  const right = e => e.getBoundingClientRect().right;
  const cut = heads.filter(e => right(e.querySelector(".slick-column-name")) > right(e) + 0.5);
  return [heads.length, cut.map(e => e.textContent)];
}"""


@pytest.mark.parametrize("name", ["loss", "queue", "usage"])
def test_heads_of_tables_are_whole_beside_a_notebook(lab: Lab, trained: list[int], name: str) -> None:
    lab.run(f"jupysched:open-{name}", {"jobs": trained} if name == "loss" else {})
    frame = panel(lab)
    expect(frame.locator(".slick-row").first).to_be_attached()
    found, cut = frame.locator("body").evaluate(CUT)
    lab.shot(f"panel-{name}-beside")
    assert found >= 6
    assert cut == []
