"""GPUs shared by memory: where a share fits, so that what is left over stays useful. Knows GPUs and bytes, not order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jupysched.core.resources import Allocation, Gpu, GpuId, NodeName, Request
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

    def place(
        self, request: Request, nodes: Iterable[NodeName], free: Mapping[NodeName, Sequence[GpuId]]
    ) -> Allocation | None:
        """A GPU with room for the share: one that is shared already and left fullest by it, else a free one of the
        node with the fewest free GPUs."""
        need = request.gpu_memory_bytes or 0
        best: tuple[int, int, int, NodeName, Gpu] | None = None
        shared = {**self.state.shared, **self.taken}
        for order, name in enumerate(nodes):
            candidates = [
                self.state.gpus[g] for g in self.state.nodes[name].gpus if g in shared and g in self.state.gpus
            ]
            here = free.get(name, ())
            candidates += [self.state.gpus[g] for g in here]
            for gpu in candidates:
                left = self.left(gpu)
                if not gpu.is_usable or left < need or (request.gpu_type or "").lower() not in gpu.name.lower():
                    continue
                fresh = 0 if gpu.id in shared else 1
                key = (fresh, len(here) if fresh else left - need, order, name, gpu)
                if best is None or key[:3] < best[:3]:
                    best = key
        if best is None:
            return None
        gpu = best[4]
        return Allocation(
            gpus=(gpu.id,), nodes=(best[3],), cpus=request.cpus or 0, memory_bytes=request.memory_bytes or 0,
            gpu_memory_bytes=need, weight=need / gpu.memory_bytes if gpu.memory_bytes else 1.0,
        )  # fmt: skip
