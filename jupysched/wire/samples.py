"""The past of the GPUs as the daemon tells it: readings, holds, and what they came to. Times unix seconds, unknown is null."""

from __future__ import annotations

import msgspec


class TrackRecord(msgspec.Struct, kw_only=True):
    """Readings of one GPU, the oldest first. Each column has as many values as `at`."""

    gpu: str
    at: list[float]
    #: metric -> means and peaks, of the metrics that were told at all: utilization (percent), memory (bytes), power (W), temperature (C), and bytes a second in (rx)
    #: and out (tx) over pcie and nvlink
    mean: dict[str, list[float | None]]
    peak: dict[str, list[float | None]]


class HoldRecord(msgspec.Struct, kw_only=True):
    """A job held a GPU. Several that were too short to tell apart are one, without a name."""

    gpu: str
    job: int
    name: str
    user: str
    start: float
    #: None: it holds it now
    end: float | None = None
    jobs: int = 1


class SamplesRecord(msgspec.Struct, kw_only=True):
    """What was asked for, and how far apart its points are."""

    step_s: float
    tracks: list[TrackRecord]
    holds: list[HoldRecord] = []


class UseRecord(msgspec.Struct, kw_only=True):
    """What one user used on one day; GPU-seconds. A GPU that is shared by memory counts by its share."""

    day: str
    user: str
    jobs: int
    held_s: float
    #: of jobs that failed
    failed_s: float
    #: for which the utilization is known
    measured_s: float
    #: of these: by utilization
    busy_s: float
    #: of these: idle, under 5 % for minutes
    idle_s: float
    #: for which memory is known, and of these: by memory used
    remembered_s: float
    memory_s: float


class JobUseRecord(msgspec.Struct, kw_only=True):
    """What one job made of its GPUs; GPU-seconds."""

    job: int
    user: str
    name: str
    failed: bool
    held_s: float
    measured_s: float
    busy_s: float
    idle_s: float
    #: most memory of one GPU at once, and how much it has
    peak_bytes: float | None = None
    capacity_bytes: float | None = None


class IdleRecord(msgspec.Struct, kw_only=True):
    """A job holds a GPU now and does not use it."""

    gpu: str
    label: str
    job: int
    name: str
    user: str
    idle_s: float


class UsageReport(msgspec.Struct, kw_only=True):
    """Who used what, and what was left unused."""

    days: list[UseRecord]
    #: those that left most unused, the worst first
    jobs: list[JobUseRecord]
    idle: list[IdleRecord]
    #: the part of all that each of these users is entitled to beside the others
    parts: dict[str, float] = {}
