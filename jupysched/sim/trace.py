"""Traces: what was submitted when, by whom, for how long. Knows the CSV; knows nothing of scheduling.

Columns: job_id,user,submit_s,gpus,duration_s and any others; sorted by submit_s, seconds from the first submission."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = ("job_id", "user", "submit_s", "gpus", "duration_s")
#: what the daemon's own past has besides; readers take what they know and leave the rest
MORE_COLUMNS = ("priority", "time_limit_s", "gpu_memory_bytes", "cell", "groups", "name")


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One row."""

    job_id: str
    user: str
    submit_s: float
    gpus: int
    duration_s: float
    priority: str = "normal"
    time_limit_s: float | None = None
    gpu_memory_bytes: int | None = None
    #: what its cell was, if known: cells of one digest tend to take as long
    cell: str = ""
    groups: tuple[str, ...] = ()
    name: str = ""


class TraceUnreadable(ValueError):
    """The file is not a trace."""


def read_trace(path: str | Path) -> list[TraceJob]:
    """The rows of a .csv or .csv.gz, in order. Raises TraceUnreadable with the line that is wrong."""
    path = Path(path)
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8") as packed:
            return list(_rows(packed, path.name))
    with path.open(encoding="utf-8") as file:
        return list(_rows(file, path.name))


def _rows(file: Iterable[str], name: str) -> Iterable[TraceJob]:
    reader = csv.DictReader(file)
    missing = [c for c in COLUMNS if c not in (reader.fieldnames or ())]
    if missing:
        raise TraceUnreadable(f"{name} lacks the columns {', '.join(missing)}; a trace has {', '.join(COLUMNS)}.")
    before = float("-inf")
    for number, row in enumerate(reader, 2):
        try:
            job = _row(row)
        except (TypeError, ValueError) as error:
            raise TraceUnreadable(f"{name}, line {number}: {error}") from error
        if job.submit_s < before:
            raise TraceUnreadable(f"{name}, line {number}: submitted before the line above it; sort it by submit_s.")
        before = job.submit_s
        yield job


def _row(row: dict[str, str]) -> TraceJob:
    limit, memory = row.get("time_limit_s"), row.get("gpu_memory_bytes")
    return TraceJob(
        job_id=row["job_id"],
        user=row["user"],
        submit_s=float(row["submit_s"]),
        gpus=int(row["gpus"]),
        duration_s=max(0.0, float(row["duration_s"])),
        priority=row.get("priority") or "normal",
        time_limit_s=float(limit) if limit else None,
        gpu_memory_bytes=int(memory) if memory else None,
        cell=row.get("cell") or "",
        groups=tuple(g for g in (row.get("groups") or "").split(" ") if g),
        name=row.get("name") or "",
    )


def write_trace(jobs: Sequence[TraceJob], path: str | Path) -> None:
    """Writes: a trace, compressed if the name ends in .gz (without a time stamp, so that the same jobs make the same file)."""
    path = Path(path)
    if path.suffix == ".gz":
        with path.open("wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
            packed.write("".join(_lines(jobs)).encode())
    else:
        path.write_text("".join(_lines(jobs)), encoding="utf-8")


def _lines(jobs: Sequence[TraceJob]) -> Iterable[str]:
    columns = (*COLUMNS, *MORE_COLUMNS)
    yield ",".join(columns) + "\n"
    for job in jobs:
        yield ",".join(_field(getattr(job, column)) for column in columns) + "\n"


def _field(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        value = " ".join(value)
    text = f"{value:.3f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    if any(c in text for c in ',"\n\r'):
        return '"' + text.replace('"', '""').replace("\r", " ").replace("\n", " ") + '"'
    return text
