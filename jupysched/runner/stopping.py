"""How an attempt is stopped: interrupt, then SIGTERM, then SIGKILL, each after its grace; perhaps with notice before.

Knows signals and seconds. Must not know who asks or why. Runs inside the shim, so that a stop once asked for goes
through whatever becomes of the daemon.
"""

from __future__ import annotations

import os
import signal
import time

from jupysched.runner import tree

#: Seconds after a signal at which the job is nudged. A signal that arrives in the instant before Python enters a system
#: call is noted but not acted upon until that call returns, which may be hours; any later signal makes it return. SIGURG
#: means nothing to a program that does not ask for it, and the job's process does nothing on it (runner.signals).
NUDGES_S = (0.02, 0.1, 0.5, 2.0)
#: Seconds after the interrupt, and after SIGTERM, where the request names none.
GRACE_S: tuple[float, ...] = (10.0, 10.0)


class Stopping:
    """How far the stop of an attempt has come."""

    def __init__(self, job_pid: int) -> None:
        self._job = job_pid
        self._step = 0
        self._has_notice = False
        self._orders = 0
        self._due: float | None = None
        self._grace = GRACE_S
        self._frozen = False
        self._nudges: list[float] = []

    @property
    def asked(self) -> bool:
        """Whether somebody asked for the stop, as opposed to an interrupt or an end of the job's own."""
        return self._has_notice or self._step > 0

    def stop(self, grace_s: tuple[float, ...] | None, nth: int | None = None) -> None:
        """Begin to stop, or go on to the next step at once. A third number: seconds of notice before the interrupt.

        `nth` says which order this is: who took over in between repeats the last one, and a repeated one is none. An order
        without it is always a new one."""
        if nth is not None:
            if nth <= self._orders:
                return
            self._orders = nth
        if grace_s is not None:
            self._grace = grace_s
        if not self.asked and self._grace[2:]:
            self._give_notice(self._grace[2])
        else:
            self._advance()

    def _give_notice(self, seconds: float) -> None:
        """SIGTERM to the job's process alone: a cell that asks `should_stop()` saves its work and ends, any other is
        interrupted by it (runner.signals)."""
        self._has_notice = True
        self.thaw()
        tree.send({self._job}, signal.SIGTERM)
        self._nudge_later()
        self._due = time.monotonic() + seconds

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the cell, nothing more."""
        self.thaw()
        tree.send({self._job}, signal.SIGINT)
        self._nudge_later()

    def _nudge_later(self) -> None:
        now = time.monotonic()
        self._nudges = [now + delay for delay in NUDGES_S]

    def freeze(self) -> None:
        """Suspend every process of the job; repeated, because a process may fork while it is looked for."""
        self._frozen = True
        known: set[int] = set()
        while new := self._everyone() - known:
            tree.send(new, signal.SIGSTOP)
            known |= new

    def thaw(self) -> None:
        if self._frozen:
            self._frozen = False
            tree.send(self._everyone(), signal.SIGCONT)

    def seconds_left(self) -> float | None:
        """Return seconds until something is due, or None."""
        due = [*self._nudges[:1], *([] if self._due is None else [self._due])]
        return max(0.0, min(due) - time.monotonic()) if due else None

    def act_if_due(self) -> None:
        """Nudge or escalate when it is time to."""
        now = time.monotonic()
        while self._nudges and now >= self._nudges[0]:
            del self._nudges[0]
            tree.send({self._job}, signal.SIGURG)
        if self._due is not None and now >= self._due:
            self._advance()

    def _advance(self) -> None:
        self._step += 1
        if self._step == 1:
            self.interrupt()
            self._due = time.monotonic() + self._grace[0]
        elif self._step == 2:
            self._to_group(signal.SIGTERM)
            self._nudge_later()
            self._due = time.monotonic() + self._grace[1]
        else:
            # What can fork may fork between look and signal: the sweep after the job's end finds the rest.
            tree.send({pid for pid in self._everyone() if not tree.is_tracker(pid)}, signal.SIGKILL)
            self._due = time.monotonic() + 1.0

    def _to_group(self, number: int) -> None:
        try:
            os.killpg(self._job, number)
        except (ProcessLookupError, PermissionError):
            tree.send({self._job}, number)

    def _everyone(self) -> set[int]:
        return tree.descendants(os.getpid())
