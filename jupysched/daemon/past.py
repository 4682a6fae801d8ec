"""What the past was, as records: readings and holds of a time, thinned; who used what, and what was left unused.

Knows the recorder's store; writes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from jupysched.adapters.sample_store import Row, SampleStore
from jupysched.core.resources import GpuId
from jupysched.core.state import State
from jupysched.daemon.entitlement import parts
from jupysched.daemon.metering import day_of
from jupysched.daemon.recording import Recorder
from jupysched.daemon.rollup import METRICS, TIERS, Hold, merged, step_of, tier_of
from jupysched.wire import requests as ask
from jupysched.wire.samples import (
    HoldRecord,
    IdleRecord,
    JobUseRecord,
    SamplesRecord,
    TrackRecord,
    UsageReport,
    UseRecord,
)

MOST_POINTS = 2000
MOST_JOBS = 50
DAY_S = 86_400.0


def samples(recorder: Recorder, state: State, request: ask.Samples, *, now: float) -> SamplesRecord:
    """Readings and holds of a time, thinned."""
    store = recorder.up_to_date()
    until = min(request.until or now, now)
    since = max(min(request.since, until), now - TIERS[-1].kept_s)
    most = max(1, min(request.most, MOST_POINTS))
    tier = tier_of(since=since, until=until, now=now, most=most)
    step_s = step_of(since=since, until=until, tier=tier, most=most)
    gpus = request.gpus or list(state.gpus)
    tracks = [_track(gpu, store.read(gpu, tier=tier, since=since, until=until, step_s=step_s)) for gpu in gpus]
    return SamplesRecord(step_s=step_s, tracks=tracks, holds=_holds(store, gpus, since, until))


def _track(gpu: str, rows: Sequence[Row]) -> TrackRecord:
    """Columns of what the GPU told at all; what it did not is left out."""
    mean: dict[str, list[float | None]] = {}
    peak: dict[str, list[float | None]] = {}
    for place, name in enumerate(METRICS):
        column = [row.mean[place] for row in rows]
        if any(value is not None for value in column):
            mean[name], peak[name] = column, [row.peak[place] for row in rows]
    return TrackRecord(gpu=gpu, at=[row.at for row in rows], mean=mean, peak=peak)


def _holds(store: SampleStore, gpus: Sequence[str], since: float, until: float) -> list[HoldRecord]:
    by_gpu: dict[str, list[Hold]] = {gpu: [] for gpu in gpus}
    for row in store.holds(since=since, until=until):
        if row.gpu in by_gpu:
            by_gpu[row.gpu].append(Hold(row.gpu, row.job, row.name, row.user, row.start, row.end))
    # What is narrower than a pixel of a wide screen cannot be seen.
    least_s = (until - since) / MOST_POINTS * 2
    return [HoldRecord(**h._asdict()) for holds in by_gpu.values() for h in merged(holds, least_s=least_s)]


def usage(recorder: Recorder, state: State, request: ask.UsageReport, *, now: float) -> UsageReport:
    """Who used what on the last days, and what was left unused."""
    store = recorder.up_to_date()
    since = day_of(now - max(0, request.days - 1) * DAY_S)
    days = [
        UseRecord(
            day=row["day"], user=row["user"], jobs=row["jobs"], held_s=row["held"], failed_s=row["failed"],
            measured_s=row["measured"], busy_s=row["busy"], idle_s=row["idle"], remembered_s=row["remembered"],
            memory_s=row["memory"],
        )
        for row in store.use_by_day(since_day=since)
    ]  # fmt: skip
    jobs = [
        JobUseRecord(
            job=row["job"], user=row["user"], name=row["name"], failed=bool(row["failed"]), held_s=row["held"],
            measured_s=row["measured"], busy_s=row["busy"], idle_s=row["idle"], peak_bytes=row["peak"],
            capacity_bytes=row["capacity"],
        )
        for row in store.use_by_job(since_day=since, most=MOST_JOBS)
    ]  # fmt: skip
    idle = [
        IdleRecord(gpu=row.gpu, label=_label(state, row.gpu), job=row.job, name=row.name, user=row.user, idle_s=idle_s)
        for row, idle_s in recorder.idle()
    ]
    return UsageReport(days=days, jobs=jobs, idle=idle, parts=parts(state, {day.user for day in days}))


def _label(state: State, gpu: str) -> str:
    known = state.gpus.get(GpuId(gpu))
    return known.label if known is not None else gpu
