"""One attempt from its order to its exit record, inside the shim.

Knows the job's pipes, its frames, who reads along and who asks it to stop. Must not know IPython or the queue.
"""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

from jupysched import spool
from jupysched.runner import tree
from jupysched.runner.control import Control
from jupysched.runner.notify import tell
from jupysched.runner.packets import Joiner, Message
from jupysched.runner.recorder import Recorder
from jupysched.runner.stopping import Stopping
from jupysched.spool import Kind

_READ_BYTES = 1 << 18
#: Output that follows output so soon is gathered first: frames of many lines, not a frame a line.
_GATHER_S = 0.002
#: How long readers that do not read may hold the shim after the exit record is written; the file is all theirs.
_LINGER_S = 5.0
#: How long the exit record is tried again on a full disk.
_DISK_PATIENCE_S = 60.0


class Attempt:
    """Everything the shim holds of the attempt it watches over."""

    def __init__(
        self, order: dict[str, Any], job_pid: int, pidfd: int, orders: int, pipes: tuple[int, int], nonce: bytes
    ) -> None:
        """Make ready in the current directory, then give the job its order: what may fail, fails before that.

        Raises: OSError; then nothing was started.
        """
        self.order = order
        self.pidfd = pidfd
        self.out, self.err = pipes
        self.open = set(pipes)
        self.joiner = Joiner(nonce)
        self.held = {Kind.STDOUT: b"", Kind.STDERR: b""}
        self.recorder = Recorder(spool.FRAMES)
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
        spool.write_json(spool.START, order)
        self._give_order(orders)
        self._tell("running", {"pid": os.getpid(), "job_pid": job_pid, "at": self.started_at})

    def _give_order(self, orders: int) -> None:
        try:
            os.write(orders, json.dumps(self.order).encode() + b"\n")
        except BrokenPipeError:
            return  # the job is dead already: how it died is read from its pidfd

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
        if self.out in ready or self.err in ready:
            self._read_output()
            self.gathered_at = time.monotonic()
        for fd in ready:
            if fd not in (self.out, self.err, self.pidfd):
                self._serve(fd, ready[fd])
        self.stopping.act_if_due()
        self._push()
        return self.pidfd not in ready

    def _wait(self) -> dict[int, int]:
        limit = self.stopping.seconds_left()
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

    # --- output ----------------------------------------------------------------------------------------------------

    def _read_output(self) -> bool:
        """Record what the pipes hold now; return whether there was anything."""
        # stderr first: what was written there before the next printed line is older than it.
        errors, text = self._take(self.err), self._take(self.out)
        if errors:
            self._record_text(Kind.STDERR, errors)
        for part in self.joiner.feed(text):
            if isinstance(part, Message):
                self._release(Kind.STDOUT)
                self.recorder.record(part.kind, part.payload)
            else:
                self._record_text(Kind.STDOUT, part)
        return bool(errors or text)

    def _take(self, pipe: int) -> bytes:
        """Return what is in the pipe now; one without a writer is looked at no more."""
        if pipe not in self.open:
            return b""
        try:
            if data := os.read(pipe, _READ_BYTES):
                return data
        except BlockingIOError:
            return b""
        self.open.discard(pipe)
        self.all.unregister(pipe)
        return b""

    def _record_text(self, kind: Kind, data: bytes) -> None:
        data = self.held[kind] + data if self.held[kind] else data
        cut = spool.cut_utf8(data)
        self.held[kind] = data[len(data) - cut :] if cut else b""
        self.recorder.record(kind, data[: len(data) - cut] if cut else data)

    def _release(self, kind: Kind) -> None:
        """Record half a character that stays half."""
        rest, self.held[kind] = self.held[kind], b""
        self.recorder.record(kind, rest)

    def _drain(self) -> None:
        """Record what is in the pipes now. Never waits for their end: forked children may hold them for hours."""
        while self._read_output():
            pass

    # --- the end ---------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        _, status, usage = os.wait4(self.job_pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._drain()
        swept = tree.sweep(os.getpid())
        self._drain()
        self._record_text(Kind.STDOUT, self.joiner.flush())
        for kind in (Kind.STDOUT, Kind.STDERR):
            self._release(kind)
        if code < 0 or swept:
            tree.unlink_shared_memory(swept | {self.job_pid}, self.started_at)
        end = spool.read_json(spool.END)
        record = {
            "code": code if code >= 0 else None, "signal": -code if code < 0 else None,
            "stopped": self.stopping.asked, "started_at": self.started_at, "ended_at": self.recorder.now(),
            "frames": self.recorder.size, "end": end, "max_rss_bytes": usage.ru_maxrss * 1024, "cpu_s": round(usage.ru_utime + usage.ru_stime, 6),
            "swept": len(swept), "notes": self._notes(),
        }  # fmt: skip
        self._write_exit(record)
        self._tell("ended", {"at": record["ended_at"], **record})
        self.control.close()
        self._linger()
        _sync(spool.EXIT)

    def _notes(self) -> list[str]:
        notes = self.recorder.notes()
        if self.joiner.torn:
            notes.append(f"{self.joiner.torn} displays were cut short by the death of their process.")
        return notes

    def _write_exit(self, record: dict[str, Any]) -> None:
        """Write the last word. Its durability is waited for later, when nobody waits for it any more."""
        deadline = time.monotonic() + _DISK_PATIENCE_S
        while True:
            try:
                spool.write_json(spool.EXIT, record)
            except OSError:
                # A full disk. start.json has said what it had to say: its block is the ballast for this moment.
                _unlink(spool.START)
                if time.monotonic() > deadline:
                    return
                time.sleep(0.2)
            else:
                return

    def _linger(self) -> None:
        """Serve readers to the last byte, but do not wait for ever for one that sleeps."""
        deadline = time.monotonic() + _LINGER_S
        while True:
            gone = self.recorder.push()
            served = [reader for reader in self.recorder.readers.values() if not reader.waits]
            for reader in {*gone, *served}:
                self.control.drop(reader.connection.fileno())
            waiting = list(self.recorder.readers)
            left = deadline - time.monotonic()
            if not waiting or left <= 0:
                break
            select.select([], waiting, [], left)
        self.control.drop_all()


def _unlink(name: str) -> None:
    try:
        os.unlink(name)
    except OSError:
        return


def _sync(name: str) -> None:
    for path, flags in ((name, os.O_RDONLY), (".", os.O_RDONLY | os.O_DIRECTORY)):
        try:
            fd = os.open(path, flags | os.O_CLOEXEC)
            os.fsync(fd)
            os.close(fd)
        except OSError:
            continue
