"""How an attempt is stopped: interrupt, then SIGTERM, then SIGKILL, each after its grace.

Knows signals and seconds. Must not know who asks or why. Runs inside the shim, so that a stop once asked for goes
through whatever becomes of the daemon.
"""

from __future__ import annotations

import os
import signal
import time

from jupysched.runner import tree

#: Seconds after the interrupt, and after SIGTERM, where the request names none.
GRACE_S = (10.0, 10.0)


class Stopping:
    """How far the stop of an attempt has come."""

    def __init__(self, job_pid: int) -> None:
        self._job = job_pid
        self._step = 0
        self._due: float | None = None
        self._grace = GRACE_S
        self._frozen = False

    @property
    def asked(self) -> bool:
        """Whether somebody asked for the stop, as opposed to an interrupt or an end of the job's own."""
        return self._step > 0

    def stop(self, grace_s: tuple[float, float] | None) -> None:
        """Begin to stop, or go on to the next step at once."""
        if grace_s is not None:
            self._grace = grace_s
        self._advance()

    def interrupt(self) -> None:
        """Raise KeyboardInterrupt in the cell, nothing more."""
        self.thaw()
        tree.send({self._job}, signal.SIGINT)

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
        """Return seconds until the next step is due, or None."""
        return None if self._due is None else max(0.0, self._due - time.monotonic())

    def escalate_if_due(self) -> None:
        if self._due is not None and time.monotonic() >= self._due:
            self._advance()

    def _advance(self) -> None:
        self._step += 1
        if self._step == 1:
            self.interrupt()
            self._due = time.monotonic() + self._grace[0]
        elif self._step == 2:
            self._to_group(signal.SIGTERM)
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
