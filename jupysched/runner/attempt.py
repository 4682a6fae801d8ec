"""One attempt from its order to its exit record, inside the shim.

Knows the job's pipes, its frames, who reads along and who asks it to stop. Must not know IPython or the queue.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import time
from typing import Any

from jupysched import spool
from jupysched.runner import tree
from jupysched.runner.control import Control
from jupysched.runner.intake import Intake
from jupysched.runner.notify import tell
from jupysched.runner.recorder import Recorder
from jupysched.runner.stopping import Stopping

#: Output that follows output so soon is gathered first: frames of many lines, not a frame a line.
_GATHER_S = 0.002
#: How long readers may read nothing before the shim leaves them, once the exit record is written.
_LINGER_S = 5.0
#: How long the exit record is tried again on a full disk.
_DISK_PATIENCE_S = 60.0
_DISK_PAUSE_S = 0.2
#: Capacity of a job's output pipe.
PIPE_BYTES = 1 << 20


class Attempt:
    """Everything the shim holds of the attempt it watches over."""

    def __init__(
        self, order: dict[str, Any], job_pid: int, pidfd: int, orders: int, pipes: tuple[int, int], nonce: bytes
    ) -> None:
        """Make ready in the current directory, then let the job begin its cell: what may fail, fails before that.

        Raises: OSError; then nothing was begun.
        """
        self.order = order
        self.pidfd = pidfd
        self.recorder = Recorder(spool.FRAMES)
        self.intake = Intake(self.recorder, *pipes, nonce)
        self.started_at = self.recorder.now()
        self.stopping = Stopping(job_pid)
        self.control = Control(self.recorder, self.stopping, orders)
        self.job_pid = job_pid
        self.gathered_at = 0.0
        self.quiet = select.poll()
        self.all = select.poll()
        for fd in (pidfd, self.control.fileno()):
            self._watch(fd)
        for fd in pipes:
            self.all.register(fd, select.POLLIN)
        _lay_in_ballast(order)
        write_order(orders, {"op": "go"})
        self._tell("running", {"pid": os.getpid(), "job_pid": job_pid, "at": self.started_at})

    def _watch(self, fd: int, mask: int = select.POLLIN) -> None:
        self.all.register(fd, mask)
        self.quiet.register(fd, mask)

    def _forget(self, fd: int) -> None:
        for poll in (self.all, self.quiet):
            try:
                poll.unregister(fd)
            except KeyError:
                continue

    def _tell(self, event: str, more: dict[str, Any]) -> None:
        record = {"job": self.order.get("job"), "attempt": self.order["attempt"], "event": event, **more}
        tell(self.order.get("notify"), record)

    # --- while the job runs ----------------------------------------------------------------------------------------

    def run(self) -> None:
        """See the attempt through; returns when its exit record is written and its readers are served."""
        running = True
        while running:
            running = self._turn()
        self._end()

    def _turn(self) -> bool:
        """Wait for something and answer it; return whether the job still lives."""
        ready = self._wait()
        pipes = ready.keys() & self.intake.open
        if pipes:
            self.intake.read()
            self.gathered_at = time.monotonic()
            for ended in pipes - self.intake.open:
                self.all.unregister(ended)
        for fd in ready.keys() - pipes - {self.pidfd}:
            self._serve(fd, ready[fd])
        self.stopping.act_if_due()
        self._push()
        if (values := self.recorder.gauge.due(time.monotonic())) is not None:
            self._tell("metrics", {"values": values, "at": self.recorder.now()})
        return self.pidfd not in ready

    def _wait(self) -> dict[int, int]:
        due = (self.stopping.seconds_left(), self.recorder.gauge.seconds_left(time.monotonic()))
        limits = [seconds for seconds in due if seconds is not None]
        limit = min(limits) if limits else None
        gather = self.gathered_at + _GATHER_S - time.monotonic()
        if gather > 0:
            if limit is not None:
                gather = min(gather, limit)
            if ready := dict(self.quiet.poll(max(1, int(gather * 1000)))):
                return ready
            return dict(self.all.poll(0))
        return dict(self.all.poll(None if limit is None else int(limit * 1000) + 1))

    def _serve(self, fd: int, mask: int) -> None:
        if fd == self.control.fileno():
            if (connection := self.control.accept()) is not None:
                self._watch(connection)
        elif not self.control.serve(fd, mask):
            self._forget(fd)
            self.control.drop(fd)

    def _push(self) -> None:
        for reader in self.recorder.push():
            fd = reader.connection.fileno()
            self._forget(fd)
            self.control.drop(fd)
        for fd, reader in self.recorder.readers.items():
            self._watch(fd, select.POLLIN | (select.POLLOUT if reader.waits else 0))

    # --- the end ---------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        _, status, usage = os.wait4(self.job_pid, 0)
        code = os.waitstatus_to_exitcode(status)
        # All the job wrote is in the pipes; what its children still write is read when they are gone.
        self.intake.drain(2 * PIPE_BYTES)
        swept = tree.sweep(os.getpid())
        left = tree.descendants(os.getpid()) if swept else set()
        swept -= left
        self.intake.drain()
        self.intake.flush()
        if left:
            self.recorder.record(spool.Kind.NOTE, json.dumps({"text": _left_sentence(left)}).encode())
        if code < 0 or swept:
            tree.unlink_shared_memory(swept | {self.job_pid}, self.started_at)
        record = {
            "code": code if code >= 0 else None, "signal": -code if code < 0 else None,
            "stopped": self.stopping.asked, "started_at": self.started_at, "ended_at": self.recorder.now(),
            "frames": self.recorder.size, "end": self.intake.last_word or spool.read_json(spool.END), "max_rss_bytes": usage.ru_maxrss * 1024,
            "cpu_s": round(usage.ru_utime + usage.ru_stime, 6), "shim_cpu_s": _own_cpu_s(), "swept": len(swept),
            "notes": self.recorder.notes() + self.intake.notes(), "metrics": self.recorder.gauge.values,
        }  # fmt: skip
        written = _write_exit(record)
        self._tell("ended", {"at": record["ended_at"], **record})
        deadline = time.monotonic() + _DISK_PATIENCE_S
        while not written and time.monotonic() < deadline:
            time.sleep(_DISK_PAUSE_S)
            written = _write_exit(record)
        self.control.close()
        self._linger()
        _sync(spool.EXIT)

    def _linger(self) -> None:
        """Serve readers to the last byte, but do not wait for one that sleeps: the file has it all."""
        deadline, offsets = time.monotonic() + _LINGER_S, 0
        while True:
            gone = self.recorder.push()
            served = [reader for reader in self.recorder.readers.values() if not reader.waits]
            for reader in {*gone, *served}:
                self.control.drop(reader.connection.fileno())
            waiting = list(self.recorder.readers)
            if (reached := sum(reader.offset for reader in self.recorder.readers.values())) != offsets:
                deadline, offsets = time.monotonic() + _LINGER_S, reached
            left = deadline - time.monotonic()
            if not waiting or left <= 0:
                break
            poll = select.poll()
            for fd in waiting:
                poll.register(fd, select.POLLOUT)
            poll.poll(int(left * 1000) + 1)
        self.control.drop_all()


def _left_sentence(left: set[int]) -> str:
    pids = ", ".join(str(pid) for pid in sorted(left))
    return f"What it started as another user (PID {pids}) could not be ended and goes on."


def _own_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return round(usage.ru_utime + usage.ru_stime, 6)


def write_order(orders: int, order: dict[str, Any]) -> None:
    """Send the job a line."""
    with contextlib.suppress(BrokenPipeError):  # dead already: how it died is read from its pidfd
        os.write(orders, json.dumps(order).encode() + b"\n")


def _lay_in_ballast(order: dict[str, Any]) -> None:
    """Take the block that the exit record will need while there is one: its temporary file, with the order in it."""
    with open(f"{spool.EXIT}.tmp", "wb", opener=lambda path, flags: os.open(path, flags | os.O_CLOEXEC, 0o600)) as file:
        file.write(json.dumps(order).encode())


def _write_exit(record: dict[str, Any]) -> bool:
    """Write the last word; return whether it stands. Its durability is waited for when nobody waits any more."""
    try:
        spool.write_json(spool.EXIT, record)
    except OSError:
        return False
    return True


def _sync(name: str) -> None:
    for path, flags in ((name, os.O_RDONLY), (".", os.O_RDONLY | os.O_DIRECTORY)):
        try:
            fd = os.open(path, flags | os.O_CLOEXEC)
            os.fsync(fd)
            os.close(fd)
        except OSError:
            continue
