"""What a job printed, read from its spool: the text of its frames from an offset on, to its end if asked."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

from jupysched import spool
from jupysched.client import Client
from jupysched.wire.records import JobRecord

POLL_S = 0.2
ENDED = ("succeeded", "failed", "cancelled")


def frames_path(job: JobRecord) -> Path:
    """The frames of the newest attempt."""
    return Path(job.directory) / f"a{job.attempt}" / "frames"


def texts(client: Client, job: JobRecord, *, follow: bool = False) -> Iterator[str]:
    """Stream text as it stands in the spool; displays as their plain text."""
    offset = 0
    while True:
        while frames := spool.read_frames(str(frames_path(job)), offset):
            for frame in frames:
                offset = frame.end
                text = frame_text(frame.kind, frame.payload)
                if text:
                    yield text
        if not follow or job.state in ENDED:
            return
        time.sleep(POLL_S)
        job = client.job(job.id)


def frame_text(kind: int, payload: bytes) -> str:
    """One frame as text; '' for what has none."""
    if kind in (spool.Kind.STDOUT, spool.Kind.STDERR):
        return payload.decode("utf-8", "replace")
    if kind == spool.Kind.MESSAGE:
        message = json.loads(payload)
        content = message["content"]
        if message["type"] == "error":
            return "\n".join(content["traceback"]) + "\n"
        data = content.get("data", {})
        return f"{data['text/plain']}\n" if "text/plain" in data else ""
    if kind == spool.Kind.NOTE:
        return str(json.loads(payload)["text"]) + "\n"
    return ""
