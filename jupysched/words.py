"""Records in words: durations, sizes, states, tables. Pure text; knows nothing of where it is shown."""

from __future__ import annotations

import pwd
from collections.abc import Mapping, Sequence

from jupysched import phrases
from jupysched.core.states import JobState
from jupysched.metrics_text import foremost
from jupysched.wire.records import GpuRecord, JobRecord


def user_name(uid: int) -> str:
    """The login name."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def duration(seconds: float | None) -> str:
    """'0:41', '3:31:10'; '' if unknown."""
    return "" if seconds is None else phrases.duration(seconds)


def size(nbytes: float | None) -> str:
    """'512 B', '3.1 GB'; 'n/a' if unknown."""
    return "n/a" if nbytes is None else phrases.size(nbytes)


def clock(iso: str | None) -> str:
    """Local '14:05', with the day when it is not today; '' if unknown."""
    return phrases.clock(iso) if iso else ""


def state(job: JobRecord) -> str:
    """'running', 'waiting, 2nd', 'succeeded in 4:12', 'failed after 0:41'."""
    if job.state == "pending":
        return f"waiting, {phrases.ordinal(job.position)}" if job.position else "waiting"
    if job.state == "succeeded":
        return f"succeeded in {duration(job.ran_s)}"
    if job.state in ("failed", "cancelled") and job.ran_s is not None:
        return f"{job.state} after {duration(job.ran_s)}"
    return job.state


def where(job: JobRecord) -> str:
    """'GPU 0', 'GPUs 1, 2', 'CPU slot 0'. GPUs that this machine has no longer go by their ids."""
    kind, *more = {gpu.rpartition(" ")[0] for gpu in job.gpus} or {""}
    if len(job.gpus) == 1 or more or not kind:
        return ", ".join(job.gpus)
    return f"{kind}s {', '.join(g.rpartition(' ')[2] for g in job.gpus)}"


def metric(job: JobRecord) -> str:
    """'loss 0.412', or the first metric there is; '' if none."""
    name = foremost(job.metrics)
    return "" if name is None else f"{phrases.tidy(name)[:24]} {phrases.number(job.metrics[name])}"


def metrics(job: JobRecord) -> str:
    """The last value of each, where the training is, and what has to be called out."""
    said = [f"{phrases.tidy(str(k))} {phrases.number(v)}" for k, v in job.metrics.items() if k != "mark"]
    return "; ".join(filter(None, [", ".join(said), phrases.tidy(str(job.metrics.get("mark", "")))]))


def time_of(job: JobRecord) -> str:
    """What the clock says of it: elapsed and limit, waiting time, or length."""
    if job.state == "pending":
        expected = clock(job.expected_start_at)
        return f"~{expected}" if expected else f"waits {duration(job.waited_s)}"
    limit = job.request.time_limit_s
    ran = duration(job.ran_s)
    return f"{ran} of {phrases.limit(limit)}" if job.state == "running" and limit else ran


def one_line(job: JobRecord) -> str:
    """One job in one line."""
    parts = [f"job {job.id}", job.name, state(job), where(job), metric(job)]
    line = " · ".join(p for p in parts if p)
    return f"{line}: {job.why}" if job.why else line


def ended_by_itself(job: JobRecord) -> bool:
    """Whether it was over before anybody could cancel it."""
    return job.state in (JobState.SUCCEEDED, JobState.FAILED)


def had_ended(job: JobRecord) -> str:
    """What is said to who cancels a job that is over."""
    return (
        f"Job {job.id} ({phrases.short_name(job.name)}) has ended already ({state(job)}); there is nothing to cancel."
    )


def why(job: JobRecord) -> str:
    """The reason in a sentence."""
    said = f"job {job.id} ({job.name}) {state(job)}"
    return f"{said}: {job.why}" if job.why else f"{said}."


def details(job: JobRecord) -> str:
    """All of it, a line each."""
    asked = job.request
    request = f"{asked.gpus} GPU{'s' if asked.gpus != 1 else ''}"
    for label, value in (
        ("GPU memory", size(asked.gpu_memory_bytes) if asked.gpu_memory_bytes else ""),
        ("type", asked.gpu_type or ""),
        ("CPUs", str(asked.cpus or "")),
        ("memory", size(asked.memory_bytes) if asked.memory_bytes else ""),
        ("time", phrases.limit(asked.time_limit_s) if asked.time_limit_s else ""),
    ):
        request += f", {label} {value}" if value else ""
    rows = {
        "job": f"{job.id} {job.name}",
        "user": job.user,
        "state": state(job),
        "why": job.why,
        "priority": job.priority,
        "request": request,
        "where": " on ".join(p for p in (where(job), ", ".join(job.nodes)) if p),
        "placement": job.placement,
        "attempt": str(job.attempt),
        "submitted": clock(job.submitted_at),
        "expected start": " to ".join(c for c in (clock(job.expected_start_from), clock(job.expected_start_at)) if c),
        "started": clock(job.started_at),
        "ended": clock(job.ended_at),
        "waited": duration(job.waited_s),
        "ran": duration(job.ran_s),
        "metrics": metrics(job),
        "directory": job.directory,
    }
    return "\n".join(f"{k:>15}  {v}" for k, v in rows.items() if v)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Left-aligned columns."""
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip() for r in rows)


def table(jobs: Sequence[JobRecord]) -> str:
    """Jobs, one a line."""
    head = ("job", "name", "user", "state", "where", "time", "last", "why")
    body = [(str(j.id), j.name[:40], j.user, state(j), where(j), time_of(j), metric(j), j.why) for j in jobs]
    return columns([head, *body])


def gpu_table(gpus: Sequence[GpuRecord], jobs: Mapping[int, JobRecord]) -> str:
    """GPUs, one a line; what is not known is n/a."""
    head = ("", "name", "busy", "memory", "temperature", "power", "held by")
    body = []
    for g in gpus:
        holders = [f"job {j} {jobs[j].name} ({jobs[j].user})" if j in jobs else f"job {j}" for j in g.jobs]
        # Who drains a GPU that is held wants to see that it was heard.
        drained = f"drained: {g.drained}" if g.drained else ""
        held = "; ".join(filter(None, [", ".join(holders) or ", ".join(g.foreign), drained])) or "free"
        known = [size(n) for n in (g.memory_used_bytes, g.memory_total_bytes) if n is not None]
        memory = " of ".join(known) or "n/a"
        body.append(
            (
                g.label,
                g.name,
                "n/a" if g.utilization_percent is None else f"{g.utilization_percent:.0f} %",
                memory,
                "n/a" if g.temperature_c is None else f"{g.temperature_c:.0f} °C",
                "n/a" if g.power_w is None else f"{g.power_w:.0f} W",
                held,
            )
        )
    return columns([head, *body])
