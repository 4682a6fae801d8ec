"""What lies in an attempt's directory: names, atomic writes, output frames and whether a shim still watches over it.

Knows file names, bytes and process identity. Must not know what a job, a queue or a notebook is: the shim writes here,
everybody else reads, and either side may die between any two bytes. Standard library only.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from enum import IntEnum
from typing import Any, NamedTuple

LAUNCH = "launch.json"
INPUT = "input.pickle"
SHIM = "shim.json"
FRAMES = "frames"
CONTROL = "ctl.sock"
RESULT = "result.pickle"
END = "end.json"
EXIT = "exit.json"

#: Frames kept for one attempt; past it a note says so and stream output is counted, not kept.
SPOOL_LIMIT_BYTES = 1 << 30
#: Largest payload of one frame of stream output.
CHUNK_BYTES = 1 << 20
HEADER = struct.Struct("<IBd")


class Kind(IntEnum):
    """What a frame carries; the numbers are on disk and never change."""

    STDOUT = 1
    STDERR = 2
    MESSAGE = 3
    METRICS = 4
    INPUT_REQUEST = 5
    NOTE = 6


class Frame(NamedTuple):
    """One frame as read back; `end` is the offset to read from next."""

    end: int
    kind: int
    time: float
    payload: bytes


def attempt_path(directory: str, attempt: int) -> str:
    """Return the spool directory of an attempt of the job that lives in `directory`."""
    return os.path.join(directory, f"a{attempt}")


# --- atomic writes -----------------------------------------------------------------------------------------------------


def write_json(path: str, value: object, *, durable: bool = False) -> None:
    """Make `path` hold `value` whole or not at all.

    Writes: `path`, through a temporary name beside it; `durable` also waits for the disk, file and name.
    """
    write_bytes(path, json.dumps(value, separators=(",", ":")).encode(), durable=durable)


def write_bytes(path: str, content: bytes, *, durable: bool = False) -> None:
    """Make `path` hold `content` whole or not at all."""
    temporary = f"{path}.tmp"
    descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        if durable:
            os.fsync(descriptor)
    except OSError:
        os.unlink(temporary)  # a full disk needs the room more than half a file does
        raise
    finally:
        os.close(descriptor)
    os.rename(temporary, path)
    if durable:
        folder = os.open(os.path.dirname(path) or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_json(path: str) -> dict[str, Any] | None:
    """Return the object that `path` holds, or None where it is not (yet) there."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return value if isinstance(value, dict) else None


# --- frames ------------------------------------------------------------------------------------------------------------


def pack_frame(kind: int, time: float, payload: bytes) -> bytes:
    """Return one frame as it stands in the file."""
    return HEADER.pack(len(payload), kind, time) + payload


def unpack_frames(data: bytes | memoryview, offset: int = 0) -> list[Frame]:
    """Return the whole frames in `data`, which begins at `offset` of the file; a torn tail is left for the next call."""
    frames: list[Frame] = []
    at, size = 0, len(data)
    while at + HEADER.size <= size:
        length, kind, time = HEADER.unpack_from(data, at)
        end = at + HEADER.size + length
        if end > size:
            break
        frames.append(Frame(offset + end, kind, time, bytes(data[at + HEADER.size : end])))
        at = end
    return frames


def read_frames(path: str, offset: int = 0, limit: int = 4 << 20) -> list[Frame]:
    """Return frames of the file from `offset` on, about `limit` bytes of them, and always one if one is whole."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    try:
        frames = unpack_frames(os.pread(descriptor, limit, offset), offset)
        if not frames:
            header = os.pread(descriptor, HEADER.size, offset)
            if len(header) == HEADER.size and HEADER.unpack(header)[0] + HEADER.size > limit:
                frames = unpack_frames(os.pread(descriptor, HEADER.unpack(header)[0] + HEADER.size, offset), offset)
    finally:
        os.close(descriptor)
    return frames


def cut_utf8(data: bytes) -> int:
    """Return how many bytes at the end of `data` begin a character whose rest is still to come (0 to 3)."""
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte < 0x80:
            return 0
        if byte >= 0xC0:
            need = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if need > back and byte < 0xF8 else 0
    return 0


# --- who watches over an attempt ---------------------------------------------------------------------------------------


def boot_id() -> str:
    """Return the identity of this boot; pids mean nothing across it."""
    with open("/proc/sys/kernel/random/boot_id") as file:
        return file.read().strip()


def process_start(pid: int) -> int | None:
    """Return the start time of a living process in clock ticks since boot, or None; a zombie does not live."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # An init that does not reap must not make a dead shim look alive.
    return None if not fields or fields[0] in (b"Z", b"X") else int(fields[19])


def is_watched(path: str) -> bool:
    """Tell whether the shim named in the attempt's shim.json is alive."""
    shim = read_json(os.path.join(path, SHIM))
    return shim is not None and shim["boot"] == boot_id() and process_start(shim["pid"]) == shim["start"]


def attempt_answer(path: str) -> str | None:
    """Return what a start order for this attempt is told: None (never started), "attached", "ended" or "lost".

    The shim makes the directory a moment before shim.json: whoever asks in between is told "lost" only by mistake, so
    callers that can wait ask again (see runner.launcher).
    """
    if not os.path.isdir(path):
        return None
    if os.path.exists(os.path.join(path, EXIT)):
        return "ended"
    if is_watched(path):
        return "attached"
    # Its shim may have ended in the instant between the two looks.
    return "ended" if os.path.exists(os.path.join(path, EXIT)) else "lost"


def connect_control(path: str) -> socket.socket:
    """Return a connection to the attempt's shim.

    The directory may be deeper than the 108 bytes a socket's path may have, hence the way through a descriptor.
    """
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.connect(f"/proc/self/fd/{folder}/{CONTROL}")
    except BaseException:
        connection.close()
        raise
    finally:
        os.close(folder)
    return connection
