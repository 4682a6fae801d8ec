"""REST on Jupyter's own origin. Every handler asks Jupyter who is calling and whether they may; the daemon decides the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from http import HTTPStatus
from typing import Any

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from jupysched.core import errors
from jupysched.panels.training import MetricsBook
from jupysched.server import cards, spools
from jupysched.server.picture import job_row
from jupysched.server.relay import Relay
from jupysched.wire import requests as ask
from jupysched.wire.browser import ActionAsk, AnswerAsk, LineAsk
from jupysched.wire.messages import JobsPage
from jupysched.wire.records import ErrorRecord, JobRecord

#: Jupyter's authorizer is asked about this resource
RESOURCE = "jupysched"
#: the status follows from whose fault it is; a code that HTTP has a word for gets that word
STATUS = {
    errors.DaemonMissing.code: HTTPStatus.SERVICE_UNAVAILABLE,
    errors.NoSuchJob.code: HTTPStatus.NOT_FOUND,
    errors.NotYours.code: HTTPStatus.FORBIDDEN,
    errors.WrongState.code: HTTPStatus.CONFLICT,
}
BY_FAULT = {
    errors.Fault.USER: HTTPStatus.BAD_REQUEST,
    errors.Fault.CLUSTER: HTTPStatus.BAD_GATEWAY,
    errors.Fault.BUG: HTTPStatus.INTERNAL_SERVER_ERROR,
}
#: jobs of one page
MOST_JOBS = 1000

Method = Callable[..., Awaitable[Any]]


class Handler(APIHandler):
    """What ours have in common: the relay, and one place where errors become statuses."""

    auth_resource = RESOURCE

    @property
    def relay(self) -> Relay:
        """The one relay of this server."""
        return self.settings["jupysched_relay"]  # type: ignore[no-any-return]

    @property
    def book(self) -> MetricsBook:
        """The metrics of jobs that somebody looks at."""
        return self.settings["jupysched_book"]  # type: ignore[no-any-return]

    async def own(self, job: str) -> JobRecord:
        """The job, if its files may be read by who runs this server. Raises NoSuchJob, NotYours, DaemonMissing."""
        record: JobRecord = await self.relay.call(ask.Show(job=int(job)))
        if not record.directory:
            raise errors.NotYours(f"Job {job} belongs to {record.user}; its output is theirs alone.")
        return record

    def body(self, kind: type[msgspec.Struct]) -> Any:
        """The request's body as `kind`. Raises BadRequest."""
        try:
            return msgspec.json.decode(self.request.body, type=kind)
        except msgspec.MsgspecError as error:
            raise errors.BadRequest(f"The request cannot be read: {error}.") from error


def answers(method: Method) -> Method:
    """Write what the method returns as JSON, and what it raises as an ErrorRecord with its status."""

    @wraps(method)
    async def call(self: Handler, *arguments: str) -> None:
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        try:
            value = await method(self, *arguments)
        except errors.JupyschedError as error:
            self.set_status(STATUS.get(error.code, BY_FAULT[error.fault]))
            value = ErrorRecord(code=error.code, message=error.sentence, hint=error.hint, fault=error.fault.value)
        await self.finish(msgspec.json.encode(value))

    return call


class StateHandler(Handler):
    """GET: the whole picture, as the stream's first message has it."""

    @web.authenticated
    @authorized
    @answers
    async def get(self) -> Any:
        return self.relay.picture.refresh()


class DaemonHandler(Handler):
    """GET: the daemon. POST: start it."""

    @web.authenticated
    @authorized
    @answers
    async def get(self) -> Any:
        return await self.relay.call(ask.Hello())

    @web.authenticated
    @authorized
    @answers
    async def post(self) -> Any:
        await self.relay.start_daemon()
        return await self.relay.call(ask.Hello())


class JobsHandler(Handler):
    """GET: a page of jobs."""

    @web.authenticated
    @authorized
    @answers
    async def get(self) -> Any:
        try:
            limit, offset = int(self.get_argument("limit", "100")), int(self.get_argument("offset", "0"))
        except ValueError as error:
            raise errors.BadRequest("limit and offset are whole numbers.") from error
        users, states = self.get_arguments("user") or None, self.get_arguments("state") or None
        wanted = ask.Jobs(users=users, states=states, limit=max(0, min(limit, MOST_JOBS)), offset=max(0, offset))
        page: JobsPage = await self.relay.call(wanted)
        return {"jobs": [job_row(j, self.relay.picture.root) for j in page.jobs], "total": page.total}


