"""What the daemon told is drawn as it is: a gap is a gap, in and out of a link are one line, and bars end where holds end."""

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jupysched.panels import past
from jupysched.wire.records import GpuRecord
from jupysched.wire.samples import HoldRecord, TrackRecord

UTILIZATION, MEMORY, *_ = past.CHARTS
PCIE = next(m for m in past.CHARTS if m.name == "pcie")


def a_track(at: list[float], gpu: str = "G", **means: list[float | None]) -> TrackRecord:
    return TrackRecord(
        gpu=gpu, at=at, mean=means, peak={k: [None if v is None else v + 1 for v in c] for k, c in means.items()}
    )


def plain(values: Any) -> list[float | None]:
    return [None if math.isnan(v) else float(v) for v in values]


def test_values_are_told_in_the_units_of_their_chart_with_their_peaks() -> None:
    track = a_track([10.0, 11.0], utilization=[50.0, None], memory=[2e9, 3e9])
    found = past.columns(track, [UTILIZATION, MEMORY], step_s=1)
    assert plain(found["time"]) == [10_000, 11_000]
    assert (plain(found["utilization"]), plain(found["utilization_peak"])) == ([50, None], [51, None])
    assert plain(found["memory"]) == [2, 3]


def test_in_and_out_of_a_link_are_one_line_and_one_way_alone_is_none() -> None:
    track = a_track([1.0, 2.0], pcie_rx=[1e9, 2e9], pcie_tx=[3e9, None])
    found = past.columns(track, [PCIE], step_s=1)
    assert (plain(found["pcie"]), plain(found["pcie_in"]), plain(found["pcie_out"])) == ([4, None], [1, 2], [3, None])
    assert set(found) == {"time", *past.columns_of(PCIE)}


def test_a_time_without_readings_is_a_gap_also_between_two_updates() -> None:
    track = a_track([10.0, 11.0, 30.0], utilization=[1.0, 2.0, 3.0])
    found = past.columns(track, [UTILIZATION], step_s=1)
    assert (plain(found["time"]), plain(found["utilization"])) == ([10_000, 11_000, 12_000, 30_000], [1, 2, None, 3])
    later = past.columns(a_track([50.0], utilization=[4.0]), [UTILIZATION], step_s=1, before=30.0)
    assert (plain(later["time"]), plain(later["utilization"])) == ([31_000, 50_000], [None, 4])
    assert plain(past.columns(a_track([31.0], utilization=[4.0]), [UTILIZATION], step_s=1, before=30.0)["time"]) == [
        31_000
    ]


def test_what_was_never_told_is_a_column_of_nothing() -> None:
    assert plain(past.columns(a_track([1.0, 2.0]), [UTILIZATION], step_s=1)["utilization"]) == [None, None]
    nothing = past.columns(a_track([]), [UTILIZATION, PCIE], step_s=1)
    assert {name: plain(column) for name, column in nothing.items()} == {name: [None] for name in nothing}


@given(st.lists(st.tuples(st.floats(0.1, 100), st.one_of(st.none(), st.floats(0, 100))), max_size=40))
def test_every_reading_is_drawn_once_in_its_order(readings: list[tuple[float, float | None]]) -> None:
    at = list(np.cumsum([pause for pause, _ in readings]))
    found = past.columns(a_track(at, utilization=[v for _, v in readings]), [UTILIZATION], step_s=1)
    drawn = [v for v in plain(found["utilization"]) if v is not None]
    assert drawn == [v for _, v in readings if v is not None]
    assert len({len(column) for column in found.values()}) == 1


def a_gpu(**over: Any) -> GpuRecord:
    return GpuRecord(**{"id": "G", "node": "n", "index": 0, "label": "GPU 0", "name": "H", "kind": "gpu", **over})


def test_what_no_gpu_tells_and_none_told_gets_no_chart() -> None:
    assert not past.is_told(PCIE, a_gpu(utilization_percent=5.0), a_track([1.0], utilization=[5.0]))
    assert past.is_told(PCIE, a_gpu(pcie_tx_bytes_per_s=0.0))
    assert past.is_told(PCIE, a_gpu(), a_track([1.0], pcie_rx=[0.0]))


def test_bars_show_holds_with_their_true_times_and_begin_their_name_in_sight() -> None:
    holds = [
        HoldRecord(gpu="G", job=7, name="resnet", user="ann", start=50.0, end=150.0),
        HoldRecord(gpu="G", job=8, name="bert", user="bob", start=180.0),
        HoldRecord(gpu="G", job=9, name="", user="", start=160.0, end=170.0, jobs=3),
        HoldRecord(gpu="elsewhere", job=1, name="x", user="y", start=1.0),
    ]
    found = past.bands(holds, {"G": "GPU 0"}, since=100.0, until=200.0)
    assert list(zip(found["job"], found["name"], found["start"], found["end"], found["_at"], strict=True)) == [
        (7, "resnet", 50_000, 150_000, 100_000), (8, "bert", 180_000, 200_000, 180_000),
        (9, "3 short jobs", 160_000, 170_000, 160_000),
    ]  # fmt: skip
    assert found["_short"] == ["resnet", "bert", "3 short jo"]


def test_how_busy_a_job_was_is_the_mean_over_its_gpus() -> None:
    tracks = [
        a_track([1.0, 2.0], utilization=[10.0, None]),
        a_track([1.0, 2.0], utilization=[30.0, 40.0]),
        a_track([1.0]),
    ]
    assert past.busy(tracks) == ([1.0, 2.0], [20.0, 40.0])
    assert past.busy([]).mean is None
    assert past.busy([a_track([float(i) for i in range(9)], utilization=[50.0] * 9)]).mean is None
    assert past.busy([a_track([float(i) for i in range(12)], utilization=[50.0] * 11 + [None])]).mean == 50.0
