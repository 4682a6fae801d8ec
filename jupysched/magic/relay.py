"""One thread a kernel that brings outputs and states of its jobs, as they come. Knows the daemon's pushes and attempts' frames.

Must not touch the user's variables: what lands, lands in the kernel's own thread (`landing`). The thread is started by the first
job, never keeps the kernel alive, and belongs to the process that started it: a forked child gets none.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from jupysched import spool
from jupysched.client import AsyncClient
from jupysched.core.errors import JupyschedError
from jupysched.magic.follow import follow
from jupysched.magic.tracked import Tracked, has_ended, is_holding
from jupysched.places import ensure_daemon, socket_path
from jupysched.wire import requests as ask
from jupysched.wire.records import GpuRecord, JobRecord

log = logging.getLogger("jupysched.magic")
GPUS_EVERY_S = 2.0
#: how often, and how many times, a fresh job's first attempt is looked for
HURRY_S, HURRY_TRIES = 0.001, 30
#: how long a daemon that went away is waited for before it is started again
AWAY_S = 0.5


class Relay:
    """Follows the live jobs of one kernel."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._jobs: set[Tracked] = set()
        self._client: AsyncClient | None = None
        self._watching: asyncio.Task[None] | None = None
        self._measuring: asyncio.Task[None] | None = None
        self._followers: set[asyncio.Task[None]] = set()

    # --- from any thread ---------------------------------------------------------------------------------------------

    def track(self, tracked: Tracked) -> None:
        """Follow this job until it has ended."""
        self._running_loop().call_soon_threadsafe(self._begin, tracked)

    def call(self, function: Callable[[], None]) -> None:
        """Run a short function in the relay's thread, after all that was sent before."""
        self._running_loop().call_soon_threadsafe(function)

    def close(self) -> None:
        """End the thread; jobs go on, and nobody brings their outputs."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None or self._pid != os.getpid():
            return
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=5)
        self._loop = self._thread = None

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._pid != os.getpid():
                raise JupyschedError(
                    "A forked child of the kernel cannot follow jobs.", hint="Submit from the notebook."
                )
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._run, args=(self._loop,), name="jupysched-relay", daemon=True
                )
                self._thread.start()
            return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        # The default prints to the notebook's stderr, under whichever cell runs.
        loop.set_exception_handler(lambda _loop, context: log.debug("relay: %s", context))
        try:
            loop.run_forever()
        finally:
            living = asyncio.all_tasks(loop)
            for coroutine in living:
                coroutine.cancel()
            with contextlib.suppress(Exception):
                loop.run_until_complete(asyncio.gather(*living, return_exceptions=True))
                if self._client is not None:
                    loop.run_until_complete(self._client.close())
                loop.run_until_complete(asyncio.sleep(0))
            loop.close()

    # --- in the relay's thread: following ----------------------------------------------------------------------------

    def _begin(self, tracked: Tracked) -> None:
        self._jobs.add(tracked)
        self._spawn(self._follow_job(tracked))
        if self._watching is None or self._watching.done():
            self._watching = self._spawn(self._watch())
        elif self._client is not None:
            self._spawn(self._watch_all(self._client))
        if self._measuring is None or self._measuring.done():
            self._measuring = self._spawn(self._measure())

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        spawned = asyncio.get_running_loop().create_task(coroutine)
        self._followers.add(spawned)
        spawned.add_done_callback(self._followers.discard)
        return spawned

    async def _follow_job(self, tracked: Tracked) -> None:
        """From the first attempt to the end of the last."""
        try:
            await _first_attempt(tracked)
            while True:
                await self._follow_attempts(tracked)
                if has_ended(tracked.record) and tracked.attempts_seen >= tracked.record.attempt:
                    break
                tracked.changed.clear()
                if has_ended(tracked.record) or tracked.record.attempt > tracked.attempts_seen:
                    continue
                await tracked.changed.wait()
        finally:
            self._jobs.discard(tracked)
            self._end_of(tracked)

    async def _follow_attempts(self, tracked: Tracked) -> None:
        while tracked.attempts_seen < max(tracked.record.attempt, tracked.attempts_met):
            number = tracked.attempts_seen + 1
            path = spool.attempt_path(tracked.directory, number)
            if tracked.outlet is not None and number > 1:
                tracked.outlet.new_attempt()

            def take(frames: list[spool.Frame], path: str = path) -> None:
                tracked.take(frames, path)
                self._flush_soon(tracked)

            def is_over(number: int = number) -> bool:
                return tracked.is_over(number)

            await follow(path, take, is_over=is_over, changed=tracked.changed)
            tracked.attempts_seen = number

    def _flush_soon(self, tracked: Tracked) -> None:
        if tracked.outlet is None or tracked.flush_timer is not None:
            return
        due = tracked.outlet.due_in()
        if due == 0:
            self._flush(tracked)
        elif due is not None:
            tracked.flush_timer = asyncio.get_running_loop().call_later(due, self._flush, tracked)

    def _flush(self, tracked: Tracked) -> None:
        tracked.flush_timer = None
        if tracked.outlet is not None:
            tracked.outlet.flush()

    def _end_of(self, tracked: Tracked) -> None:
        tracked.stop_showing()
        if tracked.flush_timer is not None:
            tracked.flush_timer.cancel()
        try:
            if tracked.outlet is not None:
                tracked.outlet.close()
            tracked.end()
        finally:
            tracked.ended.set()
            tracked.told()

    # --- in the relay's thread: the daemon ---------------------------------------------------------------------------

    async def _watch(self) -> None:
        """Hear of changes while there is a live job, through every daemon that comes and goes."""
        while self._jobs:
            client = AsyncClient()
            try:
                await client.connect()
                self._client = client
                expected = 0
                async for push in client.watch(self._ids()):
                    # A gap in the numbers: something was not told.
                    if push.seq == 0 or push.seq > expected:
                        await self._watch_all(client)
                    expected = push.seq + 1
                    self._heard(push.jobs, push.forgotten)
            except JupyschedError as error:
                log.debug("relay: %s", error)
            finally:
                self._client = None
                await client.close()
            if self._jobs:
                await self._bring_back()

    async def _watch_all(self, client: AsyncClient) -> None:
        """Watch the jobs that live now; a watch replaces the last one of its connection."""
        wanted = self._ids()
        with contextlib.suppress(JupyschedError):
            records: list[JobRecord] = await client.call(ask.Watch(jobs=wanted))
            known = {record.id for record in records}
            self._heard(records, [job for job in wanted if job not in known])

    async def _bring_back(self) -> None:
        """A personal daemon is started again; another one is waited for."""
        await asyncio.sleep(AWAY_S)
        with contextlib.suppress(JupyschedError, OSError):
            await asyncio.to_thread(ensure_daemon, socket_path())

    def _heard(self, records: list[JobRecord], forgotten: list[int]) -> None:
        newest = {record.id: record for record in records}
        gone = set(forgotten)
        for tracked in tuple(self._jobs):
            if (record := newest.get(tracked.record.id)) is not None:
                tracked.update(record)
            elif tracked.record.id in gone:
                tracked.update(_unknown(tracked.record))

    def _ids(self) -> list[int]:
        return sorted({tracked.record.id for tracked in self._jobs})

    async def _measure(self) -> None:
        """The live GPU line, while a job of ours holds GPUs."""
        while self._jobs:
            await asyncio.sleep(GPUS_EVERY_S)
            held = [t for t in self._jobs if is_holding(t.record)]
            if not held or self._client is None:
                continue
            with contextlib.suppress(JupyschedError):
                gpus: list[GpuRecord] = await self._client.call(ask.Gpus())
                for tracked in held:
                    tracked.facts.gpus = [g for g in gpus if g.id in tracked.record.gpu_ids]
                    tracked.show(False)


def _is_there(path: str) -> bool:
    return os.path.isdir(path)


async def _first_attempt(tracked: Tracked) -> None:
    """Look for the first attempt of a fresh job for a moment: where a GPU is free it is there before the daemon can say so."""
    path = spool.attempt_path(tracked.directory, 1)
    for _ in range(HURRY_TRIES):
        if tracked.record.attempt or has_ended(tracked.record):
            return
        if _is_there(path):
            tracked.attempts_met = 1
            return
        await asyncio.sleep(HURRY_S)


def _unknown(record: JobRecord) -> JobRecord:
    """A job that the daemon has never heard of, or has forgotten, brings nothing more."""
    if has_ended(record):
        return record
    changed = type(record)(**{name: getattr(record, name) for name in record.__struct_fields__})
    changed.state, changed.why = "failed", "the daemon does not know this job any more"
    return changed
