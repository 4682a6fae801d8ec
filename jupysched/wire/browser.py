"""What travels between the Jupyter server and the pages it serves, beside the records themselves. Knows JSON shapes only.

Fields that stand at their default are left out on the way; the page puts them back (schema.ts holds the defaults)."""

from __future__ import annotations

from typing import Any

import msgspec

from jupysched.wire.records import DaemonRecord, GpuRecord, JobRecord


class JobRow(JobRecord, kw_only=True, omit_defaults=True):
    """A JobRecord as a list needs it: without the directory, and with what is at its default left out."""


class GpuRow(GpuRecord, kw_only=True, omit_defaults=True):
    """A GpuRecord with what is at its default left out."""


class LossRecord(msgspec.Struct, kw_only=True):
    """The newest value of a job's first metric, and a few points of its way there."""

    job: int
    #: "loss", "val_loss", ...
    name: str
    #: None where it is not a number (NaN, infinity)
    value: float | None = None
    step: float | None = None
    epoch: float | None = None
    #: at most 40 points; None is a gap
    spark: list[float | None] = []
    #: "NaN since step 120", or ""
    mark: str = ""


class Refresh(msgspec.Struct, kw_only=True, tag_field="type", tag="refresh"):
    """Everything. Sent when a page connects, and when it fell too far behind."""

    #: changes with every start of the Jupyter server; a page that knows another one starts afresh
    epoch: str
    seq: int
    daemon: DaemonRecord | None = None
    #: "" while the daemon answers; else one sentence
    down: str = ""
    #: may a page ask this server to start the daemon?
    may_start: bool = False
    me: str = ""
    jobs: list[JobRow] = []
    gpus: list[GpuRow] = []
    losses: list[LossRecord] = []
    #: ended jobs that the daemon knows beyond those in `jobs`
    older: int = 0


class Change(msgspec.Struct, kw_only=True, tag_field="type", tag="change", omit_defaults=True):
    """What differs since `since`. A page that is not at `since` asks for a refresh by connecting again."""

    seq: int
    since: int
    jobs: list[JobRow] = []
    forgotten: list[int] = []
    #: all GPUs, or None if none changed
    gpus: list[GpuRow] | None = None
    losses: list[LossRecord] = []
    #: set when the daemon went or came back
    daemon: DaemonRecord | None = None
    down: str | None = None


class Op(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One thing a job did to its cell's outputs."""

    #: stream | output | update | clear | input | note
    op: str
    #: stream: "stdout" or "stderr"
    name: str = ""
    #: stream, note: the text; input: the prompt
    text: str = ""
    #: output: as nbformat has it; update: only data and metadata matter
    output: dict[str, Any] | None = None
    display_id: str = ""
    #: clear: only when the next output comes
    wait: bool = False


class Outputs(msgspec.Struct, kw_only=True, tag_field="type", tag="outputs"):
    """Outputs of one attempt from byte `start` of its spool up to `end`; ask on from `end`."""

    job: int
    attempt: int
    start: int
    end: int
    ops: list[Op] = []
    #: the attempt has ended and nothing follows `end`
    ended: bool = False


class Snapshot(msgspec.Struct, kw_only=True):
    """What a job's cell should show now, and from where to follow on."""

    job: int
    attempt: int
    end: int
    ended: bool
    #: as Op with op "output": streams joined, overwritten lines gone, updates applied
    ops: list[Op] = []
    #: a clear that waits for the next output
    clearing: bool = False
    #: the question of an input() that nobody has answered: prompt, number (display_id), and name "text" or "password"
    asks: Op | None = None
    #: the MIME bundle of the card, as it should be saved
    card: dict[str, Any] = {}


class Follow(msgspec.Struct, kw_only=True, tag_field="type", tag="follow"):
    """From a page: send this job's outputs from byte `start` of that attempt's spool, and go on."""

    job: int
    attempt: int
    start: int = 0


class Unfollow(msgspec.Struct, kw_only=True, tag_field="type", tag="unfollow"):
    """From a page: no more of this job's outputs."""

    job: int


class ActionAsk(msgspec.Struct, kw_only=True):
    """What to do with some jobs."""

    #: cancel | hold | release | front | requeue | priority
    verb: str
    jobs: list[int]
    priority: str = "normal"


class AnswerAsk(msgspec.Struct, kw_only=True):
    """What a person typed for a job's input(). `question` is its number."""

    attempt: int
    question: int
    value: str


class LineAsk(msgspec.Struct, kw_only=True):
    """A line of %%gpujob options, to be checked by a dry run."""

    line: str


class AttemptRecord(msgspec.Struct, kw_only=True):
    """One attempt as its spool directory tells it."""

    number: int
    started_at: str | None = None
    ended_at: str | None = None
    #: "running", "ok", "error", "interrupted", "exit code 3", "signal 9", "unknown"
    outcome: str = "unknown"
    error: str = ""
    output_bytes: int = 0
    max_rss_bytes: int | None = None


class DetailRecord(msgspec.Struct, kw_only=True):
    """All about one job, for its owner."""

    job: JobRecord
    cell: str = ""
    interpreter: str = ""
    cwd: str = ""
    environment: dict[str, str] = {}
    attempts: list[AttemptRecord] = []
    files: dict[str, int] = {}


class SeriesRecord(msgspec.Struct, kw_only=True):
    """The points kept of one metric of one job; long series are thinned, but never their first, last, least or gaps."""

    name: str
    steps: list[float | None]
    epochs: list[float | None]
    times: list[float]
    #: None is a gap: NaN or an infinity, told apart in `marks`
    values: list[float | None]
    marks: dict[int, str] = {}
    total: int = 0


class MetricsRecord(msgspec.Struct, kw_only=True):
    """All metrics of one job."""

    job: int
    attempt: int
    series: list[SeriesRecord] = []
