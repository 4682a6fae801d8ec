"""Who is connected, what each asked for, and what each is told of. Knows channels and wire; decides nothing."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from jupysched.core import events as ev
from jupysched.core.errors import BadRequest, Bug, JupyschedError
from jupysched.core.events import Event
from jupysched.core.job import JobId
from jupysched.daemon.api import Api
from jupysched.daemon.auth import Person, identify
from jupysched.ports import Directory, Heard
from jupysched.transport import Channel
from jupysched.wire import messages as msg
from jupysched.wire import requests as ask
from jupysched.wire.records import ErrorRecord, GpuRecord, JobRecord

log = logging.getLogger("jupysched.daemon")
#: a watcher that lets this much pile up is told to watch again once it has caught up
MOST_BACKLOG = 8 * 1024 * 1024
#: positions and expected starts of waiting jobs move with every change of the queue: told at most this often
POSITIONS_S = 0.5
#: waiting jobs whose positions are told to those who watch everything
MOST_POSITIONS = 200

HOLDS_CHANGED = ev.Granted | ev.AttemptEnded | ev.AttemptLost | ev.AttemptRefused | ev.Suspended | ev.Resumed


@dataclass(slots=True)
class Watcher:
    """One connection that watches."""

    person: Person
    #: None: all jobs
    jobs: set[int] | None
    seq: int = 0
    #: what was last told of the place in the queue
    told: dict[int, tuple[int | None, str]] = field(default_factory=dict)


class Connections:
    """All channels of the daemon."""

    def __init__(self, *, api: Api, directory: Directory) -> None:
        self._api = api
        self._directory = directory
        self._people: dict[Channel, Person] = {}
        self._watchers: dict[Channel, Watcher] = {}
        self._dirty: set[JobId] = set()
        self._forgotten: set[int] = set()
        self._gpus_dirty = False
        self._flush_due = False
        self._positions: asyncio.TimerHandle | None = None

    def make(self) -> Channel:
        """A channel for a new connection."""
        return Channel(received=self._received, lost=self._lost)

    def _lost(self, channel: Channel) -> None:
        self._people.pop(channel, None)
        self._watchers.pop(channel, None)

    def close(self) -> None:
        """Say goodbye to everybody."""
        for channel in tuple(self._people):
            channel.close()

    def _person(self, channel: Channel) -> Person:
        if channel not in self._people:
            self._people[channel] = identify(self._directory, channel.uid)
        return self._people[channel]

    def _received(self, channel: Channel, body: bytes) -> None:
        number = 0
        try:
            try:
                call = msg.decode_call(body)
            except msgspec.MsgspecError as error:
                raise BadRequest(
                    f"The message cannot be read: {error}.", hint="Client and daemon may be of different versions."
                ) from error
            number = call.number
            person = self._person(channel)
            value = self._api.serve(person, call.ask)
            if isinstance(call.ask, ask.Watch):
                self._watchers[channel] = Watcher(
                    person=person, jobs=None if call.ask.jobs is None else set(call.ask.jobs)
                )
            answer = msg.Answer(number=number, value=msg.encode_value(value))
        except JupyschedError as error:
            answer = msg.Answer(number=number, error=error_record(error))
        except Exception as error:  # a fault of ours must answer, be seen in the log, and harm no other connection
            log.error("bug in a verb:\n%s", traceback.format_exc())
            answer = msg.Answer(
                number=number, error=error_record(Bug(f"The daemon failed: {error!r}.", hint="Its log says more."))
            )
        channel.send(msg.encode(answer))

    def changed(self, events: Sequence[Event]) -> None:
        """Events were folded: tell those who watch, soon."""
        for event in events:
            if isinstance(event, ev.Forgotten):
                self._forgotten.update(event.jobs)
                for job in event.jobs:
                    self._api.metrics.pop(job, None)
            elif isinstance(event, ev.NodeEvent):
                self._gpus_dirty = True
            elif not isinstance(event, ev.RuleEvent):
                self._dirty.add(event.job)
                self._gpus_dirty = self._gpus_dirty or isinstance(event, HOLDS_CHANGED)
        self._schedule()

    def measured(self, word: Heard) -> None:
        """A job's last values changed."""
        self._api.metrics[word.job] = dict(word.metrics)
        self._dirty.add(word.job)
        self._schedule()

    def remarked(self, jobs: Sequence[JobId]) -> None:
        """There is something new to say of these jobs."""
        self._dirty.update(jobs)
        self._schedule()

    def gpus_changed(self) -> None:
        """New samples are there."""
        self._gpus_dirty = True
        self._schedule()

    def _schedule(self) -> None:
        if not self._watchers:
            self._dirty.clear()
            self._forgotten.clear()
            self._gpus_dirty = False
        elif not self._flush_due:
            self._flush_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _flush(self) -> None:
        self._flush_due = False
        dirty, self._dirty = self._dirty, set()
        forgotten, self._forgotten = self._forgotten, set()
        gpus_dirty, self._gpus_dirty = self._gpus_dirty, False
        gpus = self._api.gpus() if gpus_dirty and any(w.jobs is None for w in self._watchers.values()) else []
        for channel, watcher in tuple(self._watchers.items()):
            wanted = dirty if watcher.jobs is None else dirty & watcher.jobs
            records = self._records(watcher, wanted)
            gone = sorted(forgotten if watcher.jobs is None else forgotten & watcher.jobs)
            self._tell(channel, watcher, records, gpus if watcher.jobs is None else [], gone)
        if self._positions is None:
            self._positions = asyncio.get_running_loop().call_later(POSITIONS_S, self._tell_positions)

    def _records(self, watcher: Watcher, jobs: set[JobId] | set[int]) -> list[JobRecord]:
        state = self._api.loop.state
        records = [self._api.record(watcher.person, state.jobs[JobId(j)]) for j in sorted(jobs) if j in state.jobs]
        for record in records:
            watcher.told[record.id] = (record.position, record.why)
        return records

    def _tell(
        self, channel: Channel, watcher: Watcher, records: list[JobRecord], gpus: list[GpuRecord], gone: list[int]
    ) -> None:
        if not (records or gpus or gone):
            return
        watcher.seq += 1
        if channel.backlog() < MOST_BACKLOG:  # else: the gap in seq tells it to watch again
            channel.send(msg.encode(msg.Push(seq=watcher.seq, jobs=records, gpus=gpus, forgotten=gone)))

    def _tell_positions(self) -> None:
        """The queue moved: tell the new places of waiting jobs, where they differ from what was told."""
        self._positions = None
        state = self._api.loop.state
        for channel, watcher in tuple(self._watchers.items()):
            if watcher.jobs is None:
                waiting = [j.id for j, _ in zip(state.queue(), range(MOST_POSITIONS), strict=False)]
            else:
                waiting = [JobId(j) for j in watcher.jobs if state.position(JobId(j)) is not None]
            moved = []
            for job in waiting:
                record = self._api.record(watcher.person, state.jobs[job])
                if watcher.told.get(job) != (record.position, record.why):
                    watcher.told[job] = (record.position, record.why)
                    moved.append(record)
            self._tell(channel, watcher, moved, [], [])


def error_record(error: JupyschedError) -> ErrorRecord:
    """The shape in which every error leaves the daemon."""
    return ErrorRecord(code=error.code, message=error.sentence, hint=error.hint, fault=error.fault.value)