class ActionsHandler(Handler):
    """POST: cancel, hold, release, move to the front, requeue jobs, or change their priority."""

    @web.authenticated
    @authorized
    @answers
    async def post(self) -> Any:
        asked: ActionAsk = self.body(ActionAsk)
        verbs: dict[str, ask.Request] = {
            "cancel": ask.Cancel(jobs=asked.jobs),
            "hold": ask.Hold(jobs=asked.jobs),
            "release": ask.Release(jobs=asked.jobs),
            "front": ask.Front(jobs=asked.jobs),
            "requeue": ask.Requeue(jobs=asked.jobs),
            "priority": ask.SetPriority(jobs=asked.jobs, priority=asked.priority),
        }
        if asked.verb not in verbs:
            raise errors.BadRequest(f"There is no action {asked.verb!r}.", hint=f"There are {', '.join(verbs)}.")
        return await self.relay.call(verbs[asked.verb])


class DryRunHandler(Handler):
    """POST a line of %%gpujob options: would it be accepted, and when would it start?"""

    @web.authenticated
    @authorized
    @answers
    async def post(self) -> Any:
        asked: LineAsk = self.body(LineAsk)
        return await self.relay.call(ask.DryRun(job=cards.spec(asked.line)))


class JobHandler(Handler):
    """GET: one job."""

    @web.authenticated
    @authorized
    @answers
    async def get(self, job: str) -> Any:
        return await self.relay.call(ask.Show(job=int(job)))


class DetailHandler(Handler):
    """GET: spec, cell, attempts, environment and files of one's own job."""

    @web.authenticated
    @authorized
    @answers
    async def get(self, job: str) -> Any:
        return await asyncio.to_thread(spools.detail, await self.own(job))


class OutputsHandler(Handler):
    """GET: what the job's cell should show now, the card included."""

    @web.authenticated
    @authorized
    @answers
    async def get(self, job: str) -> Any:
        record = await self.own(job)
        snapshot, screen = await asyncio.to_thread(spools.take_snapshot, record.id, record.directory, record.attempt)
        loss, _ = await self.book.newest_loss(record)
        snapshot.card = await asyncio.to_thread(cards.card, record, loss, tuple(screen.notes))
        return snapshot


class AnswerHandler(Handler):
    """POST: the answer to the input() of one's own job, where its kernel can ask nobody any more."""

    @web.authenticated
    @authorized
    @answers
    async def post(self, job: str) -> Any:
        asked: AnswerAsk = self.body(AnswerAsk)
        record = await self.own(job)
        if not await asyncio.to_thread(spools.answer, record.directory, asked.attempt, asked.question, asked.value):
            raise errors.WrongState(f"Job {job} does not wait for an answer.")
        return True


class LogHandler(Handler):
    """GET: the output as text from byte `start` on, in pieces. A log viewer asks on from `end`."""

    @web.authenticated
    @authorized
    @answers
    async def get(self, job: str) -> Any:
        record = await self.own(job)
        try:
            start = max(0, int(self.get_argument("start", "0")))
            attempt = int(self.get_argument("attempt", str(record.attempt)))
        except ValueError as error:
            raise errors.BadRequest("start and attempt are whole numbers.") from error
        return await asyncio.to_thread(spools.read_outputs, record.id, record.directory, attempt, start)


class MetricsHandler(Handler):
    """GET: all metrics of one's own job, thinned."""

    @web.authenticated
    @authorized
    @answers
    async def get(self, job: str) -> Any:
        return await self.book.metrics(await self.own(job))


ROUTES: tuple[tuple[str, type[Handler]], ...] = (
    ("state", StateHandler),
    ("daemon", DaemonHandler),
    ("jobs", JobsHandler),
    ("actions", ActionsHandler),
    ("dry-run", DryRunHandler),
    (r"jobs/([0-9]{1,12})", JobHandler),
    (r"jobs/([0-9]{1,12})/detail", DetailHandler),
    (r"jobs/([0-9]{1,12})/outputs", OutputsHandler),
    (r"jobs/([0-9]{1,12})/answer", AnswerHandler),
    (r"jobs/([0-9]{1,12})/log", LogHandler),
    (r"jobs/([0-9]{1,12})/metrics", MetricsHandler),
)
