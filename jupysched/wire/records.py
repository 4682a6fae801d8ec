"""What is shown: records of jobs and GPUs. Times ISO 8601 UTC, sizes bytes, durations seconds; unknown is null, never 0."""

from __future__ import annotations

from typing import Any

import msgspec


class RequestRecord(msgspec.Struct, kw_only=True):
    """What a job asks for."""

    gpus: int = 1
    gpu_memory_bytes: int | None = None
    gpu_type: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    time_limit_s: float | None = None


class ExitRecord(msgspec.Struct, kw_only=True):
    """How the newest attempt ended."""

    code: int | None = None
    signal: int | None = None
    outcome: str | None = None
    error: str | None = None
    sentence: str = ""
    #: names that came back to the notebook; empty for others' jobs
    returned: list[str] = []


class JobRecord(msgspec.Struct, kw_only=True):
    """One job, as everybody sees it: `jupysched show --json`, the card, the sidebar."""

    id: int
    user: str
    name: str
    state: str
    reason: str | None = None
    #: one sentence: what it waits for, or why it ended so
    why: str = ""
    priority: str = "normal"
    request: RequestRecord = msgspec.field(default_factory=RequestRecord)
    #: labels of the GPUs held, or last held: "GPU 3"
    gpus: list[str] = []
    nodes: list[str] = []
    attempt: int = 0
    #: 1 is next
    position: int | None = None
    expected_start_at: str | None = None
    #: the early end of the range whose late end is expected_start_at
    expected_start_from: str | None = None
    submitted_at: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    waited_s: float | None = None
    ran_s: float | None = None
    exit: ExitRecord | None = None
    #: last value of each metric
    metrics: dict[str, Any] = {}
    after: list[int] = []
    retries: int = 0
    #: the job's directory; empty for those who may not read it
    directory: str = ""
    #: notebook, cell and kernel it came from; empty for others' jobs
    origin: dict[str, str] = {}
    #: does it belong to who asks?
    mine: bool = True
    #: UUIDs of the GPUs held
    gpu_ids: list[str] = []
    #: why these GPUs: "GPUs 4, 5: NVLink x12"
    placement: str = ""
    #: how often it was stopped for a more urgent job
    preemptions: int = 0


class GpuRecord(msgspec.Struct, kw_only=True):
    """One GPU (or CPU slot): what it is, who holds it, and its newest reading."""

    id: str
    node: str
    index: int
    label: str
    name: str
    kind: str
    memory_total_bytes: int | None = None
    memory_used_bytes: int | None = None
    utilization_percent: float | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    #: bytes a second in (rx) and out (tx)
    pcie_rx_bytes_per_s: float | None = None
    pcie_tx_bytes_per_s: float | None = None
    nvlink_rx_bytes_per_s: float | None = None
    nvlink_tx_bytes_per_s: float | None = None
    #: jobs that hold it
    jobs: list[int] = []
    #: "" if it may be granted; else why not
    drained: str = ""
    foreign: list[str] = []
    group: str = ""


class DaemonRecord(msgspec.Struct, kw_only=True):
    """The daemon itself."""

    version: str
    pid: int
    mode: str
    home: str
    policy: str
    started_at: str
    gpus: int
    kind: str
    running: int
    pending: int
    held: int
    #: sentences an admin should read: damaged journal, no NVML, missing agents
    notices: list[str] = []


class UsageRecord(msgspec.Struct, kw_only=True):
    """What one scope uses and has used; GPU-seconds."""

    #: "user:ann", "group:vision", "class:low"
    scope: str
    gpus: float = 0.0
    running: int = 0
    pending: int = 0
    gpu_seconds: float = 0.0
    gpu_seconds_today: float = 0.0
    gpu_seconds_week: float = 0.0
    #: decayed by the policy's half-life: what fair-share goes by
    gpu_seconds_recent: float = 0.0
    share: float | None = None
    limits: dict[str, float] = {}


class ReservationRecord(msgspec.Struct, kw_only=True):
    """GPUs kept for one scope for a while."""

    name: str
    scope: str
    gpus: int
    starts_at: str
    ends_at: str


class ErrorRecord(msgspec.Struct, kw_only=True):
    """Every error of every route has this shape."""

    code: str
    message: str
    hint: str = ""
    fault: str = "bug"
