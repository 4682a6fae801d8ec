"""What stands around one job: pids of everything that may be ended under it, found in /proc and in its spool."""

import contextlib
import os
import signal
from pathlib import Path

from jupysched import spool
from jupysched.client import Client
from jupysched.wire.records import JobRecord
from tests.waiting import eventually

LINES = 400
#: prints for about four seconds, wants nothing of the machine
CELL = f"""
import time
for i in range({LINES}):
    print("line", i)
    time.sleep(0.01)
last = i
"""
ENDED = ("succeeded", "failed", "cancelled")


def attempt_path(job: JobRecord) -> str:
    return spool.attempt_path(job.directory, job.attempt)


def text_of(job: JobRecord) -> str:
    """Everything it printed, from the spool."""
    text, offset, path = b"", 0, os.path.join(attempt_path(job), spool.FRAMES)
    while frames := spool.read_frames(path, offset):
        text += b"".join(f.payload for f in frames if f.kind == spool.Kind.STDOUT)
        offset = frames[-1].end
    return text.decode()


def wait_for_lines(client: Client, number: int, lines: int = 50) -> JobRecord:
    """The job, once it has printed so much."""

    def printing() -> JobRecord | None:
        job = client.job(number)
        return job if job.attempt and text_of(job).count("\n") >= lines else None

    found = eventually(printing, what=f"{lines} lines of job {number}", within_s=40)
    assert found is not None
    return found


def wait_for_end(number: int, within_s: float = 60) -> JobRecord:
    """The job, once it has ended; asks a client of its own, which starts a daemon where there is none."""

    def ended() -> JobRecord | None:
        with Client() as client:
            job = client.job(number)
        return job if job.state in ENDED else None

    found = eventually(ended, what=f"the end of job {number}", within_s=within_s)
    assert found is not None
    return found


def end_hard(pid: int) -> None:
    """kill -9, and wait until it is gone."""
    start = spool.process_start(pid)
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: spool.process_start(pid) != start, what=f"the end of pid {pid}")


def processes_with(word: str, home: Path) -> list[int]:
    """Pids of this home's processes whose command line has the word."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit():
                command = Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace")
                environment = Path(f"/proc/{name}/environ").read_bytes().decode(errors="replace")
                if word in command and (str(home) in command or str(home) in environment):
                    found.append(int(name))
    return found


def shim_of(job: JobRecord) -> int:
    record = spool.read_json(os.path.join(attempt_path(job), spool.SHIM))
    assert record is not None
    return int(record["pid"])


def zygote_of(job: JobRecord) -> int:
    """The parent of its shim, as long as it lives."""
    status = Path(f"/proc/{shim_of(job)}/stat").read_text(encoding="ascii")
    return int(status.rpartition(")")[2].split()[1])
