"""The daemon's client: what magic, server, CLI and panels call. Knows verbs and records; knows nothing of how jobs run.

`Client` is blocking (kernels, CLI); `AsyncClient` is for event loops (the Jupyter server). Both speak wire."""

from __future__ import annotations

import asyncio
import itertools
import select
import uuid
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from jupysched import transport
from jupysched.core import errors
from jupysched.places import ensure_daemon, socket_path
from jupysched.sim.trace import TraceJob
from jupysched.wire import messages as msg
from jupysched.wire import requests as ask
from jupysched.wire.records import DaemonRecord, ErrorRecord, GpuRecord, JobRecord, ReservationRecord, UsageRecord
from jupysched.wire.samples import SamplesRecord, UsageReport

T = TypeVar("T")
ANSWERS: dict[type[ask.Ask], Any] = {
    ask.Hello: DaemonRecord,
    ask.Submit: list[int],
    ask.DryRun: JobRecord,
    ask.Show: JobRecord,
    ask.Jobs: msg.JobsPage,
    ask.Gpus: list[GpuRecord],
    ask.Cancel: list[JobRecord],
    ask.Hold: list[JobRecord],
    ask.Release: list[JobRecord],
    ask.Requeue: list[JobRecord],
    ask.SetPriority: list[JobRecord],
    ask.Front: list[JobRecord],
    ask.Watch: list[JobRecord],
    ask.Drain: list[GpuRecord],
    ask.Policy: msg.PolicyRecord,
    ask.Limit: list[UsageRecord],
    ask.Share: list[UsageRecord],
    ask.Usage: list[UsageRecord],
    ask.Samples: SamplesRecord,
    ask.UsageReport: UsageReport,
    ask.History: list[TraceJob],
    ask.Reserve: list[ReservationRecord],
    ask.Reservations: list[ReservationRecord],
    ask.Shutdown: bool,
}
_decoders = {kind: msgspec.msgpack.Decoder(answer) for kind, answer in ANSWERS.items()}


def raise_error(record: ErrorRecord) -> None:
    """Raise the daemon's error as the class it was there."""
    for kind in _leaves(errors.JupyschedError):
        if kind.code == record.code:
            raise kind(record.message, hint=record.hint)
    raise errors.ClusterError(record.message, hint=record.hint)


def _leaves(kind: type[errors.JupyschedError]) -> Iterator[type[errors.JupyschedError]]:
    yield kind
    for sub in kind.__subclasses__():
        yield from _leaves(sub)


def _value(request: ask.Ask, answer: msg.Answer) -> Any:
    if answer.error is not None:
        raise_error(answer.error)
    return _decoders[type(request)].decode(answer.value)


def _is_over(connection: transport.Connection) -> bool:
    """Has the other end gone? Between calls a living daemon says nothing."""
    poll = select.poll()
    poll.register(connection, select.POLLRDHUP)
    return bool(poll.poll(0))


