"""Starts and stops attempts on this node and says what became of them. Knows the launcher, attempts' directories and shims.

Must not know queues, priorities or Dask: the daemon holds one on CPU slots, each Dask worker holds one on GPUs. It may be
stopped at any moment: attempts go on, and whoever follows adopts them from their directories.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from typing import Any

from jupysched import spool
from jupysched.adapters.agent_attempt import Key, Live, environment
from jupysched.adapters.agent_endings import Endings
from jupysched.adapters.exit_words import exit_from
from jupysched.adapters.launcher_client import Answer, LauncherClient
from jupysched.adapters.notices import Notices
from jupysched.core.job import Exit
from jupysched.ports import Grace, Heard, OnHeard, StartOrder

#: a shim's word may be lost, a directory may not: every live attempt is looked at this often
LOOK_EVERY_S = 5.0
#: an attempt that looks lost is looked at once more after so long: a shim makes its directory before it writes who it is
LOST_LOOK_S = 0.25
#: an order is repeated this often while the shim does not listen yet
STOP_RETRY_S = 0.02
LOST = "Its supervisor ended without a word, so nobody knows how far it came; it is not run again on a guess."


class Agent:
    """Looks after the attempts of one process: the daemon's, or one Dask worker's."""

    def __init__(
        self,
        run_dir: str,
        *,
        name: str,
        heard: OnHeard,
        launcher: LauncherClient | None = None,
        clock: Callable[[], float] = time.time,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        self._heard = heard
        self._clock = clock
        self._launcher = launcher or LauncherClient(run_dir)
        self._endings = Endings()
        self._notices = Notices(run_dir, f"agent-{name}.sock", self._noticed)
        self._look_every_s = look_every_s
        self._live: dict[Key, Live] = {}
        self._timers: set[asyncio.TimerHandle] = set()
        self._looking: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Listen to shims and have the launcher ready."""
        self._notices.open()
        self._looking = asyncio.get_running_loop().call_later(self._look_every_s, self._look_at_all)
        await self._launcher.start()

    async def close(self) -> None:
        """Let go; attempts go on."""
        for timer in (*self._timers, *([self._looking] if self._looking else ())):
            timer.cancel()
        self._timers.clear()
        self._looking = None
        self._endings.close()
        self._live.clear()
        self._notices.close()
        await self._launcher.close()

    def shims(self) -> frozenset[int]:
        """The pids of the shims of the live attempts; every process of a job descends from one of them."""
        return frozenset(live.shim for live in self._live.values() if live.shim is not None)

    def shim_of(self, job: int, attempt: int) -> int | None:
        """The pid of an attempt's shim, if it is known."""
        live = self._live.get((job, attempt))
        return None if live is None else live.shim

    # --- orders --------------------------------------------------------------------------------------------------------

    def order_start(self, order: StartOrder) -> None:
        """Start an attempt, or say again where it stands."""
        live = self._live.get((order.job, order.attempt))
        if live is None:
            self._send_start(self._follow(order))
        elif live.is_told:
            self._tell(live, "running")

    def adopt(self, order: StartOrder) -> None:
        """Look after an attempt that another agent started. One whose directory was never made is started now: the order was
        journalled and did not arrive."""
        live = self._live.get((order.job, order.attempt))
        if live is not None:
            self.order_start(order)
            return
        live = self._follow(order)
        if spool.attempt_answer(live.path) is None:
            self._send_start(live)
        else:
            self._look(live)

    def order_stop(self, order: StartOrder, *, grace_s: Grace, nth: int) -> None:
        """Pass a stop order on to the attempt's shim; one that was never started never will be."""
        live = self._live.get((order.job, order.attempt))
        if live is None:
            live = self._follow(order)
            if self._fenced(live):
                self._end(live, "refused", sentence="It was stopped before it started.")
                return
            self._look(live)
            if (order.job, order.attempt) not in self._live:
                return
        self._pass_on(live, {"op": "stop", "grace_s": list(grace_s), "nth": nth})

    def order_freeze(self, order: StartOrder) -> None:
        """Have its shim freeze every process of the attempt."""
        self._pass_on(self._live.get((order.job, order.attempt)) or self._follow(order), {"op": "freeze"})

    def order_thaw(self, order: StartOrder) -> None:
        """Have its shim thaw them."""
        self._pass_on(self._live.get((order.job, order.attempt)) or self._follow(order), {"op": "thaw"})

    def _follow(self, order: StartOrder) -> Live:
        live = Live(order=order, path=spool.attempt_path(order.directory, order.attempt))
        self._live[live.key] = live
        return live

    def _send_start(self, live: Live) -> None:
        order = live.order
        live.is_ordered = True
        message = {
            "op": "start",
            "directory": order.directory,
            "attempt": order.attempt,
            "job": order.job,
            "uid": order.uid,
            "env": environment(order),
            "notify": self._notices.path,
        }
        self._launcher.request(message, lambda answer: self._answered(live, answer))

    def _answered(self, live: Live, answer: Answer) -> None:
        live.is_ordered = False
        if self._live.get(live.key) is not live:
            return
        if answer.get("ok"):
            if answer.get("answer") == "started":
                self._runs(live, shim=answer.get("pid"))
            elif answer.get("answer") == "lost":
                self._end(live, "lost", sentence=LOST)
            else:
                self._look(live)
        elif answer.get("unreachable") and not self._fenced(live):
            # The order may have arrived all the same, just before the launcher went.
            live.is_unconfirmed = True
            self._look(live)
        else:
            self._end(live, "refused", sentence=str(answer.get("error") or "The launcher refused it without a reason."))

    def _fenced(self, live: Live) -> bool:
        """Make sure that an attempt never starts, by taking its directory; False if it has one. Writes: the directory."""
        try:
            os.mkdir(live.path, 0o700)
        except FileExistsError:
            return False
        except OSError:
            # Without the job's directory nothing can be started in it either.
            return True
        return True

    # --- orders to the shim --------------------------------------------------------------------------------------------

    def _pass_on(self, live: Live, word: dict[str, Any]) -> None:
        live.words.append(word)
        self._pass_words(live)

    def _pass_words(self, live: Live) -> None:
        while live.words and self._live.get(live.key) is live:
            try:
                with spool.connect_control(live.path) as shim:
                    shim.sendall(json.dumps(live.words[0]).encode() + b"\n")
            except OSError:
                # Not listening yet, or just gone: its directory tells which.
                if not live.is_ordered:
                    self._look(live)
                if self._live.get(live.key) is live:
                    self._later(STOP_RETRY_S, lambda: self._pass_words(live))
                return
            del live.words[0]

    # --- hearing -------------------------------------------------------------------------------------------------------

    def _noticed(self, notice: dict[str, Any], uid: int) -> None:
        """A shim speaks. Only the job's own user, or one of ours, speaks for it."""
        live = self._live.get((notice.get("job", 0), notice.get("attempt", 0)))
        if live is None or uid not in (0, os.getuid(), live.order.uid):
            return
        if notice.get("event") == "running":
            self._runs(live, at=notice.get("at"), shim=notice.get("pid"))
        elif notice.get("event") == "metrics" and isinstance(notice.get("values"), dict):
            self._tell(live, "metrics", values=notice["values"])
        elif notice.get("event") == "ended":
            if "end" in notice:
                self._ended(live, notice)
            else:
                self._look(live)

    def _runs(self, live: Live, *, at: float | None = None, shim: int | None = None) -> None:
        live.is_missing = live.is_unconfirmed = False
        if live.shim is None and shim is not None:
            live.shim = shim
            # Should its last word be lost, its end is seen. Its last word waits in the socket and is read first.
            if not self._endings.watch(live.key, shim, lambda: self._look_soon(live, 0)):
                self._look_soon(live, 0)
        if not live.is_told:
            live.is_told = True
            self._tell(live, "running", at=at)
        if live.words:
            self._pass_words(live)

    def _ended(self, live: Live, words: dict[str, Any]) -> None:
        if not live.is_told and isinstance(words.get("started_at"), float):
            live.is_told = True
            self._tell(live, "running", at=words["started_at"])
        ended_at = words.get("ended_at")
        if isinstance(words.get("metrics"), dict) and words["metrics"]:
            self._tell(live, "metrics", values=words["metrics"])
        exit_ = exit_from(words)
        self._end(
            live, "ended", at=ended_at if isinstance(ended_at, float) else None, exit_=exit_, sentence=exit_.sentence
        )

    def _end(
        self, live: Live, kind: str, *, at: float | None = None, exit_: Exit | None = None, sentence: str = ""
    ) -> None:
        self._live.pop(live.key, None)
        self._endings.forget(live.key)
        self._tell(live, kind, at=at, exit_=exit_, sentence=sentence)

    def _tell(
        self,
        live: Live,
        kind: str,
        *,
        at: float | None = None,
        exit_: Exit | None = None,
        sentence: str = "",
        values: dict[str, Any] | None = None,
    ) -> None:
        at = self._clock() if at is None else at
        job, attempt = live.order.job, live.order.attempt
        self._heard(
            Heard(job=job, attempt=attempt, kind=kind, at=at, exit=exit_, sentence=sentence, metrics=values or {})
        )

    # --- looking -------------------------------------------------------------------------------------------------------

    def _look_at_all(self) -> None:
        self._looking = asyncio.get_running_loop().call_later(self._look_every_s, self._look_at_all)
        for live in tuple(self._live.values()):
            if not live.is_ordered:
                self._look(live)

    def _look(self, live: Live) -> None:
        """Read an attempt's directory and say what it shows."""
        answer = spool.attempt_answer(live.path)
        if answer == "ended":
            self._ended(live, spool.read_json(os.path.join(live.path, spool.EXIT)) or {})
        elif answer == "attached":
            self._runs(live, shim=(spool.read_json(os.path.join(live.path, spool.SHIM)) or {}).get("pid"))
        elif not live.is_missing:
            live.is_missing = True
            self._look_soon(live)
        elif answer == "lost" and not live.is_unconfirmed:
            # The launcher ends what the job left behind before it says "lost". Only with a directory: without one it would start it.
            self._send_start(live)
        else:
            self._end(live, "lost", sentence=LOST)

    def _look_soon(self, live: Live, delay_s: float = LOST_LOOK_S) -> None:
        if not live.is_look_due:
            live.is_look_due = True
            self._later(delay_s, lambda: self._look_again(live))

    def _look_again(self, live: Live) -> None:
        live.is_look_due = False
        if self._live.get(live.key) is live and not live.is_ordered:
            self._look(live)

    def _later(self, delay_s: float, act: Callable[[], None]) -> None:
        def now() -> None:
            self._timers.discard(timer)
            act()

        timer = asyncio.get_running_loop().call_later(delay_s, now)
        self._timers.add(timer)
