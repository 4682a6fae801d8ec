"""A word to the agent: one datagram, sent and forgotten.

Knows a socket's path. Must not wait, retry or fail: the attempt's directory holds the same facts.
"""

from __future__ import annotations

import json
import os
import socket
from typing import Any

_PATH_BYTES = 107


def tell(path: str | None, record: dict[str, Any]) -> None:
    """Send the record to the datagram socket at `path`, if somebody listens there."""
    if not path:
        return
    folder = None
    sender = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        sender.setblocking(False)
        if len(os.fsencode(path)) > _PATH_BYTES:
            folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            path = f"/proc/self/fd/{folder}/{os.path.basename(path)}"
        try:
            sender.sendto(json.dumps(record).encode(), path)
        except OSError:
            # Too large for a datagram, or nobody there: the bare fact, then silence.
            bare = {key: record.get(key) for key in ("job", "attempt", "event", "at", "code", "signal", "stopped")}
            sender.sendto(json.dumps(bare).encode(), path)
    except OSError:
        return
    finally:
        sender.close()
        if folder is not None:
            os.close(folder)
