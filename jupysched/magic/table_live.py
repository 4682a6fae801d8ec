"""Keeps a table of jobs true while somebody looks at it. Knows the daemon's pushes; knows nothing of widgets.

Works in the relay's thread, on a connection of its own: the kernel runs cells meanwhile. Whoever looks away ends it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from jupysched.client import AsyncClient
from jupysched.core.errors import JupyschedError
from jupysched.magic.relay import Relay
from jupysched.magic.tracked import has_ended
from jupysched.wire import messages as msg
from jupysched.wire import requests as ask
from jupysched.wire.records import JobRecord

#: pushes that follow each other sooner are one
GATHER_S = 0.3
#: the whole table is asked for again after so long: jobs that are new, times that go on while a job lives
FRESH_S, QUIET_S = 2.0, 10.0
AWAY_S = 1.0

#: told the first jobs in their order, and how many there are; in the relay's thread
Show = Callable[[list[JobRecord], int], None]
#: told a sentence, or "" when it is true no longer
Say = Callable[[str], None]


class TableLive:
    """One table's subscription. `begin`, `end` and `nudge` may be called from any thread, as often as one likes."""

    def __init__(self, relay: Relay, show: Show, say: Say, *, wanted: ask.Jobs) -> None:
        self._relay = relay
        #: no more than are shown: what is asked for every other second must cost the daemon nothing
        self._wanted = wanted
        self._show = show
        self._say = say
        self._watching: asyncio.Task[None] | None = None
        self._stirred: asyncio.Event | None = None

    def begin(self) -> None:
        """Tell the jobs from now on."""
        self._relay.call(self._begin)

    def end(self) -> None:
        """Tell no more."""
        self._relay.call(self._end)

    def nudge(self) -> None:
        """Ask again now."""
        self._relay.call(self._stir)

    # --- in the relay's thread ---------------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self._watching is None:
            self._stirred = asyncio.Event()
            self._watching = asyncio.get_running_loop().create_task(self._watch())

    def _end(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            self._watching = None

    def _stir(self) -> None:
        if self._stirred is not None:
            self._stirred.set()

    async def _watch(self) -> None:
        """Through every daemon that comes and goes; none is started for the sake of a table."""
        while True:
            client = AsyncClient()
            try:
                await client.connect()
                self._say("")
                await self._follow(client)
            except JupyschedError as error:
                self._say(error.sentence)
            finally:
                await client.close()
            await asyncio.sleep(AWAY_S)

    async def _follow(self, client: AsyncClient) -> None:
        assert self._stirred is not None
        hearing: asyncio.Task[None] | None = None
        watched: list[int] = []
        try:
            while hearing is None or not hearing.done():
                self._stirred.clear()
                page: msg.JobsPage = await client.call(self._wanted)
                self._show(page.jobs, page.total)
                shown = [record.id for record in page.jobs]
                if hearing is None:
                    hearing = asyncio.get_running_loop().create_task(self._hear(client, shown))
                elif watched != shown:
                    await client.call(ask.Watch(jobs=shown))
                    self._stirred.clear()
                watched = shown
                with contextlib.suppress(TimeoutError):
                    fresh_s = QUIET_S if all(map(has_ended, page.jobs)) else FRESH_S
                    await asyncio.wait_for(self._stirred.wait(), fresh_s)
                await asyncio.sleep(GATHER_S)
        finally:
            if hearing is not None:
                hearing.cancel()

    async def _hear(self, client: AsyncClient, jobs: list[int]) -> None:
        """Stir with every push but the first, which tells what is known."""
        async for push in client.watch(jobs):
            if push.seq:
                self._stir()
