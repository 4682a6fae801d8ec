"""GPUs shared by memory: what is left of them. Knows GPUs and bytes, not order."""

from __future__ import annotations

from collections.abc import Iterable

from jupysched.core.fragmentation import Piece, piece_of
from jupysched.core.resources import Allocation, Gpu, GpuId, Node, NodeName, Request
from jupysched.core.state import State


class SharedRoom:
    """Bytes left on GPUs that are shared already, in one cycle."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.taken: dict[GpuId, int] = {}

    def left(self, gpu: Gpu) -> int:
        """Bytes of its memory that nobody was granted."""
        return (gpu.memory_bytes or 0) - self.state.shared.get(gpu.id, 0) - self.taken.get(gpu.id, 0)

    def take(self, allocation: Allocation) -> None:
        """Grant a share within this cycle."""
        for gpu in allocation.gpus:
            self.taken[gpu] = self.taken.get(gpu, 0) + (allocation.gpu_memory_bytes or 0)

    def shared_on(self, node: Node) -> list[Gpu]:
        """The GPUs of a node that are shared and may be shared further."""
        state = self.state
        shared = [state.gpus[g] for g in node.gpus if (g in state.shared or g in self.taken) and g in state.gpus]
        return [gpu for gpu in shared if gpu.is_usable]

    def allocate(
        self, name: NodeName, piece: Piece | None, request: Request, free: Iterable[GpuId]
    ) -> Allocation | None:
        """The share, on the first GPU of the node that is such a piece."""
        need = request.gpu_memory_bytes or 0
        for gpu in (*self.shared_on(self.state.nodes[name]), *(self.state.gpus[g] for g in free)):
            left = self.left(gpu)
            if left >= need and piece_of(gpu, left) == piece:
                return Allocation(
                    gpus=(gpu.id,), nodes=(name,), cpus=request.cpus or 0, memory_bytes=request.memory_bytes or 0,
                    gpu_memory_bytes=need, weight=need / gpu.memory_bytes if gpu.memory_bytes else 1.0,
                )  # fmt: skip
        return None
