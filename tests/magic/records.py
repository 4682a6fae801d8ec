"""Records and frames for the magic's tests."""

import json
from typing import Any

from jupysched.magic.tracked import Facts
from jupysched.spool import Frame, Kind, pack_frame
from jupysched.wire.records import GpuRecord, JobRecord, RequestRecord


def a_record(**fields: Any) -> JobRecord:
    """A pending job, with what is given changed."""
    known: dict[str, Any] = {"id": 7, "user": "ann", "name": "resnet", "state": "pending", "request": RequestRecord()}
    return JobRecord(**{**known, **fields})


def a_gpu(**fields: Any) -> GpuRecord:
    """A GPU at work."""
    known: dict[str, Any] = {
        "id": "GPU-1", "node": "n", "index": 0, "label": "GPU 0", "name": "H200", "kind": "gpu",
        "memory_total_bytes": 80_000_000_000, "memory_used_bytes": 48_900_000_000, "utilization_percent": 97.0,
    }  # fmt: skip
    return GpuRecord(**{**known, **fields})


def some_facts(**fields: Any) -> Facts:
    """Nothing known beside the record, with what is given changed."""
    return Facts(**fields)


def out(text: str | bytes, *, err: bool = False) -> Frame:
    """A frame of text."""
    payload = text if isinstance(text, bytes) else text.encode()
    return Frame(0, Kind.STDERR if err else Kind.STDOUT, 0.0, payload)


def message(kind: str, **content: Any) -> Frame:
    """A frame that holds a message."""
    return Frame(0, Kind.MESSAGE, 0.0, json.dumps({"type": kind, "content": content}).encode())


def packed(frames: list[Frame]) -> bytes:
    """The frames as they stand in the file."""
    return b"".join(pack_frame(frame.kind, frame.time, frame.payload) for frame in frames)


class Sent:
    """What was sent to a cell."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, dict[str, Any]]] = []

    def send(self, kind: str, content: dict[str, Any]) -> None:
        json.dumps(
            content, ensure_ascii=False, allow_nan=False
        ).encode()  # what cannot be sent fails here, as it would there
        self.messages.append((kind, content))

    @property
    def kinds(self) -> list[str]:
        """The kinds, in order."""
        return [kind for kind, _ in self.messages]

    def text(self, name: str = "stdout") -> str:
        """All of one stream."""
        return "".join(c["text"] for kind, c in self.messages if kind == "stream" and c["name"] == name)
