"""Each panel shows what the daemon told, says so when it is away, and takes little of the server to be opened."""

import math
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from bokeh.document import Document
from bokeh.models import Button, ColumnDataSource, Div, GlyphRenderer, LegendItem, Plot

from jupysched.core.errors import DaemonMissing
from jupysched.panels import loss, queue, usage, utilization
from jupysched.panels.loss_controls import LABELS
from jupysched.panels.training import MetricsBook
from jupysched.panels.views import World
from jupysched.spool import Kind, attempt_path, pack_frame
from jupysched.wire import requests as ask
from jupysched.wire.records import GpuRecord, JobRecord, RequestRecord
from jupysched.wire.samples import (
    HoldRecord,
    IdleRecord,
    JobUseRecord,
    SamplesRecord,
    TrackRecord,
    UsageReport,
    UseRecord,
)


class Picture:
    """What the server last heard."""

    def __init__(self) -> None:
        self.jobs: dict[int, JobRecord] = {}
        self.gpus: list[GpuRecord] = []
        self.seq, self.down = 1, ""


class Daemon:
    """Answers as a test says."""

    def __init__(self) -> None:
        self.picture = Picture()
        self.answers: dict[type, Callable[[Any], Any]] = {}
        self.asked: list[Any] = []
        self.is_away = False

    async def call(self, request: Any) -> Any:
        if self.is_away:
            raise DaemonMissing("The GPU queue is not running.")
        self.asked.append(request)
        return self.answers[type(request)](request)

    @property
    def world(self) -> World:
        return World(book=MetricsBook(), picture=self.picture, call=self.call)


class Shown:
    """An open panel, whose time passes when the test says so."""

    def __init__(self, draw: Callable[[Document, World], None], daemon: Daemon) -> None:
        self.document = Document()
        self._next: list[Callable[[], Awaitable[None] | None]] = []
        self._every: Callable[[], Awaitable[None]] | None = None
        self.document.add_next_tick_callback = self._next.append
        self.document.add_periodic_callback = self._keep
        draw(self.document, daemon.world)

    def _keep(self, callback: Any, _period_ms: int) -> None:
        self._every = callback

    async def tick(self) -> None:
        """What was asked for, and one period."""
        due, self._next[:] = list(self._next), []
        for callback in due:
            if (waits := callback()) is not None:
                await waits
        assert self._every is not None
        await self._every()

    def text(self) -> str:
        return " ".join(div.text for div in self.document.select({"type": Div}) if div.visible)

    def sources(self, *columns: str) -> list[dict[str, list[Any]]]:
        """The data of every source that has these columns."""
        found = [s.data for s in self.document.select({"type": ColumnDataSource}) if set(columns) <= set(s.data)]
        return [{name: list(column) for name, column in data.items()} for data in found]

    def titles(self) -> list[str]:
        """Of the charts, from top to bottom."""
        return [plot.title.text for plot in _plots(self.document.roots[0])]

    def exported(self) -> list[dict[str, list[Any]]]:
        """What the CSV button would write."""
        [button] = [b for b in self.document.select({"type": Button}) if b.label == "CSV"]
        [does] = button.js_event_callbacks["button_click"]
        return [dict(does.args[f"s{i}"].data) for i in range(len(does.args["labels"]))]

    def has_png(self) -> bool:
        return any(b.label == "PNG" for b in self.document.select({"type": Button}))


def _plots(model: Any) -> list[Any]:
    return (
        [model] if isinstance(model, Plot) else [p for child in getattr(model, "children", ()) for p in _plots(child)]
    )


def a_gpu(index: int = 0, **over: Any) -> GpuRecord:
    values = {"id": f"G{index}", "node": "n", "index": index, "label": f"GPU {index}", "name": "H", "kind": "gpu"}
    return GpuRecord(**{**values, **over})


def iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


# --- utilization ---------------------------------------------------------------------------------------------------------


def a_track(gpu: str, at: list[float], **mean: list[float | None]) -> TrackRecord:
    return TrackRecord(gpu=gpu, at=at, mean=mean, peak=mean)


def two_gpus(daemon: Daemon, **over: Any) -> None:
    daemon.picture.gpus = [a_gpu(0, utilization_percent=5.0, **over), a_gpu(1, utilization_percent=6.0, **over)]


