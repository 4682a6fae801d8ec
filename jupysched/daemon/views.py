"""From state to records: what a person may see of a job or a GPU. Reads the state; changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from jupysched.core.explain import explain
from jupysched.core.job import Job
from jupysched.core.resources import Gpu, GpuId
from jupysched.core.state import State
from jupysched.core.states import ENDED, JobState
from jupysched.ports import GpuSample
from jupysched.wire.records import ExitRecord, GpuRecord, JobRecord, RequestRecord


def iso(at: float | None) -> str | None:
    """ISO 8601 UTC, to the millisecond."""
    return (
        None
        if at is None
        else datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def job_record(
    state: State,
    job: Job,
    *,
    now: float,
    mine: bool,
    metrics: Mapping[str, float | str] | None = None,
    remark: str = "",
) -> JobRecord:
    """One job. Others' jobs show name, size and times, never directory or origin. `remark`: what befell its GPUs."""
    said = explain(state, job.id, now=now)
    where = job.allocation or job.ran_on
    asked = job.spec.request
    waited = job.waited_s
    if job.state in (JobState.PENDING, JobState.HELD):
        waited += max(0.0, now - job.queued_at)
    ran = None
    if job.started_at is not None:
        ran = max(0.0, (job.ended_at if job.ended_at is not None else now) - job.started_at)
    return JobRecord(
        id=job.id,
        user=job.spec.user,
        name=job.spec.name,
        state=job.state.value,
        reason=said.reason.value if said.reason else None,
        why=_with_remark(said.sentence, remark),
        priority=job.priority.value,
        request=RequestRecord(
            gpus=asked.gpus,
            gpu_memory_bytes=asked.gpu_memory_bytes,
            gpu_type=asked.gpu_type,
            cpus=asked.cpus,
            memory_bytes=asked.memory_bytes,
            time_limit_s=asked.time_limit_s,
        ),
        gpus=[state.gpus[g].label if g in state.gpus else g for g in where.gpus] if where else [],
        gpu_ids=list(where.gpus) if where else [],
        nodes=list(where.nodes) if where else [],
        attempt=job.attempt,
        position=said.position,
        expected_start_at=iso(said.expected_start_at),
        expected_start_from=iso(said.expected_start_from),
        placement=where.note if where else "",
        preemptions=job.preemptions,
        submitted_at=iso(job.submitted_at) or "",
        started_at=iso(job.started_at),
        ended_at=iso(job.ended_at),
        waited_s=round(waited, 3),
        ran_s=None if ran is None else round(ran, 3),
        exit=_exit(job, mine=mine),
        metrics=dict(metrics or {}),
        after=list(job.spec.after),
        retries=job.spec.retries,
        directory=job.spec.directory if mine else "",
        origin=dict(job.spec.origin) if mine else {},
        mine=mine,
    )


def _with_remark(sentence: str, remark: str) -> str:
    return f"{sentence}{'' if sentence.endswith('.') else '.'} {remark}" if sentence and remark else sentence or remark


def _exit(job: Job, *, mine: bool) -> ExitRecord | None:
    if job.exit is None:
        return None
    e = job.exit
    return ExitRecord(
        code=e.code,
        signal=e.signal,
        outcome=e.outcome,
        error=e.error if mine else None,
        sentence=e.sentence if mine else "",
        returned=list(e.returned) if mine else [],
    )


def in_order(state: State) -> Iterator[Job]:
    """Running first, then the queue in its order, those that wait for other jobs, the held, the ended (newest first)."""
    yield from (state.jobs[j] for j in sorted(state.holding))
    yield from state.queue()
    yield from (state.jobs[j] for j in sorted(state.blocked))
    listed = (state.holding, state.standing, state.blocked)
    rest = [j for j in state.jobs.values() if not any(j.id in some for some in listed)]
    yield from sorted((j for j in rest if j.state not in ENDED), key=lambda j: j.id)
    yield from sorted((j for j in rest if j.state in ENDED), key=lambda j: (-(j.ended_at or 0.0), -j.id))


def gpu_record(state: State, gpu: Gpu, sample: GpuSample | None) -> GpuRecord:
    """One GPU with its newest reading."""
    return GpuRecord(
        id=gpu.id,
        node=gpu.node,
        index=gpu.index,
        label=gpu.label,
        name=gpu.name,
        kind=gpu.kind.value,
        memory_total_bytes=gpu.memory_bytes,
        memory_used_bytes=sample.memory_used_bytes if sample else None,
        utilization_percent=sample.utilization_percent if sample else None,
        temperature_c=sample.temperature_c if sample else None,
        power_w=sample.power_w if sample else None,
        power_limit_w=sample.power_limit_w if sample else None,
        pcie_rx_bytes_per_s=sample.pcie_rx_bytes_per_s if sample else None,
        pcie_tx_bytes_per_s=sample.pcie_tx_bytes_per_s if sample else None,
        nvlink_rx_bytes_per_s=sample.nvlink_rx_bytes_per_s if sample else None,
        nvlink_tx_bytes_per_s=sample.nvlink_tx_bytes_per_s if sample else None,
        jobs=list(state.holders.get(gpu.id, ())),
        drained="; ".join(gpu.drains.values()),
        foreign=list(gpu.foreign),
    )


def gpu_records(state: State, samples: Mapping[GpuId, GpuSample]) -> list[GpuRecord]:
    """Every GPU, by node and index."""
    gpus = sorted(state.gpus.values(), key=lambda g: (g.node, g.index))
    return [gpu_record(state, g, samples.get(g.id)) for g in gpus]
