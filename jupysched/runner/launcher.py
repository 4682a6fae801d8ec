"""The node's process: takes start orders on a socket and hands each to a pair that waits.

Knows connections, zygotes and the directories of attempts. Must not know the daemon: it outlives it, and a fresh one
connects again. Runs as `python -m jupysched.runner.launcher --run-dir DIR`; a second one in the same folder leaves.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import selectors
import signal
import socket
import sys
import time
from typing import Any

from jupysched import spool
from jupysched.runner import environment, tree
from jupysched.runner.door import Door, Reply
from jupysched.runner.warm import Want, Zygote, Zygotes, why_not_run

SOCKET = "launcher.sock"
#: Seconds without connections and jobs after which the launcher ends by itself.
LONELY_S = 600.0
#: Seconds after an order until the next pair is forked: not while the job that just began is on its way to its first output.
_REFILL_S = 0.03
_TICK_S = 60.0
#: How long an order that finds a directory without a shim.json waits for the one who made it.
_SETTLE_S = 0.5


class Order:
    """A start order on its way."""

    __slots__ = ("reply", "request", "tries", "want")

    def __init__(self, request: dict[str, Any], reply: Reply, want: Want) -> None:
        self.request = request
        self.reply = reply
        self.want = want
        #: pairs that died under it
        self.tries = 0


class Launcher:
    """The loop and all it waits for."""

    def __init__(self, run_dir: str) -> None:
        self.run_dir = run_dir
        self.selector = selectors.DefaultSelector()
        self.zygotes = Zygotes(os.path.join(run_dir, "zygote.log"))
        self.waiting: list[Order] = []
        #: shims that run: their socket closes when they end
        self.shims: dict[socket.socket, dict[str, Any]] = {}
        operations = {"start": self._start, "warm": self._warm, "ping": self._ping, "quit": self._quit}
        self.door = Door(os.path.join(run_dir, SOCKET), self.selector, operations)
        self.lonely_since = time.monotonic()
        self.ending = False

    def heed_sigterm(self) -> None:
        """End on SIGTERM by the way that `quit` takes. An exception from the handler would be lost in a finalizer."""
        reading, writing = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(writing)
        self.selector.register(reading, selectors.EVENT_READ, lambda mask: os.read(reading, 64))
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "ending", True))

    def run(self) -> None:
        """Serve until told to quit, or until nobody needs it any more."""
        try:
            while not self.ending:
                for key, mask in self.selector.select(timeout=self._refill()):
                    key.data(mask)
                self._rest()
        finally:
            self._close()

    def _refill(self) -> float:
        """Ask for the pairs that are due; return seconds until there is something to do again."""
        now, wait = time.monotonic(), _TICK_S
        for zygote in self.zygotes.all:
            if zygote.refill_at is not None:
                if zygote.asked or zygote.pairs:
                    zygote.refill_at = None
                elif now >= zygote.refill_at:
                    zygote.ask()
                    zygote.refill_at = None
                else:
                    wait = min(wait, zygote.refill_at - now)
        return wait

    def _rest(self) -> None:
        now = time.monotonic()
        for zygote in self.zygotes.idle(now):
            self._drop(zygote)
        if self.door.clients or self.shims:
            self.lonely_since = now
        elif now - self.lonely_since > LONELY_S:
            self.ending = True

    def _close(self) -> None:
        self.door.close()
        for zygote in list(self.zygotes.all):
            self._drop(zygote)
            self.zygotes.reap(zygote)

    # --- requests --------------------------------------------------------------------------------------------------

    def _ping(self, request: dict[str, Any], reply: Reply) -> None:
        zygotes = [
            {"pid": z.process.pid, "ready": z.ready, "preload": sorted(z.want.preload), "executable": z.want.executable,
             "waiting": len(z.pairs)}
            for z in self.zygotes.all
        ]  # fmt: skip
        reply({"ok": True, "pid": os.getpid(), "zygotes": zygotes, "running": list(self.shims.values())})

    def _quit(self, request: dict[str, Any], reply: Reply) -> None:
        self.ending = True
        reply({"ok": True})

    def _warm(self, request: dict[str, Any], reply: Reply) -> None:
        want = Want.of(request["launch"], request.get("uid"))
        if not self.zygotes.is_coming(want):
            self._raise(want)
        reply({"ok": True})

    def _start(self, request: dict[str, Any], reply: Reply) -> None:
        path = spool.attempt_path(request["directory"], request["attempt"])
        if (answer := self._settled(path)) is not None:
            reply({"ok": True, "answer": answer})
            return
        file = os.path.join(request["directory"], spool.LAUNCH)
        launch = spool.read_json(file)
        if launch is None or not _may_say(file, request.get("uid")):
            reply({"ok": False, "error": f"{request['directory']} holds no readable {spool.LAUNCH}"})
            return
        order = Order(request, reply, Want.of(launch, request.get("uid")))
        self._dispatch(order)

    def _settled(self, path: str) -> str | None:
        """Return what an order for an attempt that was started before is told; what a lost one left is swept first."""
        answer = spool.attempt_answer(path)
        deadline = time.monotonic() + _SETTLE_S
        while answer == "lost" and not os.path.exists(os.path.join(path, spool.SHIM)) and time.monotonic() < deadline:
            time.sleep(0.01)
            answer = spool.attempt_answer(path)
        if answer == "lost":
            sweep_after(path)
        return answer

    # --- from order to pair ----------------------------------------------------------------------------------------

    def _dispatch(self, order: Order) -> None:
        """Hand the order to a pair that waits, or let it wait for one."""
        zygote = self.zygotes.best(order.want)
        if zygote is None:
            self.waiting.append(order)
            if not self.zygotes.is_any_coming(order.want):
                self._raise(order.want.light(), order)
            return
        zygote.used_at = time.monotonic()
        if not zygote.pairs:
            self.waiting.append(order)
            if zygote.asked < len(self.waiting):
                zygote.ask()
            return
        self._hand(zygote.pairs.pop(0), order)
        zygote.refill_at = time.monotonic() + _REFILL_S
        if not self.zygotes.is_coming(order.want):
            self._raise(order.want)

    def _raise(self, want: Want, order: Order | None = None) -> None:
        """Start a zygote; answer the order that needs it where that is impossible."""
        try:
            before = list(self.zygotes.all)
            zygote = self.zygotes.start(want)
            for old in before:
                if old not in self.zygotes.all:
                    self._forget(old)
        except OSError as error:
            if order is not None:
                self._refuse(want, why_not_run(want, error))
            return
        self.selector.register(zygote.socket, selectors.EVENT_READ, lambda mask: self._hear(zygote))

    def _refuse(self, want: Want, sentence: str) -> None:
        for order in [order for order in self.waiting if order.want.may_use(want)]:
            self.waiting.remove(order)
            order.reply({"ok": False, "error": sentence})

    def _hear(self, zygote: Zygote) -> None:
        was_ready = zygote.ready
        alive = zygote.hear()
        if zygote.ready and not was_ready:
            zygote.ask()
        if not alive or zygote.error:
            self._drop(zygote)
            code = self.zygotes.reap(zygote)
            if not zygote.ready:
                reason = (
                    zygote.error or f"it ended with code {code} before it was ready (see {self.run_dir}/zygote.log)"
                )
                self._refuse(zygote.want, f"cannot run jobs with {zygote.want.executable}: {reason}")
        self._wake()

    def _wake(self) -> None:
        waiting, self.waiting = self.waiting, []
        for order in waiting:
            self._dispatch(order)

    def _drop(self, zygote: Zygote) -> None:
        self._forget(zygote)
        self.zygotes.drop(zygote)

    def _forget(self, zygote: Zygote) -> None:
        try:
            self.selector.unregister(zygote.socket)
        except (KeyError, ValueError):
            return

    def _hand(self, pair: socket.socket, order: Order) -> None:
        """Give the order to the pair; its answer comes in `_answered`."""
        request = {key: value for key, value in order.request.items() if key not in ("op", "id", "uid")}
        try:
            pair.sendall(json.dumps(request).encode())
        except OSError:
            self._retry(pair, order)
            return
        self.selector.register(pair, selectors.EVENT_READ, lambda mask: self._answered(pair, order))

    def _answered(self, pair: socket.socket, order: Order) -> None:
        self.selector.unregister(pair)
        try:
            line = pair.recv(1 << 16)
        except OSError:
            line = b""
        if not line:
            self._retry(pair, order)
            return
        answer = json.loads(line)
        if answer.get("answer") == "started":
            path = spool.attempt_path(order.request["directory"], order.request["attempt"])
            self.shims[pair] = {"job": order.request.get("job"), "attempt": order.request["attempt"], "path": path,
                                "pid": answer["pid"]}  # fmt: skip
            self.selector.register(pair, selectors.EVENT_READ, lambda mask: self._ended(pair))
        else:
            pair.close()
        order.reply(answer)

    def _retry(self, pair: socket.socket, order: Order) -> None:
        """A pair died under its order: what its directory says is true; if it says nothing, another pair may run it."""
        pair.close()
        path = spool.attempt_path(order.request["directory"], order.request["attempt"])
        answer = self._settled(path)
        order.tries += 1
        if answer is not None:
            order.reply({"ok": True, "answer": answer})
        elif order.tries > 3:
            order.reply({"ok": False, "error": f"the shim ended before it started (see {self.run_dir}/zygote.log)"})
        else:
            self._dispatch(order)

    def _ended(self, pair: socket.socket) -> None:
        self.selector.unregister(pair)
        pair.close()
        path = self.shims.pop(pair)["path"]
        if spool.attempt_answer(path) == "lost":
            sweep_after(path)


def _may_say(file: str, uid: int | None) -> bool:
    """Tell whether the file is that user's own word; a launcher that is root believes nobody else about them."""
    return uid is None or os.lstat(file).st_uid == uid


def sweep_after(path: str) -> set[int]:
    """End what the job of a lost shim left behind; return who was there. Ends only what belongs to the file's owner."""
    file = os.path.join(path, spool.SHIM)
    shim = spool.read_json(file)
    if shim is None or shim["boot"] != spool.boot_id():
        return set()
    left = tree.Left(path, int(shim["job_pid"]), frozenset(shim["pipes"]), os.stat(file).st_uid)
    return tree.sweep_lost(left)


def main(arguments: list[str] | None = None) -> int:
    """Serve in the given folder; return 0 also when another launcher serves there already."""
    parser = argparse.ArgumentParser(prog="jupysched.runner.launcher")
    parser.add_argument("--run-dir", required=True)
    run_dir = os.path.abspath(parser.parse_args(arguments).run_dir)
    environment.close_inherited()
    os.makedirs(run_dir, mode=0o700, exist_ok=True)
    lock = os.open(os.path.join(run_dir, "launcher.lock"), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return 0
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    environment.free_affinity()
    os.chdir("/")
    launcher = Launcher(run_dir)
    launcher.heed_sigterm()
    launcher.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
