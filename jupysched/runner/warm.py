"""The launcher's zygotes: which exist, which is best for a job, which must go.

Knows interpreters, environments that matter for imports, preloads, and pairs that wait. Must not know connections or
orders. A job waits for a zygote only where none fits at all; a better one is started beside it for the next.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from jupysched.runner import environment
from jupysched.runner.safe import SAFE_PRELOADS

#: Zygotes kept; the one longest unused makes room.
MOST_ZYGOTES = 3
#: Seconds after which an unused zygote ends.
IDLE_S = 20 * 60.0
_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
#: The user's own jupysched is used where there is one; else ours, and nothing but that package from our side.
_BOOT = """\
import sys
sys.path[:] = [p for p in sys.path if p]
class _Ours:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "jupysched": return None
        from importlib.util import spec_from_file_location
        folder = {package!r} + "/jupysched"
        return spec_from_file_location(name, folder + "/__init__.py", submodule_search_locations=[folder])
sys.meta_path.append(_Ours)
from jupysched.runner.zygote import main
main()
"""


class Want(NamedTuple):
    """What a job wants of its zygote."""

    #: user, interpreter and prefix: must be equal
    who: tuple[int | None, str, str | None]
    #: modules it would like to find imported
    preload: frozenset[str]
    env: dict[str, str]

    @classmethod
    def of(cls, launch: dict[str, Any], uid: int | None = None) -> Want:
        who = (uid, launch["executable"], launch.get("prefix"))
        preload = frozenset(launch.get("preload") or ()) & frozenset(SAFE_PRELOADS)
        return cls(who, preload, environment.job_environment(launch, {}))

    @property
    def executable(self) -> str:
        return self.who[1]

    @property
    def uid(self) -> int | None:
        return self.who[0]

    def light(self) -> Want:
        """Return the same without preloads."""
        return self._replace(preload=frozenset())

    def may_use(self, made: Want) -> bool:
        """Tell whether a zygote made for `made` can serve this: same user, same interpreter, and an environment that
        agrees on all that acted when it started and imported."""
        return self.who == made.who and environment.import_key(self.env, made.preload) == environment.import_key(
            made.env, made.preload
        )


class Zygote:
    """One zygote process and the pairs it has forked ahead."""

    def __init__(self, want: Want, log: str) -> None:
        """Start it. Raises OSError where the interpreter cannot be run."""
        self.want = want
        self.ready = False
        self.error: str | None = None
        self.used_at = time.monotonic()
        self.pairs: list[socket.socket] = []
        self.asked = 0
        #: when the next pair is to be asked for
        self.refill_at: float | None = None
        self._text = b""
        self.socket, theirs = socket.socketpair()
        descriptor = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC, 0o600)
        argv = [
            want.executable,
            "-c",
            _BOOT.format(package=_PACKAGE),
            str(theirs.fileno()),
            ",".join(sorted(want.preload)),
        ]
        try:
            self.process = subprocess.Popen(
                argv, env=want.env, cwd="/", stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor,
                pass_fds=[theirs.fileno()], **_as_user(want.uid),
            )  # fmt: skip
        except BaseException:
            self.socket.close()
            raise
        finally:
            os.close(descriptor)
            theirs.close()
        self.socket.setblocking(False)

    def ask(self) -> None:
        """Ask for one more pair."""
        self.asked += 1
        self.socket.send(b"+")

    def hear(self) -> bool:
        """Take in what it says and the pairs it gives; return False when it is gone."""
        try:
            data, descriptors, _, _ = socket.recv_fds(self.socket, 1 << 16, 16)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for descriptor in descriptors:
            self.asked -= 1
            self.pairs.append(socket.socket(fileno=descriptor))
        if not data:
            return False
        if not self.ready:
            self._text += data
            if self._text.endswith(b"\n"):
                said = json.loads(self._text)
                self.ready, self.error = bool(said["ready"]), said.get("error")
        return True

    def end(self) -> None:
        """Let it go: it ends when its socket closes, and so do the pairs that nobody used."""
        for pair in self.pairs:
            pair.close()
        self.pairs.clear()
        self.socket.close()


def _as_user(uid: int | None) -> dict[str, Any]:
    """Return how Popen becomes the user; only root can, and only root is asked to."""
    if uid is None or uid == os.geteuid():
        return {}
    import pwd

    user = pwd.getpwuid(uid)
    return {"user": uid, "group": user.pw_gid, "extra_groups": os.getgrouplist(user.pw_name, user.pw_gid)}


class Zygotes:
    """All zygotes of a launcher."""

    def __init__(self, log: str) -> None:
        self._log = log
        self.all: list[Zygote] = []

    def start(self, want: Want) -> Zygote:
        """Start one more, making room if there are too many. Raises OSError."""
        if len(self.all) >= MOST_ZYGOTES:
            idle = [z for z in self.all if z.ready and not want.may_use(z.want)] or [z for z in self.all if z.ready]
            if idle:
                self.drop(min(idle, key=lambda z: z.used_at))
        zygote = Zygote(want, self._log)
        self.all.append(zygote)
        return zygote

    def best(self, want: Want) -> Zygote | None:
        """Return the ready zygote with the smallest superset of what is wanted, else the ready one with most of it."""
        fitting = [z for z in self.all if z.ready and want.may_use(z.want)]
        if not fitting:
            return None
        return min(fitting, key=lambda z: (len(want.preload - z.want.preload), len(z.want.preload)))

    def is_coming(self, want: Want) -> bool:
        """Tell whether a zygote that serves this in full exists or is being started."""
        return any(want.preload <= z.want.preload and want.may_use(z.want) for z in self.all)

    def is_any_coming(self, want: Want) -> bool:
        return any(want.may_use(z.want) for z in self.all)

    def drop(self, zygote: Zygote) -> None:
        zygote.end()
        if zygote in self.all:
            self.all.remove(zygote)

    def idle(self, now: float) -> Iterable[Zygote]:
        """Return those that nobody has used for long."""
        return [z for z in self.all if now - z.used_at > IDLE_S]

    def reap(self, gone: Zygote) -> int | None:
        """Return the exit code of one whose socket closed."""
        try:
            return gone.process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            gone.process.send_signal(signal.SIGKILL)
            return gone.process.wait()


def why_not_run(want: Want, error: OSError) -> str:
    """Return a sentence for an interpreter that cannot be started."""
    import pwd

    uid = os.geteuid() if want.uid is None else want.uid
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return f"cannot run {want.executable} as {user}: {error.strerror or error}"
