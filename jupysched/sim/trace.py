"""Traces: what was submitted when, by whom, for how long. Knows the CSV; knows nothing of scheduling.

Columns: job_id,user,submit_s,gpus,duration_s and any others; sorted by submit_s, seconds from the first submission."""

from __future__ import annotations

import csv
import gzip
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from jupysched.core.job import Priority

COLUMNS = ("job_id", "user", "submit_s", "gpus", "duration_s")
#: what the daemon's own past has besides; readers take what they know and leave the rest
MORE_COLUMNS = ("priority", "time_limit_s", "gpu_memory_bytes", "cell", "groups", "name")


class TraceJob(msgspec.Struct, frozen=True, kw_only=True, gc=False):
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
    """The rows of a .csv or .csv.gz, in order. Raises TraceUnreadable with the line that is wrong and what was expected."""
    path = Path(path)
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as packed:
                return list(_rows(packed, path.name))
        with path.open(encoding="utf-8-sig", newline="") as file:
            return list(_rows(file, path.name))
    except (EOFError, UnicodeDecodeError, gzip.BadGzipFile, zlib.error, csv.Error) as error:
        raise TraceUnreadable(f"{path.name} is no CSV that can be read, or only a part of one ({error}).") from error
    except OSError as error:
        raise TraceUnreadable(f"{path} cannot be read: {error.strerror or error}.") from error


def _rows(file: Iterable[str], name: str) -> Iterable[TraceJob]:
    reader = csv.DictReader(file)
    missing = [c for c in COLUMNS if c not in (reader.fieldnames or ())]
    if not reader.fieldnames:
        raise TraceUnreadable(f"{name} is empty; its first line should be {','.join(COLUMNS)}.")
    if missing:
        has = ",".join(reader.fieldnames)
        raise TraceUnreadable(
            f"{name} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}: its first line is {has[:200]}; "
            f"it should be {','.join(COLUMNS)} (more columns do no harm)."
        )
    before = float("-inf")
    for number, row in enumerate(reader, 2):
        try:
            job = _row(row)
        except ValueError as error:
            raise TraceUnreadable(f"{name}, line {number}: {error}") from error
        if job.submit_s < before:
            raise TraceUnreadable(f"{name}, line {number}: submitted before the line above it; sort it by submit_s.")
        before = job.submit_s
        yield job


def _row(row: dict[str, str | None]) -> TraceJob:
    limit, memory = row.get("time_limit_s"), row.get("gpu_memory_bytes")
    priority = row.get("priority") or Priority.NORMAL.value
    if priority not in set(Priority):
        raise ValueError(f"priority is {priority!r}; expected {', '.join(Priority)}, or nothing.")
    return TraceJob(
        job_id=row["job_id"] or "",
        user=row["user"] or "",
        submit_s=_number(row, "submit_s", least=-math.inf),
        gpus=_whole(row, "gpus"),
        duration_s=_number(row, "duration_s"),
        priority=priority,
        time_limit_s=_number(row, "time_limit_s") if limit else None,
        gpu_memory_bytes=_whole(row, "gpu_memory_bytes") if memory else None,
        cell=row.get("cell") or "",
        groups=tuple(g for g in (row.get("groups") or "").split(" ") if g),
        name=row.get("name") or "",
    )


def _number(row: Mapping[str, str | None], column: str, *, least: float = 0.0) -> float:
    text = row[column]
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{column} is {text or ''!r}; expected seconds{', 0 or more' if least == 0.0 else ''}.")
    return value


def _whole(row: Mapping[str, str | None], column: str) -> int:
    text = row[column]
    if not (text or "").strip().isdecimal():
        raise ValueError(f"{column} is {text or ''!r}; expected a whole number, 0 or more.")
    return int(text or 0)


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
