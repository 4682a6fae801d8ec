"""What this machine has beside GPUs: CPUs, memory, and the CPU slots that stand in where there is no GPU.

Knows /proc and /sys; knows nothing of NVML, Dask or jobs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from jupysched.core.resources import Gpu, GpuId, GpuKind, Node, NodeName


def cpu_slots(node: NodeName, count: int) -> tuple[Gpu, ...]:
    """Return `count` CPU slots, labelled as what they are."""
    return tuple(
        Gpu(
            id=GpuId(f"CPU-SLOT-{node}-{index}"),
            node=node,
            index=index,
            name=f"CPU slot {index}",
            kind=GpuKind.CPU_SLOT,
        )
        for index in range(count)
    )


def physical_cores() -> int:
    """Return how many cores (not hyper-threads) this process may use; at least 1."""
    cpus = os.sched_getaffinity(0)
    siblings = set()
    for cpu in cpus:
        path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        try:
            siblings.add(path.read_text(encoding="ascii").strip())
        except OSError:
            siblings.add(str(cpu))
    return max(1, len(siblings))


def this_node(name: NodeName, gpus: Sequence[Gpu], links: Mapping[tuple[int, int], str] | None = None) -> Node:
    """Return this machine as a node with these GPUs."""
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = int(file.readline().split()[1]) * 1024
    return Node(
        name=name,
        cpus=len(os.sched_getaffinity(0)),
        memory_bytes=memory,
        gpus=tuple(gpu.id for gpu in gpus),
        links=dict(links or {}),
    )
