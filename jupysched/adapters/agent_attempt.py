"""One attempt that an agent looks after, and what it is given beside its notebook's environment. Knows orders; knows nothing of
launchers or shims."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jupysched.core.resources import GpuKind
from jupysched.ports import StartOrder

Key = tuple[int, int]


@dataclass(slots=True, kw_only=True)
class Live:
    """One attempt we look after."""

    order: StartOrder
    #: where its spool is
    path: str
    #: the daemon was told that it runs
    is_told: bool = False
    #: pid of its shim, once known
    shim: int | None = None
    #: the launcher has not answered its start order yet
    is_ordered: bool = False
    #: orders (stop, freeze, thaw) that its shim has not taken yet, oldest first
    words: list[dict[str, Any]] = field(default_factory=list)
    #: it looked lost at the last look
    is_missing: bool = False
    #: another look is due soon
    is_look_due: bool = False
    #: the launcher could not be asked to confirm that it is lost
    is_unconfirmed: bool = False

    @property
    def key(self) -> Key:
        return (self.order.job, self.order.attempt)


def environment(order: StartOrder) -> dict[str, str]:
    """Return what an attempt is given beside its notebook's environment: exactly the granted GPUs, by UUID."""
    gpus = [gpu.id for gpu in order.gpus if gpu.kind is not GpuKind.CPU_SLOT]
    return {
        "CUDA_VISIBLE_DEVICES": ",".join(gpus),
        "JUPYSCHED_JOB": str(order.job),
        "JUPYSCHED_ATTEMPT": str(order.attempt),
    }
