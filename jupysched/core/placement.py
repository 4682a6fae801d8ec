"""Where a job fits. Knows nodes and GPUs; knows nothing of users or order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from jupysched.core.resources import Allocation, GpuId, NodeName, Request
from jupysched.core.state import State

Free = Mapping[NodeName, Sequence[GpuId]]


def fits_type(state: State, gpu: GpuId, request: Request) -> bool:
    """Is it of the kind that was asked for?"""
    known = state.gpus[gpu]
    if request.gpu_type and request.gpu_type.lower() not in known.name.lower():
        return False
    if request.gpu_memory_bytes and known.memory_bytes is not None:
        return known.memory_bytes >= request.gpu_memory_bytes
    return True


def place(state: State, request: Request, free: Free) -> Allocation | None:
    """Return GPUs for the whole gang on one node, or None. Best fit: the node with fewest free GPUs that suffice,
    so that wide gangs still find a node (Tiresias' and Helios' consolidation rule)."""
    best: tuple[int, NodeName, list[GpuId]] | None = None
    for name, gpus in free.items():
        if len(gpus) < request.gpus:
            continue
        fitting = [g for g in gpus if fits_type(state, g, request)]
        if len(fitting) >= request.gpus and (best is None or len(fitting) < best[0]):
            best = (len(fitting), name, fitting)
    if best is None:
        return None
    return Allocation(gpus=tuple(best[2][: request.gpus]), nodes=(best[1],))


def could_ever_fit(state: State, request: Request) -> bool:
    """Would the gang fit on some node if every GPU there were free and healthy?"""
    return any(
        sum(1 for g in node.gpus if g in state.gpus and fits_type(state, g, request)) >= request.gpus
        for node in state.nodes.values()
    )
