"""Reads the GPUs once a second, tells the loop what changed about their health. Decides nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence

from jupysched.core.events import Event
from jupysched.core.resources import GpuId
from jupysched.ports import GpuProbe, GpuSample

log = logging.getLogger("jupysched.daemon")
PERIOD_S = 1.0
#: a reading that takes longer is given up: a card that hangs must not hang the daemon
DEADLINE_S = 10.0

Changes = Callable[[Sequence[GpuSample]], Sequence[Event]]


class Sampling:
    """One background reading at a time, in a thread: NVML may block for seconds when a card is ill."""

    def __init__(self, *, probe: GpuProbe, changes: Changes, tell: Callable[[Sequence[Event]], None],
                 sampled: Callable[[], None]) -> None:
        self._probe = probe
        self._changes = changes
        self._tell = tell
        self._sampled = sampled
        self._latest: dict[GpuId, GpuSample] = {}
        self._task: asyncio.Task[None] | None = None

    def latest(self) -> Mapping[GpuId, GpuSample]:
        """The newest reading of each GPU."""
        return self._latest

    def start(self) -> None:
        """Begin; `close` ends it."""
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            reading = asyncio.ensure_future(asyncio.to_thread(self._probe.sample))
            done, _ = await asyncio.wait({reading}, timeout=DEADLINE_S)
            if not done:
                log.warning("the GPUs did not answer within %g s", DEADLINE_S)
                await asyncio.wait({reading})
            samples = reading.result()
            self._latest = {s.gpu: s for s in samples}
            events = self._changes(samples)
            if events:
                self._tell(events)
            self._sampled()
            await asyncio.sleep(PERIOD_S)

    async def close(self) -> None:
        """Stop reading."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
