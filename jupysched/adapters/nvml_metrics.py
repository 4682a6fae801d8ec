"""One reading of one GPU through NVML. Knows metrics, processes and faults; knows nothing of which GPUs there are.

A metric that this card or driver does not have is None, never 0: 0 looks idle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jupysched.core.resources import Gpu
from jupysched.ports import GpuSample

#: errors that mean that the card itself is gone or unusable, whatever was asked
FATAL = {
    "NVMLError_GpuIsLost": "is lost: it has fallen off the bus",
    "NVMLError_ResetRequired": "needs a reset",
    "NVMLError_GpuInDebugMode": "is in debug mode",
}
# nvml.h, which nvidia-ml-py repeats as module constants that a stand-in for it may lack
_UNCORRECTED, _VOLATILE = 1, 0


class _Reading:
    """Asks one thing at a time and keeps the first fatal error."""

    def __init__(self) -> None:
        self.fatal = ""

    def ask(self, question: Callable[[], float | None]) -> float | None:
        try:
            value = question()
        except Exception as error:
            self.fatal = self.fatal or FATAL.get(type(error).__name__, "")
            return None
        # A stand-in for "not available" in some drivers; no metric here can be below 0.
        return value if value is not None and value >= 0 else None

    def memory(self, nvml: Any, handle: Any) -> tuple[int | None, int | None]:
        """Bytes used and in all, of one moment."""
        found: list[Any] = []
        self.ask(lambda: found.append(nvml.nvmlDeviceGetMemoryInfo(handle)))
        return (int(found[0].used), int(found[0].total)) if found else (None, None)


def read_sample(nvml: Any, handle: Any, gpu: Gpu, *, at: float) -> GpuSample:
    """Return a reading of the GPU; its fault is set where the card itself is gone. What its links carry is read elsewhere."""
    ask = (reading := _Reading()).ask
    used, total = reading.memory(nvml, handle)
    power = ask(lambda: nvml.nvmlDeviceGetPowerUsage(handle))
    limit = ask(lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle))
    return GpuSample(
        gpu=gpu.id,
        at=at,
        utilization_percent=ask(lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu),
        memory_used_bytes=used,
        memory_total_bytes=total,
        temperature_c=ask(lambda: nvml.nvmlDeviceGetTemperature(handle, 0)),
        power_w=None if power is None else power / 1000,
        power_limit_w=None if limit is None else limit / 1000,
        processes=read_processes(nvml, handle),
        fault=f"{gpu.label} {reading.fatal}." if reading.fatal else "",
    )


def read_processes(nvml: Any, handle: Any) -> dict[int, int | None]:
    """Return pid -> bytes of the processes that compute on the GPU, also through MPS.

    Not those that only draw: on a workstation the screen is always there, and the GPU would never be handed out."""
    found: dict[int, int | None] = {}
    for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses"):
        try:
            processes = getattr(nvml, name)(handle)
        except Exception:  # noqa: S112 - this driver cannot list them; what the other call says still counts
            continue
        for process in processes:
            known, used = found.get(process.pid), process.usedGpuMemory
            found[process.pid] = used if known is None else known if used is None else max(known, used)
    return found


def read_faults(nvml: Any, handle: Any, gpu: Gpu) -> str:
    """Return a sentence if the card reports errors that jobs must not meet, else ""."""
    ask = _Reading().ask
    errors = ask(lambda: nvml.nvmlDeviceGetTotalEccErrors(handle, _UNCORRECTED, _VOLATILE))
    if errors:
        return f"{gpu.label} reports {int(errors)} uncorrectable memory errors (ECC) since it was last reset."
    if ask(lambda: nvml.nvmlDeviceGetRemappedRows(handle)[3]):
        return f"{gpu.label} has no spare memory rows left to replace a broken one."
    return ""
