"""What a job printed, read from its spool: the text of its frames from an offset on, to its end if asked."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from jupysched import spool
from jupysched.client import Client
from jupysched.wire.records import JobRecord

POLL_S = 0.2
#: how IPython begins a traceback, and what it colours with
_RED = "\x1b[31m-----"
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
ENDED = ("succeeded", "failed", "cancelled")


def frames_path(job: JobRecord) -> Path:
    """The frames of the newest attempt."""
    return Path(job.directory) / f"a{job.attempt}" / "frames"


def texts(client: Client, job: JobRecord, *, follow: bool = False) -> Iterator[str]:
    """Stream text as it stands in the spool; displays as their plain text."""
    return (text for _, text in pieces(client, job, follow=follow))


def pieces(client: Client, job: JobRecord, *, follow: bool = False) -> Iterator[tuple[bool, str]]:
    """(does it belong to standard error?, text), of the newest attempt; with `follow`, of those that come as well."""
    offset, attempt = 0, job.attempt
    while True:
        has_ended = job.state in ENDED
        if attempt != job.attempt:
            offset, attempt = 0, job.attempt
        while frames := spool.read_frames(str(frames_path(job)), offset):
            for frame in frames:
                offset = frame.end
                if text := frame_text(frame.kind, frame.payload):
                    yield is_error(frame.kind, frame.payload), text
        # What was read before the end was known may not have been all.
        if not follow or has_ended:
            return
        time.sleep(POLL_S)
        job = client.job(job.id)


def show(text: str, stream: TextIO) -> None:
    """Write it; a traceback's colours only where they are seen as colours."""
    stream.write(text if stream.isatty() or not text.startswith(_RED) else _COLOURS.sub("", text))
    stream.flush()


def is_error(kind: int, payload: bytes) -> bool:
    """Does a program print it to standard error?"""
    return kind == spool.Kind.STDERR or (kind == spool.Kind.MESSAGE and json.loads(payload)["type"] == "error")


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
