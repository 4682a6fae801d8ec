"""Listens to the daemon and keeps the picture true: connects, watches, notices when it goes and when it is back.

Knows the client and the picture; knows nothing of browsers but that somebody wants to be woken."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import uuid
from typing import Any

from jupysched import words
from jupysched.client import AsyncClient
from jupysched.core.errors import DaemonMissing, JupyschedError
from jupysched.places import ensure_daemon, home, socket_path
from jupysched.server.picture import Picture
from jupysched.wire import requests as ask
from jupysched.wire.browser import LossRecord
from jupysched.wire.messages import Push
from jupysched.wire.records import JobRecord

#: a verb that is not answered in this time is an error, not a page that hangs
ANSWER_S = 20.0
#: how long between two tries to reach a daemon that is away: the first, and the longest
RETRY_S = (0.25, 3.0)
#: readings of GPUs wait so long for the next ones: a page that shows them costs half as much, and nothing else waits
READINGS_S = 1.5
#: jobs of one page of the list when the picture is made
PAGE = 2000
DOWN = "The GPU queue is not running."


class Relay:
    """One per Jupyter server. `start` begins, `close` ends; in between `picture` is what there is to see."""

    def __init__(self, *, log: logging.Logger, root: str = "") -> None:
        self.picture = Picture(
            epoch=uuid.uuid4().hex, me=words.user_name(os.getuid()), may_start=_may_start(), root=root
        )
        self._log = log
        self._calls = AsyncClient()
        self._connecting = asyncio.Lock()
        self._wake: set[asyncio.Event] = set()
        self._task: asyncio.Task[None] | None = None
        self._try_now = asyncio.Event()
        #: the next publication, where nothing but readings is to be told
        self._later: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Begin to listen."""
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Stop listening, and let every page go."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._wait_no_longer()
        await self._calls.close()

    # --- for pages ---------------------------------------------------------------------------------------------------

    def subscribe(self) -> asyncio.Event:
        """An event that is set with every change; clear it and look at the picture."""
        event = asyncio.Event()
        self._wake.add(event)
        return event

    def unsubscribe(self, event: asyncio.Event) -> None:
        """No more."""
        self._wake.discard(event)

    def is_watched(self) -> bool:
        """Is any page there to see it?"""
        return bool(self._wake)

    def tell_losses(self, losses: list[LossRecord]) -> None:
        """New last values of some jobs."""
        if losses:
            self.picture.changed(losses=losses)
            self._publish()

    async def call(self, request: ask.Request) -> Any:
        """The daemon's answer. Raises its errors, and DaemonMissing."""
        async with self._connecting:
            await self._calls.connect()
        try:
            return await asyncio.wait_for(self._calls.call(request), ANSWER_S)
        except TimeoutError as error:
            raise DaemonMissing(f"The daemon did not answer within {ANSWER_S:g} s.") from error

    async def start_daemon(self) -> None:
        """Make a personal daemon run. Raises DaemonMissing where it is an admin's to start, or does not come up."""
        await asyncio.to_thread(ensure_daemon, socket_path())
        self._try_now.set()
        async with self._connecting:
            await self._calls.connect()

    def record(self, job: int) -> JobRecord | None:
        """The job as last heard, with its directory."""
        return self.picture.jobs.get(job)

    # --- listening ---------------------------------------------------------------------------------------------------

    def _wait_no_longer(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None

    def _publish(self) -> None:
        self._wait_no_longer()
        for event in self._wake:
            event.set()

    async def _run(self) -> None:
        pause = RETRY_S[0]
        while True:
            client = AsyncClient()
            try:
                await self._listen(client)
                pause = RETRY_S[0]
            except JupyschedError as error:
                self._lost(DOWN if isinstance(error, DaemonMissing) else str(error))
            except Exception:  # whatever a daemon of another version says must not end the listening
                self._log.exception("jupysched: listening to the daemon failed")
                self._lost("The GPU queue speaks another version of jupysched than this server.")
            finally:
                await client.close()
            self._try_now.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._try_now.wait(), pause)
            pause = min(pause * 2, RETRY_S[1])

    def _lost(self, sentence: str) -> None:
        if self.picture.lost(sentence):
            self._publish()

    async def _listen(self, client: AsyncClient) -> None:
        """Until the daemon goes, or a gap in the numbers says that something was missed."""
        daemon = await client.call(ask.Hello())
        expected = 0
        async for push in client.watch():
            if push.seq == 0:
                await self._afresh(client, daemon, push)
            elif push.seq != expected:
                return
            else:
                self._take(push)
            expected = push.seq + 1
        self._lost(DOWN)

    async def _afresh(self, client: AsyncClient, daemon: Any, push: Push) -> None:
        gpus = await client.call(ask.Gpus())
        jobs = {j.id: j for j in push.jobs}
        total, offset = len(jobs), 0
        while offset < total or offset == 0:
            page = await client.call(ask.Jobs(limit=PAGE, offset=offset))
            total, offset = page.total, offset + PAGE
            jobs.update({j.id: j for j in page.jobs})
            if page.jobs and page.jobs[-1].state in ("succeeded", "failed", "cancelled"):
                break  # what follows has ended, and longer ago
        self.picture.afresh(daemon=daemon, jobs=jobs.values(), gpus=gpus, total=total)
        self._publish()

    def _take(self, push: Push) -> None:
        self.picture.changed(jobs=push.jobs, forgotten=push.forgotten, gpus=push.gpus or None)
        if push.jobs or push.forgotten:
            self._publish()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(READINGS_S, self._publish)


def _may_start() -> bool:
    """Is it a personal daemon? Where not even that can be told (JUPYSCHED_HOME), the pages hear why when it is listened to."""
    try:
        return socket_path() == home() / "api.sock"
    except JupyschedError:
        return False
