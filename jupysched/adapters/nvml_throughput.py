"""What PCIe and NVLink carry, read in a thread of its own. Knows NVML's counters; knows nothing of faults or jobs.

A PCIe reading takes NVML 20 ms, since it counts over that time, and one that hangs must not make a card look lost: whoever asks
gets what came in time, and after that nothing. A number that the card does not tell is None, never 0."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from jupysched.core.resources import GpuId

#: a number older than this is not told any more
DEADLINE_S = 3.0
# nvml.h, which nvidia-ml-py repeats as module constants that a stand-in for it may lack
_PCIE_TX, _PCIE_RX = 0, 1
_NVLINK_TX, _NVLINK_RX, _ALL_LINKS = 138, 139, 0xFFFFFFFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Bytes a second in and out of one GPU."""

    pcie_rx: float | None = None
    pcie_tx: float | None = None
    nvlink_rx: float | None = None
    nvlink_tx: float | None = None


NOTHING = Throughput()


class Rates:
    """What counters showed last, to make rates of them."""

    def __init__(self) -> None:
        self._last: dict[tuple[GpuId, str], tuple[float, float]] = {}

    def rate(self, gpu: GpuId, name: str, at: float, total: float | None) -> float | None:
        """Return bytes a second since the last reading; None at the first one and after a counter started anew."""
        before = self._last.pop((gpu, name), None)
        if total is None:
            return None
        self._last[gpu, name] = (at, total)
        if before is None or at <= before[0] or total < before[1]:
            return None
        return (total - before[1]) / (at - before[0])


class ThroughputReader:
    """Asked for the next round with every reading of the GPUs; never waited for."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._rates = Rates()
        self._asked: queue.SimpleQueue[tuple[Any, Mapping[GpuId, Any]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        #: set while nothing is being read
        self.is_idle = threading.Event()
        self.is_idle.set()
        self._latest: dict[GpuId, tuple[float, Throughput]] = {}

    def ask(self, nvml: Any, handles: Mapping[GpuId, Any]) -> None:
        """Read these soon, unless the last round is still under way."""
        if not self.is_idle.is_set() or not handles:
            return
        self.is_idle.clear()
        if self._thread is None:
            # A daemon thread: one that hangs in the driver must not keep the process.
            self._thread = threading.Thread(target=self._work, args=(self._asked,), name="nvml throughput", daemon=True)
            self._thread.start()
        self._asked.put((nvml, dict(handles)))

    def latest(self, gpu: GpuId) -> Throughput:
        """What was read of it in time."""
        at, found = self._latest.get(gpu, (0.0, NOTHING))
        return found if self._clock() - at <= DEADLINE_S else NOTHING

    def close(self) -> None:
        """Let the thread end, as soon as NVML lets go of it."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join(0.2)
            self._thread, self._asked = None, queue.SimpleQueue()
            self.is_idle.set()

    def _work(self, asked: queue.SimpleQueue[tuple[Any, Mapping[GpuId, Any]] | None]) -> None:
        while (wanted := asked.get()) is not None:
            nvml, handles = wanted
            for gpu, handle in handles.items():
                # When a GPU's turn came, not when the round began: a slow card before it makes no rate of the next too high.
                self._latest[gpu] = (self._clock(), self._read(nvml, gpu, handle))
            if asked is self._asked:
                self.is_idle.set()

    def _read(self, nvml: Any, gpu: GpuId, handle: Any) -> Throughput:
        at = self._clock()
        sent, received = _nvlink_bytes(nvml, handle)
        return Throughput(
            pcie_rx=_pcie(nvml, handle, _PCIE_RX),
            pcie_tx=_pcie(nvml, handle, _PCIE_TX),
            nvlink_rx=self._rates.rate(gpu, "rx", at, received),
            nvlink_tx=self._rates.rate(gpu, "tx", at, sent),
        )


def _pcie(nvml: Any, handle: Any, counter: int) -> float | None:
    try:
        return float(nvml.nvmlDeviceGetPcieThroughput(handle, counter)) * 1024
    except Exception:
        return None


def _nvlink_bytes(nvml: Any, handle: Any) -> tuple[float | None, float | None]:
    """Sent and received so far over all links together."""
    try:
        values = nvml.nvmlDeviceGetFieldValues(handle, [(_NVLINK_TX, _ALL_LINKS), (_NVLINK_RX, _ALL_LINKS)])
    except Exception:
        return None, None
    sent, received = (None if v.nvmlReturn else float(v.value.ullVal) * 1024 for v in values)
    return sent, received
