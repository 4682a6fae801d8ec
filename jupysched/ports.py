"""The doors the daemon needs, as Protocols. Each has a twin in jupysched.testing that passes the same contract tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from jupysched.core.events import Event
from jupysched.core.job import Exit, JobId
from jupysched.core.resources import Gpu, GpuId, Node


class Clock(Protocol):
    """Time: unix seconds for people, monotonic seconds for durations."""

    def now(self) -> float: ...


class Journal(Protocol):
    """The append-only record of events; the durable truth."""

    def read(self) -> Iterable[Event]:
        """Every event, oldest first. A torn last write is dropped, anything else unreadable raises JournalDamaged."""
        ...

    def append(self, events: Sequence[Event]) -> None:
        """Durable when it returns (one transaction). Raises DiskFull, and then nothing of `events` is kept."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class StartOrder:
    """What an agent needs to start one attempt."""

    job: JobId
    attempt: int
    #: the job's directory (launch.json, input.pickle, a<N>/)
    directory: str
    uid: int
    #: GPUs in the order the job shall see them; CUDA_VISIBLE_DEVICES is made of these
    gpus: tuple[Gpu, ...]
    name: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What an agent says about one attempt. `kind`: running | metrics | ended | refused | lost."""

    job: JobId
    attempt: int
    kind: str
    at: float
    exit: Exit | None = None
    sentence: str = ""
    #: last value of each metric, as the job logged it
    metrics: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample:
    """One reading of one GPU; None = not supported by this card or driver, never 0."""

    gpu: GpuId
    at: float
    utilization_percent: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    pcie_rx_bytes_per_s: float | None = None
    pcie_tx_bytes_per_s: float | None = None
    nvlink_rx_bytes_per_s: float | None = None
    nvlink_tx_bytes_per_s: float | None = None
    #: pid -> bytes of GPU memory (None where NVML does not say)
    processes: Mapping[int, int | None] = field(default_factory=dict)
    #: a sentence if the GPU is lost or reports errors; "" if it is well
    fault: str = ""
    #: numbers of the errors that the driver reported since the last reading (NVIDIA's XID)
    xids: tuple[int, ...] = ()
    #: how users call it ("GPU 3")
    label: str = ""


class GpuProbe(Protocol):
    """What NVML says. Every metric is read on its own: one that fails is None and harms no other."""

    def inventory(self) -> Sequence[Gpu]:
        """The GPUs of this machine (MIG devices as what they are); empty where there is none or no driver."""
        ...

    def sample(self) -> Sequence[GpuSample]:
        """A reading of each GPU of the inventory."""
        ...

    def links(self) -> Mapping[tuple[int, int], str]:
        """Worst link between two GPUs by index: 'NVLink x12', 'PIX', 'PXB', 'PHB', 'NODE', 'SYS'; empty if unknown."""
        ...


#: seconds after the interrupt, seconds after SIGTERM, and, if there is a third, seconds of notice before the interrupt
Grace = tuple[float, ...]
#: called in the daemon's loop
OnHeard = Callable[[Heard], None]
OnNode = Callable[[Sequence[Event]], None]


class Cluster(Protocol):
    """Carries start and stop orders to agents and what they say back. Decides nothing.

    Two adapters: agents in the daemon's own process (CPU slots), and dask-cuda workers reached through our
    SchedulerPlugin's worker streams."""

    async def start(self, *, heard: OnHeard, node: OnNode) -> None:
        """Bring the cluster up. Nodes and GPUs are told through `node` (NodeJoined, GpuDrained, GpuRestored), now or later."""
        ...

    def order_start(self, order: StartOrder) -> None:
        """Send it to the agent of the first GPU; idempotent (a second order for a live attempt is answered `running`)."""
        ...

    def order_stop(self, order: StartOrder, *, grace_s: Grace, nth: int) -> None:
        """Interrupt now (or give notice and interrupt after grace_s[2]), TERM after grace_s[0], stop for good after
        grace_s[1] more. A second order escalates; one that is only repeated (`nth`, counted by attempt, tells) does not."""
        ...

    def order_freeze(self, order: StartOrder) -> None:
        """Stop every process of the attempt where it stands (SIGSTOP)."""
        ...

    def order_thaw(self, order: StartOrder) -> None:
        """Let them go on."""
        ...

    def adopt(self, order: StartOrder) -> None:
        """Look after an attempt that was started before this daemon: answers running, ended or lost through `heard`."""
        ...

    async def close(self) -> None:
        """Let go of the agents; attempts go on."""
        ...


class Directory(Protocol):
    """Who is who on this system."""

    def user_name(self, uid: int) -> str: ...

    def groups(self, uid: int) -> Sequence[str]: ...

    def is_admin(self, uid: int) -> bool: ...


__all__ = [
    "Clock",
    "Cluster",
    "Directory",
    "Gpu",
    "GpuProbe",
    "GpuSample",
    "Grace",
    "Heard",
    "Journal",
    "Node",
    "OnHeard",
    "OnNode",
    "StartOrder",
]
