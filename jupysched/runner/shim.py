"""The small supervisor of one attempt: starts the job, writes down all it says, ends all it leaves, and says how it ended.

Knows the attempt's directory, the job's process and its pipes. Must not know the daemon, the queue or what a cell is.
It is forked ahead together with its job, both waiting for an order; from then on it needs nobody: launcher, zygote,
agent and daemon may all die. Its own death takes the job along (PDEATHSIG), so no job ever runs unwatched.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from jupysched import spool
from jupysched.runner import packets
from jupysched.runner.attempt import PIPE_BYTES, Attempt, write_order

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_F_SETPIPE_SZ = 1031


class Ends(NamedTuple):
    """What the job's process holds of the pipes between it and its shim."""

    orders: int
    stdout: int
    stderr: int
    nonce: bytes


#: What runs in the job's process; never returns.
RunJob = Callable[[Ends], NoReturn]


class Waiting(NamedTuple):
    """A job's process that waits for its order, seen from the shim."""

    pid: int
    start: int
    orders: int
    stdout: int
    stderr: int
    nonce: bytes


# Loaded before any fork: a shim imports nothing.
_libc = ctypes.CDLL(None, use_errno=True)


def stand_by(launcher: socket.socket, run_job: RunJob) -> NoReturn:
    """Be the shim of one attempt to come: fork its job ahead, wait for the order, see it through, exit."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    os.chdir("/")
    job = _fork_job(launcher, run_job)
    boot = spool.boot_id()
    code = 1
    try:
        attempt = _wait_for_order(launcher, job, _identity(job, boot))
        if attempt is not None:
            attempt.run()
            code = 0
    except BaseException:  # this program is wrong: said in the zygote's log; the job ends with its supervisor
        import traceback

        traceback.print_exc()
    finally:
        os._exit(code)


def _fork_job(launcher: socket.socket, run_job: RunJob) -> Waiting:
    orders, give_orders = os.pipe()
    out, give_out = os.pipe()
    err, give_err = os.pipe()
    for pipe in (out, err):
        fcntl.fcntl(pipe, _F_SETPIPE_SZ, PIPE_BYTES)
    nonce = packets.new_nonce()
    shim = os.getpid()
    pid = os.fork()
    if pid == 0:
        launcher.close()
        for end in (give_orders, out, err):
            os.close(end)
        os.setsid()
        _libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != shim:
            os._exit(1)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        # As in any Python: a broken pipe is an exception and a too large file an error, not a silent death.
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        run_job(Ends(orders, give_out, give_err, nonce))
    for end in (orders, give_out, give_err):
        os.close(end)
    for end in (out, err):
        os.set_blocking(end, False)
    return Waiting(pid, spool.process_start(pid) or 0, give_orders, out, err, nonce)


def _identity(job: Waiting, boot: str) -> dict[str, Any]:
    """Return what shim.json will say; found out while there is time."""
    return {
        "pid": os.getpid(), "start": spool.process_start(os.getpid()), "boot": boot,
        "job_pid": job.pid, "job_start": job.start,
        "pipes": [os.readlink(f"/proc/self/fd/{end}") for end in (job.stdout, job.stderr)],
    }  # fmt: skip


def _wait_for_order(launcher: socket.socket, job: Waiting, identity: dict[str, Any]) -> Attempt | None:
    """Return the attempt that was ordered, its job under way; None when nobody will order any more."""
    pidfd = os.pidfd_open(job.pid)
    poll = select.poll()
    poll.register(launcher, select.POLLIN)
    poll.register(pidfd, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if pidfd in ready:
            return None
        line = launcher.recv(1 << 16)
        if not line:
            return None
        order: dict[str, Any] = json.loads(line)
        answer, attempt = _begin(order, job, pidfd, identity)
        launcher.sendall(json.dumps(answer).encode() + b"\n")
        if attempt is not None:
            return attempt


def _begin(
    order: dict[str, Any], job: Waiting, pidfd: int, identity: dict[str, Any]
) -> tuple[dict[str, Any], Attempt | None]:
    """Start the attempt unless it was started before; return what to answer, and the attempt if it is ours now.

    Writes: the attempt's directory, made exclusively: whoever makes it is the one that runs it, once and for ever.
    """
    path = spool.attempt_path(order["directory"], order["attempt"])
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return {"ok": True, "answer": spool.attempt_answer(path)}, None
    except OSError as error:
        return {"ok": False, "error": f"cannot make {path}: {error.strerror}"}, None
    try:
        # The job gets ready while the shim does: its surroundings, its variables. It begins the cell when the shim says so.
        write_order(job.orders, order)
        os.chdir(path)
        spool.write_json(spool.SHIM, identity)
        attempt = Attempt(order, job.pid, pidfd, job.orders, (job.stdout, job.stderr), job.nonce)
    except OSError as error:
        os.chdir("/")
        _undo(path)
        return {"ok": False, "error": f"cannot write in {path}: {error.strerror}"}, None
    return {"ok": True, "answer": "started", "pid": os.getpid(), "job_pid": job.pid}, attempt


def _undo(path: str) -> None:
    """Take back a directory in which nothing ran; an attempt that never began may begin later."""
    try:
        for name in os.listdir(path):
            os.unlink(os.path.join(path, name))
        os.rmdir(path)
    except OSError:
        time.sleep(0)  # what stays is answered as lost: never run twice