def readings(step_s: float = 1.0) -> Callable[[ask.Samples], SamplesRecord]:
    """One reading in the middle of whatever is asked for, and a job that holds GPU 0 from its beginning."""

    def answer(request: ask.Samples) -> SamplesRecord:
        at = [(request.since + request.until) / 2]
        tracks = [
            a_track("G0", at, utilization=[70.0], pcie_rx=[1e9], pcie_tx=[2e9]),
            a_track("G1", at, utilization=[None]),
        ]
        holds = [HoldRecord(gpu="G0", job=7, name="resnet", user="ann", start=request.since)]
        return SamplesRecord(step_s=step_s, tracks=tracks, holds=holds)

    return answer


async def test_utilization_shows_what_was_told_and_who_held_what(daemon: Daemon) -> None:
    two_gpus(daemon)
    daemon.answers[ask.Samples] = readings()
    shown = Shown(utilization.draw, daemon)
    await shown.tick()
    assert shown.titles() == ["Jobs", "Utilization (%)", "PCIe, in and out (GB/s)"]
    [lines] = [s for s in shown.sources("utilization") if 70.0 in s["utilization"]]
    assert (lines["pcie"], lines["pcie_in"], lines["pcie_out"]) == ([3.0], [1.0], [2.0])
    [bands] = shown.sources("_short")
    assert (bands["gpu"], bands["name"], bands["user"], bands["job"]) == (["GPU 0"], ["resnet"], ["ann"], [7])
    told = [data for data in shown.exported() if "utilization" in data]
    assert [list(data["utilization"])[:1] == [70.0] for data in told] == [True, False]
    assert shown.exported()[-1]["name"] == ["resnet"]
    assert shown.has_png()


async def test_utilization_asks_for_a_day_and_then_only_for_what_is_new(daemon: Daemon) -> None:
    two_gpus(daemon)
    daemon.answers[ask.Samples] = readings(step_s=180.0)
    shown = Shown(utilization.draw, daemon)
    await shown.tick()
    assert daemon.asked[-1].until - daemon.asked[-1].since == 600
    shown.document.select_one({"labels": [label for label, _, _ in utilization.RANGES]}).active = 2
    await shown.tick()
    assert daemon.asked[-1].until - daemon.asked[-1].since == 86_400
    asked = len(daemon.asked)
    await shown.tick()
    assert len(daemon.asked) == asked


async def test_utilization_goes_on_where_it_was(daemon: Daemon, monkeypatch: pytest.MonkeyPatch) -> None:
    two_gpus(daemon)
    daemon.answers[ask.Samples] = readings()
    shown = Shown(utilization.draw, daemon)
    await shown.tick()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + utilization.UPDATE_S + 1)
    await shown.tick()
    more, holds = daemon.asked[-2:]
    assert now - 3 * utilization.UPDATE_S < more.since < now < more.until
    assert holds.most == 1
    [lines] = [s for s in shown.sources("utilization") if 70.0 in s["utilization"]]
    # The first reading lies five minutes back: between the two there is a gap.
    assert [None if math.isnan(v) else v for v in lines["utilization"]] == [70.0, None, 70.0]


async def test_gpus_that_come_later_get_their_lines(daemon: Daemon) -> None:
    daemon.answers[ask.Samples] = readings()
    shown = Shown(utilization.draw, daemon)
    await shown.tick()
    assert "No GPU is known yet" in shown.text()
    two_gpus(daemon)
    await shown.tick()
    assert "No GPU is known yet" not in shown.text()
    assert [70.0] in [s["utilization"] for s in shown.sources("utilization")]


async def test_slots_are_said_to_be_slots(daemon: Daemon) -> None:
    two_gpus(daemon, kind="cpu_slot")
    daemon.answers[ask.Samples] = readings()
    assert "CPU slots stand in for GPUs here" in Shown(utilization.draw, daemon).text()


async def test_a_panel_says_that_the_daemon_is_away_and_keeps_what_it_had(daemon: Daemon) -> None:
    two_gpus(daemon)
    daemon.answers[ask.Samples] = readings()
    shown = Shown(utilization.draw, daemon)
    await shown.tick()
    before = sorted(map(repr, shown.sources("utilization")))
    daemon.is_away = True
    shown.document.select_one({"labels": [label for label, _, _ in utilization.RANGES]}).active = 1
    await shown.tick()
    assert "The GPU queue is not running. What is shown is from before." in shown.text()
    assert sorted(map(repr, shown.sources("utilization"))) == before
    daemon.is_away = False
    await shown.tick()
    assert "not running" not in shown.text()


