"""What may be asked of the daemon, one struct a verb; the tag is the verb. Who asks is never in the message."""

from __future__ import annotations

from typing import Annotated

import msgspec

from jupysched.wire.records import RequestRecord


class Ask(msgspec.Struct, kw_only=True, tag_field="verb", omit_defaults=True):
    """Base of all requests."""


class Hello(Ask, tag="hello"):
    """Answer: DaemonRecord."""


class SpecRecord(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One job to submit."""

    name: str
    directory: str = ""
    request: RequestRecord = msgspec.field(default_factory=RequestRecord)
    priority: str = "normal"
    after: list[int] = []
    retries: int = 0
    hold: bool = False
    origin: dict[str, str] = {}


class Submit(Ask, tag="submit"):
    """Answer: list of job ids. All are accepted, or none. With a key, a random word of the client's own: what is sent twice is
    accepted once, and both are answered alike."""

    jobs: list[SpecRecord]
    key: Annotated[str, msgspec.Meta(max_length=64)] = ""


class DryRun(Ask, tag="dry_run"):
    """Would it be accepted, and when would it start? Answer: JobRecord with id 0."""

    job: SpecRecord


class Show(Ask, tag="show"):
    """Answer: JobRecord."""

    job: int


class Jobs(Ask, tag="jobs"):
    """Answer: JobsPage. Running first, then the queue in its order, then the held, then the ended (newest first)."""

    users: list[str] | None = None
    states: list[str] | None = None
    limit: int = 100
    offset: int = 0


class Gpus(Ask, tag="gpus"):
    """Answer: list of GpuRecord."""


class Cancel(Ask, tag="cancel"):
    """Answer: list of JobRecord. Of a job that is being stopped a second one is harsher, unless it says that it is the first,
    sent `again`."""

    jobs: list[int]
    again: bool = False


class Hold(Ask, tag="hold"):
    """Answer: list of JobRecord."""

    jobs: list[int]


class Release(Ask, tag="release"):
    """Answer: list of JobRecord. A job that is not held is refused, unless this was sent before and is sent `again`."""

    jobs: list[int]
    again: bool = False


class Requeue(Ask, tag="requeue"):
    """Answer: list of JobRecord."""

    jobs: list[int]


class Front(Ask, tag="front"):
    """Answer: list of JobRecord. Pending jobs ahead of the other pending ones of their user and class; an admin's ask moves
    them ahead of all. The first named starts first."""

    jobs: list[int]


class SetPriority(Ask, tag="set_priority"):
    """Answer: list of JobRecord."""

    jobs: list[int]
    priority: str


class Watch(Ask, tag="watch"):
    """Answer: the present JobRecords; then a Push on this connection for each change. jobs=None watches all."""

    jobs: list[int] | None = None


class Drain(Ask, tag="drain"):
    """Answer: list of GpuRecord. `restore` takes the drain away. GPUs by label index, id, or node."""

    gpus: list[str]
    why: str = ""
    restore: bool = False


class Policy(Ask, tag="policy"):
    """Answer: PolicyRecord. With a name: set it."""

    name: str | None = None
    settings: dict[str, str] = {}


class Limit(Ask, tag="limit"):
    """What one scope may use at most ('user:ann', 'group:vision', 'class:low', 'user:*'); no limits: take them away.
    Answer: list of UsageRecord."""

    scope: str
    limits: dict[str, float] = {}


class Share(Ask, tag="share"):
    """What a user or group is entitled to beside others under the same parent; 0 takes it away. Answer: list of UsageRecord."""

    scope: str
    share: float = 1.0
    parent: str = ""


class Reserve(Ask, tag="reserve"):
    """Keep GPUs for one scope from a time to a time (unix seconds). gpus=0 ends the reservation.
    Answer: list of ReservationRecord."""

    name: str
    scope: str = ""
    gpus: int = 0
    starts_at: float = 0.0
    ends_at: float = 0.0


class Reservations(Ask, tag="reservations"):
    """Answer: list of ReservationRecord."""


class Usage(Ask, tag="usage"):
    """Who uses, and has used, how much. Answer: list of UsageRecord."""


class Samples(Ask, tag="samples"):
    """Readings of GPUs and CPU slots, and who held them, between two times (unix seconds; until=0: now), thinned to about `most`
    points a GPU. No GPUs named: all. Answer: SamplesRecord."""

    since: float
    until: float = 0.0
    gpus: list[str] = []
    most: int = 600


class UsageReport(Ask, tag="usage_report"):
    """Who used what on each of the last days, what was left unused, and what is idle now. Answer: samples.UsageReport."""

    days: int = 30


class History(Ask, tag="history"):
    """The site's past as a trace. Answer: list of sim.trace.TraceJob (admins)."""


class Shutdown(Ask, tag="shutdown"):
    """The daemon ends; jobs go on. Answer: true."""


Request = (
    Hello
    | Submit
    | DryRun
    | Show
    | Jobs
    | Gpus
    | Cancel
    | Hold
    | Release
    | Requeue
    | SetPriority
    | Front
    | Watch
    | Drain
    | Policy
    | Limit
    | Share
    | Reserve
    | Reservations
    | Usage
    | Samples
    | UsageReport
    | History
    | Shutdown
)


def to_send_again(request: Request) -> Request | None:
    """What to ask of the next daemon if nobody knows whether the last one heard the request; None: it must not be asked.

    Most verbs make something so, and it is so however often they are sent. A submission is known by its key. A cancel or
    release says that it is the same one: else the second would cut a running job's notice short, or be refused for what the
    first did. A requeue cannot: the first may have stopped an attempt, and the second would stop the one that followed. And
    who ends a daemon does not mean the next one."""
    match request:
        case Submit():
            return request if request.key else None
        case Cancel() | Release():
            return msgspec.structs.replace(request, again=True)
        case Requeue() | Shutdown():
            return None
        case _:
            return request
