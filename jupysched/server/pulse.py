"""Once a second: the newest loss of the jobs that run here, for the pages. Knows relay and metrics; reads in a thread."""

from __future__ import annotations

import asyncio

from jupysched.panels.training import MetricsBook
from jupysched.server.relay import Relay
from jupysched.wire.browser import LossRecord
from jupysched.wire.records import JobRecord

LOOK_S = 1.0
#: newest ended jobs of this user whose last loss is told when the server starts
MOST_ENDED = 30
_LIVE = frozenset({"running", "stopping"})


class Pulse:
    """Looks at the spools of this user's running jobs while any page is there to see it."""

    def __init__(self, *, relay: Relay, book: MetricsBook) -> None:
        self._relay = relay
        self._book = book
        self._task: asyncio.Task[None] | None = None
        #: attempts whose end has been read to the last byte
        self._settled: set[tuple[int, int]] = set()

    def start(self) -> None:
        """Begin."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """End."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            if self._relay.is_watched():
                await self._look()
            await asyncio.sleep(LOOK_S)

    async def _look(self) -> None:
        found: list[LossRecord] = []
        for record in self._interesting():
            loss, settled = await self._book.newest_loss(record)
            if settled and record.state not in _LIVE:
                self._settled.add((record.id, record.attempt))
            if loss is not None and self._relay.picture.losses.get(record.id) != loss:
                found.append(loss)
        self._relay.tell_losses(found)

    def _interesting(self) -> list[JobRecord]:
        own = [j for j in self._relay.picture.jobs.values() if j.directory and j.attempt]
        live = [j for j in own if j.state in _LIVE]
        ended = [j for j in own if j.ended_at is not None and (j.id, j.attempt) not in self._settled]
        ended.sort(key=lambda j: j.ended_at or "", reverse=True)
        return live + ended[:MOST_ENDED]