class Client:
    """A blocking client. Connects at first use, again after the daemon was away; starts a personal daemon if asked.

    Raises DaemonMissing where there is none, and the daemon's own errors (NoSuchJob, NotYours, TooManyGpus, ...)."""

    def __init__(self, *, socket: Path | None = None, start: bool = True, timeout_s: float = 60.0) -> None:
        self._path = socket or socket_path()
        self._start = start
        self._timeout_s = timeout_s
        self._connection: transport.Connection | None = None
        self._numbers = itertools.count(1)

    def call(self, request: ask.Request) -> Any:
        """The answer's value. A request is sent again once, to a daemon that answers, if the first one went before it did."""
        return self._call(request, is_last=False)

    def _call(self, request: ask.Request, *, is_last: bool) -> Any:
        connection = self._connect()
        number = next(self._numbers)
        is_sent = False
        try:
            connection.send(msg.encode(msg.Call(number=number, ask=request)))
            is_sent = True
            while True:
                message = msg.decode_from_daemon(connection.receive())
                if isinstance(message, msg.Answer) and message.number == number:
                    return _value(request, message)
        except ConnectionError as error:
            self.close()
            # It may have been taken before the daemon went, unless not even all of it was sent.
            again = ask.to_send_again(request) if is_sent else request
            if is_last or again is None:
                raise errors.DaemonMissing(
                    "The daemon went away while it was asked.", hint="Look at `jupysched queue` before you try again."
                ) from error
            if self._start:
                ensure_daemon(self._path)
            return self._call(again, is_last=True)
        except TimeoutError as error:
            self.close()
            raise errors.DaemonMissing(f"The daemon did not answer within {self._timeout_s:g} s.") from error

    def _connect(self) -> transport.Connection:
        if self._connection is not None and _is_over(self._connection):
            # The daemon ended since the last call: nothing was asked yet, so a submission too may go to the next one.
            self.close()
        if self._connection is None:
            try:
                self._connection = transport.Connection(self._path, timeout_s=self._timeout_s)
            except OSError as error:
                if not self._start:
                    raise errors.DaemonMissing(
                        f"No daemon listens at {self._path}.", hint="`%gpujob` or `jupysched lab` starts one."
                    ) from error
                ensure_daemon(self._path)
                self._connection = transport.Connection(self._path, timeout_s=self._timeout_s)
        return self._connection

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def hello(self) -> DaemonRecord:
        """The daemon itself."""
        return self.call(ask.Hello())  # type: ignore[no-any-return]

    def submit(self, *specs: ask.SpecRecord) -> list[int]:
        """Ids of the jobs, durable when this returns. All are accepted or none."""
        return self.call(ask.Submit(jobs=list(specs), key=uuid.uuid4().hex))  # type: ignore[no-any-return]

    def dry_run(self, spec: ask.SpecRecord) -> JobRecord:
        """What would become of it; queues nothing. Raises what submit would raise."""
        return self.call(ask.DryRun(job=spec))  # type: ignore[no-any-return]

    def job(self, job: int) -> JobRecord:
        """One job. Raises NoSuchJob."""
        return self.call(ask.Show(job=job))  # type: ignore[no-any-return]

    def jobs(
        self, *, users: list[str] | None = None, states: list[str] | None = None, limit: int = 100, offset: int = 0
    ) -> msg.JobsPage:
        """Running, queued in order, held, ended (newest first)."""
        return self.call(ask.Jobs(users=users, states=states, limit=limit, offset=offset))  # type: ignore[no-any-return]

    def gpus(self) -> list[GpuRecord]:
        """Every GPU or CPU slot."""
        return self.call(ask.Gpus())  # type: ignore[no-any-return]

    def cancel(self, *jobs: int) -> list[JobRecord]:
        """Ends waiting jobs, orders running ones to stop."""
        return self.call(ask.Cancel(jobs=list(jobs)))  # type: ignore[no-any-return]

    def hold(self, *jobs: int) -> list[JobRecord]:
        """Waiting jobs are not considered until released."""
        return self.call(ask.Hold(jobs=list(jobs)))  # type: ignore[no-any-return]

    def release(self, *jobs: int) -> list[JobRecord]:
        """Held jobs wait again."""
        return self.call(ask.Release(jobs=list(jobs)))  # type: ignore[no-any-return]

    def requeue(self, *jobs: int) -> list[JobRecord]:
        """Running jobs are stopped and wait again; ended ones get a new attempt."""
        return self.call(ask.Requeue(jobs=list(jobs)))  # type: ignore[no-any-return]

    def set_priority(self, priority: str, *jobs: int) -> list[JobRecord]:
        """Changes the class of waiting jobs."""
        return self.call(ask.SetPriority(jobs=list(jobs), priority=priority))  # type: ignore[no-any-return]

    def front(self, *jobs: int) -> list[JobRecord]:
        """Waiting jobs ahead of the others of their user and class; by an admin, ahead of all."""
        return self.call(ask.Front(jobs=list(jobs)))  # type: ignore[no-any-return]

    def drain(self, gpus: Sequence[str], *, why: str = "", restore: bool = False) -> list[GpuRecord]:
        """GPUs that take no new job (admins)."""
        return self.call(ask.Drain(gpus=list(gpus), why=why, restore=restore))  # type: ignore[no-any-return]

    def policy(self, name: str | None = None, settings: dict[str, str] | None = None) -> msg.PolicyRecord:
        """The policy in force; with a name, after setting it (admins)."""
        return self.call(ask.Policy(name=name, settings=settings or {}))  # type: ignore[no-any-return]

    def usage(self) -> list[UsageRecord]:
        """Who uses, and has used, how much."""
        return self.call(ask.Usage())  # type: ignore[no-any-return]

    def history(self) -> list[TraceJob]:
        """What ran here, as a trace (admins)."""
        return self.call(ask.History())  # type: ignore[no-any-return]

    def limit(self, scope: str, limits: dict[str, float]) -> list[UsageRecord]:
        """What a scope may use at most (admins); no limits: take them away."""
        return self.call(ask.Limit(scope=scope, limits=limits))  # type: ignore[no-any-return]

    def share(self, scope: str, share: float, *, parent: str = "") -> list[UsageRecord]:
        """What a user or group is entitled to (admins)."""
        return self.call(ask.Share(scope=scope, share=share, parent=parent))  # type: ignore[no-any-return]

    def reserve(self, reservation: ask.Reserve) -> list[ReservationRecord]:
        """Keep GPUs for a scope for a while (admins)."""
        return self.call(reservation)  # type: ignore[no-any-return]

    def reservations(self) -> list[ReservationRecord]:
        """What is kept for whom."""
        return self.call(ask.Reservations())  # type: ignore[no-any-return]

    def shutdown(self) -> None:
        """The daemon ends; jobs go on."""
        self.call(ask.Shutdown())


