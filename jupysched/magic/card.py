"""The card under a cell: one job in words. Knows records and facts; knows nothing of how a card is sent or drawn."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from jupysched import phrases
from jupysched.core.states import JobState
from jupysched.magic import look
from jupysched.magic.failure import in_words
from jupysched.magic.tracked import Facts, has_ended
from jupysched.metrics_text import foremost
from jupysched.wire.records import GpuRecord, JobRecord

MIME = "application/vnd.jupysched.job+json"

#: a state that is not here is one of those in which a job holds GPUs, or of a newer daemon
_TONES: dict[str, str] = {
    JobState.PENDING: "wait",
    JobState.HELD: "wait",
    JobState.SUSPENDED: "wait",
    JobState.SUCCEEDED: "ok",
    JobState.FAILED: "bad",
    JobState.CANCELLED: "off",
}


def display_id(job: int) -> str:
    """By which later cards replace this one."""
    return f"jupysched-{job}"


def content(record: JobRecord, facts: Facts, *, now: datetime | None = None) -> dict[str, Any]:
    """The content of a display_data or update_display_data message."""
    return {
        "data": bundle(record, facts, now=now),
        "metadata": {"jupysched": {"job": record.id}},
        "transient": {"display_id": display_id(record.id)},
    }


def bundle(record: JobRecord, facts: Facts, *, now: datetime | None = None) -> dict[str, Any]:
    """The card in its three forms."""
    said = {"pill": pill(record), "beside": beside(record, facts, now=now), "detail": detail(record, facts)}
    fields = msgspec.to_builtins(record)
    if facts.metrics:
        fields["metrics"] = {**fields["metrics"], **_plain(facts.metrics)}
    return {
        MIME: {
            "job": record.id,
            **fields,
            "words": said,
            "gpu_readings": [_reading(gpu) for gpu in facts.gpus],
            "losses": list(facts.losses),
            "notes": list(facts.notes),
            "returned": facts.returned,
            "has_landed": facts.has_landed,
        },
        "text/html": _html(record, facts, said),
        "text/plain": _plain_text(record, facts, said),
    }


def _plain(metrics: dict[str, Any]) -> dict[str, Any]:
    """JSON has no NaN."""
    return {
        str(name): value if not isinstance(value, float) or abs(value) < float("inf") else str(value)
        for name, value in metrics.items()
    }


def _html(record: JobRecord, facts: Facts, said: dict[str, str]) -> str:
    figures = " · ".join(filter(None, [live(facts), loss(record, facts)]))
    first = look.text(figures) + (" " + look.spark(facts.losses) if facts.losses else "") if figures else ""
    lines = [
        first,
        look.text(said["detail"]) if said["detail"] else "",
        *(look.text(phrases.tidy(n)) for n in facts.notes),
    ]
    return look.box(
        tone=_TONES.get(record.state, "run"),
        name=phrases.short_name(record.name),
        full_name=phrases.tidy(record.name),
        pill=said["pill"],
        beside=said["beside"],
        lines=lines,
        right=f"job {record.id}",
    )


def _plain_text(record: JobRecord, facts: Facts, said: dict[str, str]) -> str:
    head = f"job {record.id} ({phrases.short_name(record.name)}): {said['pill']}"
    first = " · ".join(filter(None, [head, said["beside"], live(facts), loss(record, facts)]))
    second = "\n".join(filter(None, [said["detail"], *(phrases.tidy(note) for note in facts.notes)]))
    return f"{first}\n{second}" if second else first


# --- words -----------------------------------------------------------------------------------------------------------


def pill(record: JobRecord) -> str:
    """The state, with a number that says most about it: `waiting, 1st`, `done in 4:12`, `failed after 0:41`."""
    ran = None if record.ran_s is None else phrases.duration(record.ran_s)
    match record.state:
        case JobState.PENDING:
            return "waiting" if record.position is None else f"waiting, {phrases.ordinal(record.position)}"
        case JobState.HELD:
            return "held"
        case JobState.SUCCEEDED:
            return f"succeeded in {ran}" if ran else "succeeded"
        case JobState.FAILED:
            return f"failed after {ran}" if ran else "failed"
        case JobState.CANCELLED:
            return f"cancelled after {ran}" if ran else "cancelled"
        case other:
            return phrases.tidy(other)


def beside(record: JobRecord, facts: Facts, *, now: datetime | None = None) -> str:
    """What stands beside the state: when it should start, where it runs and how long, where it ran."""
    state = record.state
    if state == JobState.PENDING:
        return f"starts about {phrases.clock(record.expected_start_at, now=now)}" if record.expected_start_at else ""
    where = phrases.tidy(phrases.listed(record.gpus))
    if where and len(set(record.nodes)) > 1:
        where += f" on {phrases.tidy(phrases.listed(sorted(set(record.nodes))))}"
    if not has_ended(record) and state != JobState.HELD:
        return " · ".join(filter(None, [where, _running_for(record)]))
    waited = f"waited {phrases.duration(record.waited_s)}" if record.waited_s is not None and record.started_at else ""
    peak = f"attempt {record.attempt}" if record.attempt > 1 else ""
    return " · ".join(filter(None, [waited, where, peak]))


def _running_for(record: JobRecord) -> str:
    of = f" of {phrases.limit(record.request.time_limit_s)}" if record.request.time_limit_s else ""
    if record.ran_s is not None and record.ran_s >= 1:
        return phrases.duration(record.ran_s) + of
    return f"at most{of[3:]}" if of else ""


def live(facts: Facts) -> str:
    """GPU 97 % · 48.9 of 80.0 GB; what a GPU does not tell is left out, and n/a if it tells nothing."""
    return " · ".join(filter(None, (_gpu_line(gpu, alone=len(facts.gpus) == 1) for gpu in facts.gpus)))


def _gpu_line(gpu: GpuRecord, *, alone: bool) -> str:
    if gpu.kind == "cpu_slot":
        return ""
    used = "n/a" if gpu.utilization_percent is None else f"{gpu.utilization_percent:.0f} %"
    memory = ""
    if gpu.memory_used_bytes is not None and gpu.memory_total_bytes:
        memory = f", {gpu.memory_used_bytes / 1e9:.1f} of {phrases.size(gpu.memory_total_bytes)}"
    return f"{'GPU' if alone else phrases.tidy(gpu.label)} {used}{memory}"


def _reading(gpu: GpuRecord) -> dict[str, Any]:
    return {
        "id": gpu.id,
        "label": gpu.label,
        "kind": gpu.kind,
        "utilization_percent": gpu.utilization_percent,
        "memory_used_bytes": gpu.memory_used_bytes,
        "memory_total_bytes": gpu.memory_total_bytes,
    }


def loss(record: JobRecord, facts: Facts) -> str:
    """The loss (loss 0.412), or the first metric that the job reports."""
    metrics = {**record.metrics, **facts.metrics}
    name = foremost(metrics)
    shown = [f"epoch {phrases.number(metrics['epoch'])}"] if "epoch" in metrics else []
    if name is not None:
        shown.append(f"{phrases.tidy(str(name))[:24]} {phrases.number(metrics[name])}")
    return " · ".join(shown)


def detail(record: JobRecord, facts: Facts) -> str:
    """One sentence: what it waits for, why it ended so, what came back."""
    parts = []
    if mark := {**record.metrics, **facts.metrics}.get("mark"):
        parts.append(_sentence(phrases.tidy(str(mark))))
    if record.why and record.state != JobState.SUCCEEDED:
        parts.append(_sentence(phrases.tidy(record.why)))
    elif record.reason and record.state != JobState.SUCCEEDED:
        parts.append(_sentence(in_words(record.reason)))
    if facts.returned:
        names = phrases.listed([phrases.tidy(name) for name in facts.returned])
        verb = "is" if len(facts.returned) == 1 else "are"
        come = "comes" if len(facts.returned) == 1 else "come"
        parts.append(
            f"{names} {verb} back in the notebook." if facts.has_landed else f"{names} {come} back with the next cell."
        )
    return " ".join(parts)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
