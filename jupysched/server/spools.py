"""Reads the spool directories of this user's own jobs. Knows files; knows nothing of routes. Blocking: call in a thread."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any

from jupysched import spool
from jupysched.server.outputs import Screen, ops_of
from jupysched.wire.browser import AttemptRecord, DetailRecord, Outputs, Snapshot
from jupysched.wire.records import JobRecord

#: bytes of frames read for one message to a page
CHUNK = 256 * 1024
#: what never leaves the job's directory, whoever asks
_SECRET = ("TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY", "AUTH")


def frames_path(directory: str, attempt: int) -> str:
    """Where an attempt's output lies."""
    return os.path.join(spool.attempt_path(directory, attempt), spool.FRAMES)


def has_ended(directory: str, attempt: int) -> bool:
    """Nothing follows what is there. Ask before reading: what is written last is the word that nothing follows."""
    return os.path.exists(os.path.join(spool.attempt_path(directory, attempt), spool.EXIT))


def read_outputs(job: int, directory: str, attempt: int, start: int) -> Outputs:
    """Outputs from byte `start` on, at most about CHUNK bytes of them."""
    ended = has_ended(directory, attempt)
    frames = spool.read_frames(frames_path(directory, attempt), start, CHUNK)
    end = frames[-1].end if frames else start
    more = bool(frames) and bool(spool.read_frames(frames_path(directory, attempt), end, CHUNK))
    return Outputs(job=job, attempt=attempt, start=start, end=end, ops=ops_of(frames), ended=ended and not more)


def take_snapshot(job: int, directory: str, attempt: int) -> tuple[Snapshot, Screen]:
    """What the cell should show now."""
    ended = has_ended(directory, attempt)
    screen, end = Screen(), 0
    while frames := spool.read_frames(frames_path(directory, attempt), end):
        screen.apply(ops_of(frames))
        end = frames[-1].end
    asks = None if ended else screen.asks
    shown = Snapshot(
        job=job, attempt=attempt, end=end, ended=ended, ops=screen.ops, clearing=screen.clearing, asks=asks
    )
    return shown, screen


def answer(directory: str, attempt: int, question: int, value: str) -> bool:
    """Give a job what its input() waits for. False if nobody waits any more."""
    line = json.dumps({"op": "input", "id": question, "value": value}).encode() + b"\n"
    try:
        with spool.connect_control(spool.attempt_path(directory, attempt)) as connection:
            connection.sendall(line)
    except OSError:
        return False
    return True


def size(directory: str, attempt: int) -> int:
    """Bytes of output so far; -1 before the attempt has written any."""
    try:
        return os.stat(frames_path(directory, attempt)).st_size
    except OSError:
        return -1


def detail(record: JobRecord) -> DetailRecord:
    """All that the job's directory tells."""
    launch = spool.read_json(os.path.join(record.directory, spool.LAUNCH)) or {}
    return DetailRecord(
        job=record,
        cell=str(launch.get("cell", "")),
        interpreter=str(launch.get("executable", "")),
        cwd=str(launch.get("cwd", "")),
        environment=_environment(launch.get("env") or {}),
        attempts=[_attempt(record, number) for number in range(1, record.attempt + 1)],
        files=_files(record),
    )


def _environment(env: dict[str, Any]) -> dict[str, str]:
    return {k: "(hidden)" if any(s in k.upper() for s in _SECRET) else str(v) for k, v in sorted(env.items())}


def _attempt(record: JobRecord, number: int) -> AttemptRecord:
    path = spool.attempt_path(record.directory, number)
    said = spool.read_json(os.path.join(path, spool.EXIT))
    written = max(0, size(record.directory, number))
    if said is None:
        outcome = "running" if spool.is_watched(path) else "unknown"
        return AttemptRecord(number=number, outcome=outcome, output_bytes=written)
    end = said.get("end") or {}
    error = f"{end['ename']}: {end.get('evalue', '')}" if end.get("ename") else ""
    return AttemptRecord(
        number=number,
        started_at=_iso(said.get("started_at")),
        ended_at=_iso(said.get("ended_at")),
        outcome=_outcome(said),
        error=error,
        output_bytes=written,
        max_rss_bytes=said.get("max_rss_bytes"),
    )


def _outcome(said: dict[str, Any]) -> str:
    if said.get("signal"):
        return f"signal {said['signal']}"
    word = (said.get("end") or {}).get("outcome")
    return str(word) if word else f"exit code {said.get('code')}"


def _iso(at: Any) -> str | None:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds") if isinstance(at, int | float) else None


def _files(record: JobRecord) -> dict[str, int]:
    found: dict[str, int] = {}
    for folder, _, names in os.walk(record.directory):
        for name in sorted(names):
            path = os.path.join(folder, name)
            try:
                found[os.path.relpath(path, record.directory)] = os.lstat(path).st_size
            except OSError:
                continue
    return found


def plain_text(outputs: Outputs) -> str:
    """The outputs as a log shows them: text only."""
    parts: list[str] = []
    for op in outputs.ops:
        if op.op == "stream":
            parts.append(op.text)
        elif op.op == "note":
            parts.append(f"[jupysched] {op.text}\n")
        elif op.op in ("output", "update") and op.output is not None:
            parts.append(_output_text(op.output))
    return "".join(parts)


def _output_text(output: dict[str, Any]) -> str:
    if output.get("output_type") == "error":
        return "\n".join(output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]) + "\n"
    text = (output.get("data") or {}).get("text/plain", "")
    if not isinstance(text, str):
        text = "".join(text) if isinstance(text, list) else json.dumps(text)
    return f"{text}\n" if text else ""
