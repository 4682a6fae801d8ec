"""What there is to give: GPUs, nodes, and what a job asks of them. Knows nothing of jobs, users or order."""

from __future__ import annotations

from enum import StrEnum
from typing import NewType

import msgspec

GpuId = NewType("GpuId", str)
NodeName = NewType("NodeName", str)


class GpuKind(StrEnum):
    """What kind of thing stands behind a GPU id."""

    GPU = "gpu"
    MIG = "mig"
    CPU_SLOT = "cpu_slot"


class Gpu(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One GPU as a job can hold it: a card, a MIG device, or a CPU slot that stands in for one."""

    #: NVML's UUID, or "CPU-SLOT-<node>-<index>"; never reused for another card
    id: GpuId
    node: NodeName
    #: position on its node, as users say it ("GPU 3")
    index: int
    name: str
    kind: GpuKind = GpuKind.GPU
    #: None where it cannot be known (CPU slots)
    memory_bytes: int | None = None
    #: cause -> sentence; the GPU takes no new job while any cause stands
    drains: dict[str, str] = {}
    #: processes that are not ours, as sentences ("PID 812, user ann, 3.1 GiB"); not handed out while any is there
    foreign: tuple[str, ...] = ()

    @property
    def is_usable(self) -> bool:
        """May be granted, if nobody holds it."""
        return not self.drains and not self.foreign

    @property
    def label(self) -> str:
        """How users call it: 'GPU 3', 'MIG 3', 'CPU slot 0'."""
        return {GpuKind.GPU: "GPU", GpuKind.MIG: "MIG", GpuKind.CPU_SLOT: "CPU slot"}[self.kind] + f" {self.index}"


class Node(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One machine with an agent."""

    name: NodeName
    cpus: int
    memory_bytes: int
    #: in the order of their index
    gpus: tuple[GpuId, ...]
    #: worst link between two GPUs of this node, by (lower index, higher index); empty where unknown
    links: dict[tuple[int, int], str] = {}


class Request(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a job asks for. Sizes in bytes, durations in seconds."""

    gpus: int = 1
    #: share of one GPU by memory; None asks for the whole GPU
    gpu_memory_bytes: int | None = None
    #: a word that must occur in the GPU's name, case ignored
    gpu_type: str | None = None
    cpus: int | None = None
    memory_bytes: int | None = None
    time_limit_s: float | None = None
    #: nodes it may spread over; 0 = as many as its GPUs need, whole nodes first
    nodes: int = 1


class Allocation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The GPUs an attempt holds, on named nodes; the first node leads."""

    gpus: tuple[GpuId, ...]
    nodes: tuple[NodeName, ...]
    #: what it holds of the first node besides, and of its GPU if it shares one
    cpus: int = 0
    memory_bytes: int = 0
    gpu_memory_bytes: int | None = None
    #: GPUs it counts for in accounts; less than its number of GPUs where one is shared
    weight: float = 0.0
    #: why these ('GPUs 4,5: NVLink x12')
    note: str = ""
