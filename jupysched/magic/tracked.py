"""One job as this kernel follows it: its newest record, its outputs' way into a cell, what its frames said beside the outputs.

Knows records and frames; must not know sockets, threads or what a card looks like. Lives in the relay's thread; what other
threads may touch is `record` (replaced, never changed) and `ended` (an event).
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jupysched import spool
from jupysched.core.states import ENDED, JobState
from jupysched.magic.outlet import Outlet
from jupysched.metrics_text import foremost, kind
from jupysched.runner import points
from jupysched.runner.gauge import Gauge
from jupysched.wire.records import GpuRecord, JobRecord

#: the card's live figures are sent at most this often
CARD_EVERY_S = 1.0
URGENT_S = 0.02
#: losses kept for the line on the card
MOST_LOSSES = 120

_HOLDING = frozenset({JobState.STARTING, JobState.RUNNING, JobState.STOPPING})


def has_ended(record: JobRecord) -> bool:
    """Is it over, as far as the daemon knows?"""
    return record.state in ENDED


def is_holding(record: JobRecord) -> bool:
    """Does it hold GPUs?"""
    return record.state in _HOLDING


@dataclass(slots=True)
class Facts:
    """What the card tells beside the record."""

    gpus: list[GpuRecord] = field(default_factory=list)
    #: last value of each metric that the cell logged
    metrics: dict[str, Any] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)
    #: sentences for the reader, each once
    notes: list[str] = field(default_factory=list)
    #: those of them that tell of values which the notebook kept; fetching makes them untrue
    conflicts: list[str] = field(default_factory=list)
    #: names that came back; None until that is known
    returned: list[str] | None = None
    #: are they in the notebook already?
    has_landed: bool = False

    def note(self, sentence: str) -> bool:
        """Keep a sentence; False if it is known already."""
        if sentence in self.notes:
            return False
        self.notes.append(sentence)
        return True


@dataclass(slots=True, eq=False)
class Tracked:
    """A job that the relay follows."""

    record: JobRecord
    directory: str
    outlet: Outlet | None
    #: called in the relay's thread to send the card as it is now
    card: Callable[[], None]
    #: called in the relay's thread with a prompt: {"prompt", "password", "id"}, and the attempt's directory
    ask: Callable[[dict[str, Any], str], None]
    #: called in the relay's thread once all outputs have been sent
    end: Callable[[], None]
    #: called in the relay's thread when `ended` is set
    told: Callable[[], None]
    facts: Facts = field(default_factory=Facts)
    #: what the frames have said of metrics
    gauge: Gauge = field(default_factory=Gauge)
    ended: threading.Event = field(default_factory=threading.Event)
    #: set when `record` changed
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    #: attempts whose outputs are in the cell
    attempts_seen: int = 0
    #: attempts whose directory is there, whatever the daemon has said so far
    attempts_met: int = 0
    flush_timer: asyncio.TimerHandle | None = None
    _shown_at: float = field(default_factory=time.monotonic)
    _show_timer: asyncio.TimerHandle | None = None

    def update(self, record: JobRecord) -> None:
        """Take the daemon's newest word."""
        before = self.record
        self.record = record
        self.changed.set()
        if record.attempt != before.attempt:
            self.gauge = Gauge()
        if record.metrics:
            # What the frames said is newer; what was printed only the daemon has read.
            self.facts.metrics = {**record.metrics, **self.gauge.values}
            if not self.gauge.values:
                self._loss_is(record.metrics)
        # A grant becomes a running attempt within milliseconds: one card for both.
        is_urgent = record.state != JobState.STARTING and (
            (before.state, before.position, before.attempt) != (record.state, record.position, record.attempt)
        )
        if not has_ended(record):  # the last card is shown when all outputs are there
            self.show(is_urgent)

    def is_over(self, attempt: int) -> bool:
        """Will nothing more come of this attempt?"""
        return has_ended(self.record) or self.record.attempt > attempt

    def take(self, frames: list[spool.Frame], path: str) -> None:
        """Frames of the attempt in `path`."""
        for frame in frames:
            if frame.kind in (spool.Kind.STDOUT, spool.Kind.STDERR, spool.Kind.MESSAGE):
                if self.outlet is not None:
                    self.outlet.take(frame)
            else:
                self._aside(frame, path)

    def _aside(self, frame: spool.Frame, path: str) -> None:
        if frame.kind == spool.Kind.METRICS:
            self._measured(frame.payload)
            self.show(False)
            return
        try:
            content = json.loads(frame.payload)
        except ValueError:
            return
        if frame.kind == spool.Kind.NOTE:
            self.facts.note(str(content.get("text", "")))
            self.show(False)
        elif frame.kind == spool.Kind.INPUT_REQUEST:
            if self.outlet is not None:
                self.outlet.flush()
            self.ask(content, path)

    def _measured(self, payload: bytes) -> None:
        self.gauge.take(payload)
        self.facts.metrics = {**self.record.metrics, **self.gauge.values}
        for point in points.read(payload):
            self._loss_is(point.values)

    def _loss_is(self, values: dict[str, Any]) -> None:
        name = foremost(self.facts.metrics)
        loss = None if name is None or "loss" not in kind(name) else values.get(name)
        if isinstance(loss, (int, float)) and loss == loss:  # noqa: PLR0124  NaN has no place on a line
            self.facts.losses.append(float(loss))
            if len(self.facts.losses) > MOST_LOSSES:
                del self.facts.losses[1::2]

    def show(self, urgent: bool) -> None:  # noqa: FBT001  two words, one place
        """Send the card: soon when its state or place changed, else CARD_EVERY_S after the last one.

        Not at once: output is what people wait for, and a short job needs one card, not four."""
        loop = asyncio.get_running_loop()
        wait_s = URGENT_S if urgent else max(0.0, self._shown_at + CARD_EVERY_S - time.monotonic())
        if self._show_timer is not None:
            if self._show_timer.when() <= loop.time() + wait_s:
                return
            self._show_timer.cancel()
        self._show_timer = loop.call_later(wait_s, self._show_now)

    def _show_now(self) -> None:
        self.stop_showing()
        self._shown_at = time.monotonic()
        if not has_ended(self.record):
            self.card()

    def stop_showing(self) -> None:
        """The card is not sent by itself any more."""
        if self._show_timer is not None:
            self._show_timer.cancel()
            self._show_timer = None