async def test_an_entry_of_the_legend_hides_its_gpu_in_every_chart(daemon: Daemon) -> None:
    two_gpus(daemon)
    daemon.answers[ask.Samples] = readings()
    shown = Shown(utilization.draw, daemon)
    await shown.tick()
    [first] = [item for item in shown.document.select({"type": LegendItem}) if item.label.value == "GPU 0"]
    for renderer in first.renderers:
        renderer.visible = False
    lines = [r for r in shown.document.select({"type": GlyphRenderer}) if r.name == "GPU 0"]
    assert [line.visible for line in lines] == [False, False]
    assert all(r.visible for r in shown.document.select({"type": GlyphRenderer}) if r.name == "GPU 1")


async def test_opening_a_panel_of_8_gpus_keeps_the_server_little(daemon: Daemon) -> None:
    everything = dict.fromkeys(
        ("utilization_percent", "memory_used_bytes", "power_w", "temperature_c", "pcie_rx_bytes_per_s", "nvlink_rx_bytes_per_s"), 1
    )  # fmt: skip
    daemon.picture.gpus = [a_gpu(i, **everything) for i in range(8)]
    daemon.answers[ask.Samples] = readings()
    await Shown(utilization.draw, daemon).tick()  # the first one imports
    begin = time.process_time()
    shown = Shown(utilization.draw, daemon)
    opened = time.process_time()
    await shown.tick()
    assert len(shown.titles()) == 7
    # 0.02 and 0.2 on a quiet machine.
    assert opened - begin < 0.3
    assert time.process_time() - opened < 0.6


# --- queue ---------------------------------------------------------------------------------------------------------------


def a_job(number: int, **over: Any) -> JobRecord:
    values: Mapping[str, Any] = {"id": number, "user": "ann", "name": f"job {number}", "state": "running"}
    return JobRecord(**{**values, **over})


async def test_queue_shows_waits_by_class_and_width_over_time(daemon: Daemon) -> None:
    now = time.time()
    for number, (priority, gpus, wait) in enumerate([("high", 2, 60.0), ("normal", 1, 120.0), ("normal", 1, 240.0)], 1):
        daemon.picture.jobs[number] = a_job(
            number, priority=priority, request=RequestRecord(gpus=gpus), waited_s=wait,
            submitted_at=iso(now - 900), started_at=iso(now - 900 + wait),
        )  # fmt: skip
    shown = Shown(queue.draw, daemon)
    await shown.tick()
    [table] = shown.sources("kind", "median_s")
    assert (table["kind"], table["jobs"], table["median_s"]) == (
        ["high, 2 GPUs", "normal, 1 GPU"],
        [1, 2],
        [60.0, 180.0],
    )
    dots = {data["kind"][0]: data["wait_s"] for data in shown.sources("wait_s") if len(set(data["kind"])) == 1}
    assert dots == {"high, 2 GPUs": [60.0], "normal, 1 GPU": [120.0, 240.0]}
    over_time, waits, one_by_one = shown.exported()
    assert (list(over_time["running"])[-1], list(over_time["gpus"])[-1]) == (3, 4)
    assert waits["longest_s"] == [60.0, 240.0]
    assert one_by_one["wait_s"] == [60.0, 120.0, 240.0]
    assert shown.has_png()


# --- usage ---------------------------------------------------------------------------------------------------------------


def a_use(day: str, user: str, held_s: float, busy_s: float) -> UseRecord:
    return UseRecord(
        day=day, user=user, jobs=1, held_s=held_s, failed_s=0, measured_s=held_s, busy_s=busy_s, idle_s=0, remembered_s=0,
        memory_s=0,
    )  # fmt: skip