class AsyncClient:
    """For event loops. One connection; `watch` yields pushes until it is lost.

    Asks nothing again: who watches must hear that a connection is lost, with what was not told over it, and all of its
    callers begin anew then; in a page the queue is shown as down for that moment, and a click that failed in it says so."""

    def __init__(self, *, socket: Path | None = None) -> None:
        self._socket = socket
        self._channel: transport.Channel | None = None
        self._numbers = itertools.count(1)
        self._waiting: dict[int, tuple[ask.Request, asyncio.Future[Any]]] = {}
        self._pushes: asyncio.Queue[msg.Push | None] = asyncio.Queue()

    async def connect(self) -> None:
        """Raises DaemonMissing if nobody listens; as `socket_path` does, where no socket was named."""
        if self._channel is not None:
            return
        path = self._socket or socket_path()
        channel = transport.Channel(received=self._received, lost=self._lost)
        try:
            await transport.connect(path, channel)
        except OSError as error:
            raise errors.DaemonMissing(f"No daemon listens at {path}.") from error
        self._channel = channel
        self._pushes = asyncio.Queue()

    def _received(self, _: transport.Channel, body: bytes) -> None:
        message = msg.decode_from_daemon(body)
        if isinstance(message, msg.Push):
            self._pushes.put_nowait(message)
            return
        request, future = self._waiting.pop(message.number, (None, None))
        if future is None or request is None or future.done():
            return
        try:
            future.set_result(_value(request, message))
        except errors.JupyschedError as error:
            future.set_exception(error)

    def _lost(self, _: transport.Channel) -> None:
        self._channel = None
        waiting, self._waiting = self._waiting, {}
        for _request, future in waiting.values():
            if not future.done():
                future.set_exception(errors.DaemonMissing("The daemon went away while it was asked."))
        self._pushes.put_nowait(None)

    async def call(self, request: ask.Request) -> Any:
        """The answer's value; see Client.call."""
        await self.connect()
        assert self._channel is not None
        number = next(self._numbers)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = (request, future)
        self._channel.send(msg.encode(msg.Call(number=number, ask=request)))
        try:
            return await future
        finally:
            self._waiting.pop(number, None)

    async def watch(self, jobs: list[int] | None = None) -> AsyncIterator[msg.Push]:
        """First a push with the present records, then one for each change. Ends when the daemon goes."""
        present: list[JobRecord] = await self.call(ask.Watch(jobs=jobs))
        yield msg.Push(seq=0, jobs=present)
        while (push := await self._pushes.get()) is not None:
            yield push

    async def close(self) -> None:
        """Close the connection."""
        if self._channel is not None:
            self._channel.close()
