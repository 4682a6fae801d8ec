"""GPUs that answer as a test says. The twin of adapters.nvml_probe; it passes the same contract tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from jupysched.core.resources import Gpu, GpuId
from jupysched.ports import GpuSample


class FakeProbe:
    """A ports.GpuProbe. Change `readings` between two samples; what is not set reads as n/a."""

    def __init__(
        self,
        gpus: Sequence[Gpu] = (),
        *,
        links: Mapping[tuple[int, int], str] | None = None,
        problem: str = "",
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.problem = problem or ("" if gpus else "No NVIDIA driver was found on this machine.")
        self.readings: dict[GpuId, GpuSample] = {
            gpu.id: GpuSample(gpu=gpu.id, at=0.0, memory_total_bytes=gpu.memory_bytes) for gpu in gpus
        }
        self._gpus, self._links, self._clock = tuple(gpus), dict(links or {}), clock

    def inventory(self) -> Sequence[Gpu]:
        return self._gpus

    def sample(self, *, patience_s: float = 0.0) -> Sequence[GpuSample]:
        return tuple(replace(self.readings[gpu.id], at=self._clock()) for gpu in self._gpus)

    def links(self) -> Mapping[tuple[int, int], str]:
        return self._links

    def process_name(self, pid: int) -> str:
        return ""

    def close(self) -> None:
        """Nothing to let go of."""

    # --- what a test makes happen --------------------------------------------------------------------------------------

    def lose(self, gpu: GpuId, sentence: str = "is lost: it has fallen off the bus.") -> None:
        """Let a GPU fall off the bus."""
        self.readings[gpu] = GpuSample(gpu=gpu, at=0.0, fault=sentence)

    def use(self, gpu: GpuId, pid: int, used_bytes: int | None) -> None:
        """Let a process hold memory of a GPU."""
        reading = self.readings[gpu]
        self.readings[gpu] = replace(reading, processes={**reading.processes, pid: used_bytes})
