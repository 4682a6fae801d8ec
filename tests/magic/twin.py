"""A daemon that does as a test says: it queues nothing and decides nothing, but speaks as the real one does."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from jupysched import transport
from jupysched.core.errors import BadRequest, JupyschedError, NoSuchJob
from jupysched.wire import messages as msg
from jupysched.wire import requests as ask
from jupysched.wire.records import ErrorRecord, JobRecord

T = TypeVar("T")


class TwinDaemon:
    """Listens at a socket, in a thread. Records are told with `tell`."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.records: dict[int, JobRecord] = {}
        self.heard: list[ask.Ask] = []
        self.refusal: JupyschedError | None = None
        #: called in the twin's thread after a submission was taken
        self.on_submit: Callable[[JobRecord], None] = lambda record: None
        self._watchers: dict[transport.Channel, tuple[set[int] | None, int]] = {}
        self._channels: set[transport.Channel] = set()
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="twin daemon")
        self._thread.start()
        self.listen()

    # --- what a test does --------------------------------------------------------------------------------------------

    def listen(self) -> None:
        """Be there."""

        async def begin() -> None:
            self._server = await transport.serve(self.socket, self._make, mode=0o600)

        self._await(begin())

    def go_away(self) -> None:
        """Be gone, as if it had died; `listen` is the next daemon."""

        async def end() -> None:
            if self._server is not None:
                self._server.close()
            for channel in tuple(self._channels):
                channel.close()
            await asyncio.sleep(0)

        self.socket.unlink(missing_ok=True)
        self._await(end())

    def tell(self, *records: JobRecord) -> None:
        """Let these be the newest records; whoever watches hears of them."""

        async def push() -> None:
            self._push(records)

        self._await(push())

    def close(self) -> None:
        """End."""
        self.go_away()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _await(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future: concurrent.futures.Future[T] = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        return future.result(timeout=10)

    # --- what it does ------------------------------------------------------------------------------------------------

    def _make(self) -> transport.Channel:
        return transport.Channel(received=self._received, lost=self._lost)

    def _lost(self, channel: transport.Channel) -> None:
        self._channels.discard(channel)
        self._watchers.pop(channel, None)

    def _push(self, records: tuple[JobRecord, ...]) -> None:
        for record in records:
            self.records[record.id] = record
        for channel, (jobs, seq) in tuple(self._watchers.items()):
            told = [record for record in records if jobs is None or record.id in jobs]
            if told:
                self._watchers[channel] = (jobs, seq + 1)
                channel.send(msg.encode(msg.Push(seq=seq + 1, jobs=told)))

    def _received(self, channel: transport.Channel, body: bytes) -> None:
        self._channels.add(channel)
        call = msg.decode_call(body)
        self.heard.append(call.ask)
        try:
            value = self._serve(channel, call.ask)
            answer = msg.Answer(number=call.number, value=msg.encode_value(value))
        except JupyschedError as error:
            record = ErrorRecord(code=error.code, message=error.sentence, hint=error.hint, fault=error.fault.value)
            answer = msg.Answer(number=call.number, error=record)
        channel.send(msg.encode(answer))

    def _serve(self, channel: transport.Channel, request: ask.Request) -> Any:
        match request:
            case ask.Submit():
                return self._submit(request)
            case ask.DryRun():
                self._refuse()
                return _record(0, request.job)
            case ask.Show():
                return self._find(request.job)
            case ask.Jobs():
                return msg.JobsPage(jobs=list(self.records.values()), total=len(self.records))
            case ask.Watch():
                self._watchers[channel] = (None if request.jobs is None else set(request.jobs), 0)
                return [r for r in self.records.values() if request.jobs is None or r.id in request.jobs]
            case ask.Cancel() | ask.Hold() | ask.Release() | ask.Requeue() | ask.SetPriority() | ask.Front():
                return [self._find(job) for job in request.jobs]
            case ask.Gpus():
                return []
            case _:
                raise BadRequest("The twin does not know this verb.")

    def _submit(self, request: ask.Submit) -> list[int]:
        self._refuse()
        numbers = []
        for spec in request.jobs:
            number = max(self.records, default=0) + 1
            self.records[number] = _record(number, spec)
            numbers.append(number)
            self._loop.call_soon(self.on_submit, self.records[number])
        return numbers

    def _refuse(self) -> None:
        if self.refusal is not None:
            raise self.refusal

    def _find(self, job: int) -> JobRecord:
        if job not in self.records:
            raise NoSuchJob(f"There is no job {job}.")
        return self.records[job]


def _record(number: int, spec: ask.SpecRecord) -> JobRecord:
    return JobRecord(
        id=number,
        user="ann",
        name=spec.name,
        state="pending",
        directory=spec.directory,
        request=spec.request,
        position=1,
    )