async def test_usage_shows_hours_against_shares_and_what_is_idle(daemon: Daemon) -> None:
    today = time.strftime("%Y-%m-%d")
    daemon.answers[ask.UsageReport] = lambda _: UsageReport(
        days=[a_use(today, "ann", 7200, 3600), a_use(today, "bob", 21_600, 0)],
        jobs=[JobUseRecord(job=4, user="bob", name="<b>x", failed=False, held_s=21_600, measured_s=21_600, busy_s=0, idle_s=9)],
        idle=[IdleRecord(gpu="G", label="GPU 3", job=4, name="<b>x", user="bob", idle_s=1500)],
        parts={"ann": 0.5, "bob": 0.5},
    )  # fmt: skip
    shown = Shown(usage.draw, daemon)
    await shown.tick()
    people, days, jobs = shown.exported()
    assert (people["user"], people["gpu_hours"], people["part"], people["share"]) == (
        ["bob", "ann"],
        [6, 2],
        [75, 25],
        [50, 50],
    )
    assert (days["user"], days["busy"]) == (["bob", "ann"], [0, 50])
    assert (jobs["job"], jobs["unused_hours"]) == ([4], [6])
    [bars] = shown.sources("hours0")
    assert (bars["hours0"][-1], bars["hours1"][-1], bars["top1"][-1], bars["date"][-1]) == (6, 2, 8, today)
    [shares] = [data for data in shown.sources("part", "share") if len(data) == 3]
    assert shares["share"] == [50, 50]
    assert "GPU 3: bob's &lt;b&gt;x (4) has used less than 5 % of it for 25:00." in shown.text()
    assert shown.has_png()


async def test_usage_of_nobody_says_so(daemon: Daemon) -> None:
    daemon.answers[ask.UsageReport] = lambda _: UsageReport(days=[], jobs=[], idle=[])
    shown = Shown(usage.draw, daemon)
    await shown.tick()
    assert "No job has run yet." in shown.text()


# --- loss ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def trained(daemon: Daemon, tmp_path: Path) -> Daemon:
    """Job 1 printed losses for a minute on GPU 0, which was a quarter busy; an hour ago."""
    began = time.time() - 3600
    path = Path(attempt_path(str(tmp_path), 1))
    path.mkdir(parents=True)
    frames = b"".join(
        pack_frame(Kind.STDOUT, began + step, f"step {step} loss: {1 / (1 + step):.3f}\n".encode())
        for step in range(60)
    )
    (path / "frames").write_bytes(frames)
    daemon.picture.gpus = [a_gpu(0)]
    daemon.picture.jobs[1] = a_job(
        1,
        state="succeeded",
        attempt=1,
        directory=str(tmp_path),
        gpu_ids=["G0"],
        started_at=iso(began),
        ended_at=iso(began + 60),
    )
    daemon.answers[ask.Samples] = lambda request: SamplesRecord(
        step_s=1, tracks=[a_track("G0", [request.since + i for i in range(60)], utilization=[25.0] * 60)]
    )
    return daemon


async def test_loss_shows_the_values_and_under_them_how_busy_the_gpu_was(trained: Daemon) -> None:
    shown = Shown(loss.draw, trained)
    await shown.tick()
    [line] = [s for s in shown.sources("step", "value") if len(s["value"]) == 60]
    assert (line["step"][:3], line["value"][:3]) == ([0, 1, 2], [1.0, 0.5, 0.333])
    series, busy, table = shown.exported()
    assert list(series["value"]) == line["value"]
    assert list(busy["percent"]) == [25.0] * 60
    assert (table["job"], table["last"], table["best_step"]) == (["job 1 (1)"], [0.017], [57])
    assert "GPU busy 25 %: the data loader is the limit" in shown.text()
    assert shown.has_png()
    asked = len(trained.asked)
    await shown.tick()
    assert len(trained.asked) == asked


@pytest.mark.parametrize(("axis", "shares"), [(0, False), (1, False), (2, True), (3, True)])
async def test_on_an_axis_of_time_losses_and_utilization_share_it(trained: Daemon, axis: int, shares: bool) -> None:  # noqa: FBT001
    shown = Shown(loss.draw, trained)
    await shown.tick()
    shown.document.select_one({"labels": list(LABELS)}).active = axis
    await shown.tick()
    plots = _plots(shown.document.roots[0])
    assert (len({id(plot.x_range) for plot in plots}) == 1) is shares
    if axis == 2:
        [busy] = shown.sources("percent")
        assert (busy["minutes"][0], round(busy["minutes"][-1], 2)) == (0, 0.98)


async def test_a_cpu_slot_gives_no_advice_about_gpus(trained: Daemon) -> None:
    trained.picture.gpus = [a_gpu(0, kind="cpu_slot")]
    shown = Shown(loss.draw, trained)
    await shown.tick()
    assert "GPU busy" not in shown.text()
    assert "Utilization of what these jobs hold (%)" in shown.titles()
