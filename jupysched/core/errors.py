"""Errors that reach people: a code, a sentence, a hint. Three faults: the request, the world, us."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class Fault(StrEnum):
    """Whose fault it is; the status on a wire is derived from this."""

    USER = "user"
    CLUSTER = "cluster"
    BUG = "bug"


class JupyschedError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "error"
    fault: ClassVar[Fault] = Fault.BUG
    hint: str = ""

    def __init__(self, sentence: str = "", *, hint: str = "") -> None:
        self.sentence = sentence or (self.__doc__ or "").split("\n")[0]
        self.hint = hint or self.hint
        super().__init__(self.sentence + (f" {self.hint}" if self.hint else ""))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the sentence, never a traceback of ours."""
        return [f"\x1b[31m{type(self).__name__}\x1b[39m: {self}"]


class UserError(JupyschedError):
    """The request cannot be served as it is."""

    code = "user_error"
    fault = Fault.USER


class BadRequest(UserError):
    """The request is malformed."""

    code = "bad_request"


class TooManyGpus(UserError):
    """More GPUs were asked for than there are."""

    code = "too_many_gpus"


class OverLimit(UserError):
    """A limit does not allow it."""

    code = "over_limit"
    hint = "`jupysched usage` shows the limits."


class NoSuchJob(UserError):
    """There is no such job."""

    code = "no_such_job"
    hint = "`%gpujobs` lists your jobs."


class NotYours(UserError):
    """The job belongs to another user."""

    code = "not_yours"


class BadDependency(UserError):
    """A job named in --after does not exist or did not succeed."""

    code = "bad_dependency"


class WrongState(UserError):
    """The job's state does not allow this."""

    code = "wrong_state"


class ClusterError(JupyschedError):
    """The world outside did not do as asked."""

    code = "cluster_error"
    fault = Fault.CLUSTER


class DaemonMissing(ClusterError):
    """The daemon does not answer."""

    code = "daemon_missing"


class DiskFull(ClusterError):
    """The disk is full."""

    code = "disk_full"


class Bug(JupyschedError):
    """This should not have happened."""

    code = "bug"
