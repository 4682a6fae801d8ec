"""The daemon's jobs and GPUs as this server last heard them, and what changed since any moment. No input or output."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from jupysched.core.states import ENDED
from jupysched.wire.browser import Change, GpuRow, JobRow, LossRecord, Refresh
from jupysched.wire.records import DaemonRecord, GpuRecord, JobRecord

#: ended jobs in a refresh; older ones are asked for page by page
MOST_ENDED = 500
#: a page that missed more than this gets a refresh
MOST_CHANGES = 2000
_ENDED = frozenset(s.value for s in ENDED)


def job_row(record: JobRecord, root: str = "") -> JobRow:
    """The record as a list needs it; `path` is the notebook's, as this server's pages open it."""
    row = msgspec.convert(record, JobRow, from_attributes=True)
    notebook = record.origin.get("notebook", "")
    row.origin = {k: v for k, v in record.origin.items() if k == "cell_id"}
    if root and notebook.startswith(root + "/"):
        row.origin["path"] = notebook[len(root) + 1 :]
    row.directory = ""
    row.gpu_ids = []
    return row


class Picture:
    """Records with the number of the change that brought each. `seq` grows by one with every publication."""

    def __init__(self, *, epoch: str, me: str, may_start: bool, root: str = "") -> None:
        self.epoch = epoch
        self.me = me
        self.may_start = may_start
        #: the folder that the server's pages see as /
        self.root = root.rstrip("/")
        self.seq = 0
        self.daemon: DaemonRecord | None = None
        self.down = "The GPU queue has not answered yet."
        self.jobs: dict[int, JobRecord] = {}
        self.gpus: list[GpuRecord] = []
        self.losses: dict[int, LossRecord] = {}
        self.total = 0
        #: (kind, job) -> seq of its last change, oldest first
        self._changed: OrderedDict[tuple[str, int], int] = OrderedDict()
        self._gpus_at = 0
        self._daemon_at = 0
        #: changes before this one are not known any more
        self._floor = 0

    def _mark(self, kind: str, job: int) -> None:
        self._changed[kind, job] = self.seq
        self._changed.move_to_end((kind, job))

    def afresh(self, *, daemon: DaemonRecord, jobs: Iterable[JobRecord], gpus: list[GpuRecord], total: int) -> None:
        """The daemon is there (again): everything may be different."""
        self.seq += 1
        self.daemon, self.down = daemon, ""
        self.jobs = {j.id: j for j in jobs}
        self.gpus, self.total = gpus, total
        self.losses = {j: loss for j, loss in self.losses.items() if j in self.jobs}
        self._changed.clear()
        self._floor = self.seq

    def lost(self, sentence: str) -> bool:
        """The daemon does not answer. False if that was known."""
        if self.daemon is None and self.down == sentence:
            return False
        self.seq += 1
        self.daemon, self.down = None, sentence
        self._daemon_at = self.seq
        return True

    def changed(
        self,
        *,
        jobs: Iterable[JobRecord] = (),
        forgotten: Iterable[int] = (),
        gpus: list[GpuRecord] | None = None,
        losses: Iterable[LossRecord] = (),
    ) -> None:
        """Take in what the daemon pushed."""
        self.seq += 1
        for job in jobs:
            self.total += job.id not in self.jobs
            self.jobs[job.id] = job
            self._mark("job", job.id)
        for job_id in forgotten:
            if self.jobs.pop(job_id, None) is not None:
                self.total -= 1
                self._mark("job", job_id)
            self.losses.pop(job_id, None)
        if gpus is not None:
            self.gpus, self._gpus_at = gpus, self.seq
        for loss in losses:
            self.losses[loss.job] = loss
            self._mark("loss", loss.job)
        self._forget_old_marks()

    def _forget_old_marks(self) -> None:
        while len(self._changed) > 4 * MOST_CHANGES:
            _, self._floor = self._changed.popitem(last=False)

    def refresh(self) -> Refresh:
        """Everything, with the newest ended jobs only."""
        ended = sorted(
            (j for j in self.jobs.values() if j.state in _ENDED), key=lambda j: (j.ended_at or "", j.id), reverse=True
        )
        shown = [j for j in self.jobs.values() if j.state not in _ENDED] + ended[:MOST_ENDED]
        return Refresh(
            epoch=self.epoch,
            seq=self.seq,
            daemon=self.daemon,
            down=self.down,
            may_start=self.may_start,
            me=self.me,
            jobs=[job_row(j, self.root) for j in shown],
            gpus=_gpu_rows(self.gpus),
            losses=list(self.losses.values()),
            older=max(0, self.total - len(shown)),
        )

    def since(self, seq: int) -> Change | None:
        """What differs since `seq`; None if that is too long ago, or too much."""
        if seq < self._floor or seq > self.seq:
            return None
        jobs: list[JobRow] = []
        gone: list[int] = []
        losses: list[LossRecord] = []
        for count, ((kind, job), at) in enumerate(reversed(self._changed.items())):
            if at <= seq:
                break
            if count > MOST_CHANGES:
                return None
            if kind == "loss":
                losses.extend(self.losses[j] for j in (job,) if j in self.losses)
            elif job in self.jobs:
                jobs.append(job_row(self.jobs[job], self.root))
            else:
                gone.append(job)
        spoke = self._daemon_at > seq
        return Change(
            seq=self.seq,
            since=seq,
            jobs=jobs[::-1],
            forgotten=gone,
            losses=losses[::-1],
            gpus=_gpu_rows(self.gpus) if self._gpus_at > seq else None,
            daemon=self.daemon if spoke else None,
            down=self.down if spoke else None,
        )


def _gpu_rows(gpus: list[GpuRecord]) -> list[GpuRow]:
    return [msgspec.convert(g, GpuRow, from_attributes=True) for g in gpus]
