"""Where things are: the home, the daemon's socket, the object store; and how a personal daemon is started, once."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
import uuid
from pathlib import Path

from jupysched import variables
from jupysched.core.errors import ClusterError, DaemonMissing
from jupysched.transport import Connection
from jupysched.wire import messages as msg
from jupysched.wire import requests as ask

#: where an admin's shared daemon listens
SHARED_SOCKET = Path("/run/jupysched/api.sock")
#: where those whose home directory cannot be written have their home
FALLBACK = Path("/var/tmp")


def home() -> Path:
    """JUPYSCHED_HOME, else the XDG state directory; made 0700 when missing. Without a usable HOME: a temporary directory
    of this user. Raises BadRequest, ClusterError, DaemonMissing."""
    chosen = variables.absolute_path("JUPYSCHED_HOME")
    path = chosen or _state() / "jupysched"
    try:
        _make(path)
    except OSError as error:
        if chosen:
            raise ClusterError(
                f"JUPYSCHED_HOME is {chosen}, and that directory cannot be made or written: {error.strerror}.",
                hint="Set it to a directory of yours.",
            ) from None
        path = FALLBACK / f"jupysched-{os.getuid()}"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.lstat().st_uid != os.getuid():
            raise DaemonMissing(
                f"{path} belongs to another user, and the home directory cannot be written.",
                hint="Set JUPYSCHED_HOME to a directory of yours.",
            ) from None
    _refuse_others(path)
    return path


def _refuse_others(path: Path) -> None:
    """Who may change names in the home can be the daemon to its user, and choose what their notebooks unpickle.
    Raises ClusterError."""
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & stat.S_IWOTH:
        raise ClusterError(
            f"{path} is where jupysched would keep your jobs, and other users of this machine may change what lies there.",
            hint="Set JUPYSCHED_HOME to a directory that only you may write to.",
        )


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _state() -> Path:
    """The XDG state directory. A relative one is passed over, as that specification wants it."""
    said = Path(os.environ.get("XDG_STATE_HOME", ""))
    return said if said.is_absolute() else Path.home() / ".local" / "state"


def _make(path: Path) -> None:
    """Raises OSError if it cannot be made, or is there and cannot be written."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def socket_path() -> Path:
    """JUPYSCHED_SOCKET, else the shared daemon's where there is one, else the personal one's. Raises as `home`."""
    if chosen := variables.absolute_path("JUPYSCHED_SOCKET"):
        return chosen
    if "JUPYSCHED_HOME" not in os.environ and SHARED_SOCKET.exists():
        return SHARED_SOCKET
    return home() / "api.sock"


def objects() -> Path:
    """The object store of this user."""
    path = home() / "objects"
    path.mkdir(mode=0o700, exist_ok=True)
    return path


def new_job_directory() -> Path:
    """A fresh directory for one job's files, 0700."""
    jobs = home() / "jobs"
    jobs.mkdir(mode=0o700, exist_ok=True)
    path = jobs / uuid.uuid4().hex
    path.mkdir(mode=0o700)
    return path


def ensure_daemon(path: Path) -> None:
    """Make sure that a daemon answers at `path`; a personal one is started, once, however many ask at the same time.

    Raises DaemonMissing with the end of its log if it does not come up, or if `path` is somebody else's to start."""
    if path != home() / "api.sock":
        if _answers(path):
            return
        raise DaemonMissing(
            f"No daemon listens at {path}.",
            hint="It is started by an admin: `jupysched serve`. Ask them, or unset JUPYSCHED_SOCKET.",
        )
    with open(home() / "start.lock", "w", encoding="utf-8", opener=_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _answers(path):
            _start_daemon(path)


def _answers(path: Path) -> bool:
    """Is a daemon there? One that is dying may still be connected to, and says nothing; one that is busy is there."""
    connection = None
    try:
        connection = Connection(path, timeout_s=5)
        connection.send(msg.encode(msg.Call(number=0, ask=ask.Hello())))
        connection.receive()
    except TimeoutError:
        return connection is not None
    except OSError:
        return False
    finally:
        if connection is not None:
            connection.close()
    return True


def _start_daemon(path: Path) -> None:
    """Writes: daemon.log. The daemon closes its end of the pipe after a word when it listens."""
    log_path = path.with_name("daemon.log")
    read_end, write_end = os.pipe()
    with open(log_path, "ab", opener=_private) as log:
        subprocess.Popen(
            [sys.executable, "-m", "jupysched.daemon", "--ready-fd", str(write_end)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[write_end],
            cwd="/",
            env={**os.environ, "JUPYSCHED_HOME": str(path.parent), "PYTHONPATH": _python_path()},
        )
    os.close(write_end)
    with os.fdopen(read_end, "rb") as ready:
        word = ready.read(5)
    if word != b"ready":
        tail = log_path.read_bytes()[-2000:].decode("utf-8", "replace").strip().splitlines()
        raise DaemonMissing(
            f"The personal daemon did not start: {tail[-1].rstrip('.') if tail else 'it wrote nothing'}.",
            hint=f"Its log is {log_path}.",
        )


def _python_path() -> str:
    """So that a kernel that found jupysched on its own sys.path gets a daemon that finds it too."""
    root = str(Path(__file__).resolve().parent.parent)
    known = os.environ.get("PYTHONPATH", "")
    return f"{root}{os.pathsep}{known}" if known else root
