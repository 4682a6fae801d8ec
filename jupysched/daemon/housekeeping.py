"""Forgets what is old: ended jobs beyond the settings' limits. Knows the loop; runs now and then, never in a hurry."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Protocol

from jupysched.core.errors import DiskFull
from jupysched.core.job import JobId
from jupysched.core.state import State
from jupysched.core.states import ENDED
from jupysched.daemon.loop import Loop
from jupysched.daemon.settings import Settings

log = logging.getLogger("jupysched.daemon")
PERIOD_S = 3600.0
DAY_S = 86_400.0


class Forgetful(Protocol):
    """A journal that can drop the events of jobs that are no longer kept."""

    def forget(self, jobs: Sequence[int]) -> None: ...


def overdue(state: State, *, now: float, keep_days: float, keep_jobs: int) -> list[JobId]:
    """Ended jobs that are too old or too many, oldest first. A job that another still waits for is kept."""
    ended = sorted((j for j in state.jobs.values() if j.state in ENDED), key=lambda j: j.ended_at or 0.0)
    surplus = max(0, len(state.jobs) - keep_jobs)
    old = [j.id for i, j in enumerate(ended) if i < surplus or now - (j.ended_at or now) > keep_days * DAY_S]
    return [j for j in old if not state.dependents.get(j)]


class Housekeeping:
    """One background round an hour."""

    def __init__(self, *, loop: Loop, journal: Forgetful, settings: Settings) -> None:
        self._loop = loop
        self._journal = journal
        self._settings = settings
        self._task: asyncio.Task[None] | None = None

    def round(self) -> None:
        """Forget what is due. Skipped while the disk is full."""
        due = overdue(
            self._loop.state,
            now=self._loop.now(),
            keep_days=self._settings.keep_ended_days,
            keep_jobs=self._settings.keep_ended_jobs,
        )
        with contextlib.suppress(DiskFull):
            self._loop.forget(due)
            self._journal.forget(due)

    def start(self) -> None:
        """Begin; `close` ends it."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            self.round()
            await asyncio.sleep(PERIOD_S)

    async def close(self) -> None:
        """Stop."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
