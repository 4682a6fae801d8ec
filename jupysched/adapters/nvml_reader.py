"""What NVML says, asked directly: which GPUs there are and how each of them is. Any call here may block or fail.

Knows nvidia-ml-py; knows nothing of threads, deadlines or jobs. GPUs are known by UUID, never by position: their order changes
when one is lost or the driver starts anew. Every metric is read on its own, so one that fails is None and harms no other."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from jupysched.adapters.nvml_events import XidEvents
from jupysched.adapters.nvml_links import read_links
from jupysched.adapters.nvml_metrics import FATAL, read_faults, read_sample
from jupysched.adapters.nvml_throughput import ThroughputReader
from jupysched.core.resources import Gpu, GpuId, GpuKind, NodeName
from jupysched.ports import GpuSample

T = TypeVar("T")
#: NVML's error -> a sentence for people
PROBLEMS = {
    "NVMLError_LibraryNotFound": "No NVIDIA driver was found on this machine (libnvidia-ml.so.1 is missing).",
    "NVMLError_DriverNotLoaded": "The NVIDIA driver is installed but not loaded.",
    "NVMLError_LibRmVersionMismatch": "The NVIDIA driver and its library differ in version; a driver update needs a reboot.",
    "NVMLError_NoPermission": "This user may not talk to the NVIDIA driver.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One GPU or MIG device as NVML lists it now."""

    #: "" where the GPU does not even tell its UUID
    uuid: str
    #: position of the card in NVML's list
    position: int
    handle: Any
    is_mig: bool = False
    #: the card itself: handle and UUID; a MIG device is a part of it
    card: tuple[Any, str] = (None, "")
    #: name of the error that stands in the way
    error: str = ""


class NvmlReader:
    """Reads GPUs through nvidia-ml-py, which is opened at the first question."""

    def __init__(
        self,
        *,
        node: NodeName,
        visible: Sequence[str] | None = None,
        clock: Callable[[], float] = time.time,
        nvml: Any = None,
    ) -> None:
        self.problem = ""
        self._node = node
        #: indices or UUIDs of the GPUs that we may use; None for all
        self._visible = visible
        self._clock = clock
        self._nvml: Any = nvml
        self._is_open = False
        self._gpus: tuple[Gpu, ...] = ()
        #: where each GPU was in NVML's list when it was taken up
        self._positions: dict[GpuId, int] = {}
        self._throughput = ThroughputReader(clock=clock)
        self._xids = XidEvents()
        #: are the errors of this opening of NVML listened for?
        self._is_listening = False
        #: what NVML calls the processes of the last reading that /proc does not know
        self._names: dict[int, str] = {}

    def inventory(self) -> tuple[Gpu, ...]:
        """Look for GPUs anew; a MIG-enabled card is listed as its MIG devices. Empty, with a `problem`, where none answers."""
        self.problem = ""
        gpus: list[Gpu] = []
        self._positions = {}
        listed = tuple(self._found())
        self._listen(listed)
        for found in listed:
            if not found.uuid:
                self.problem = f"GPU {found.position} does not answer ({found.error})."
            elif self._is_visible(found):
                gpu = self._gpu(found, len(gpus))
                gpus.append(gpu)
                self._positions[gpu.id] = found.position
        if not gpus and not self.problem:
            self.problem = "The NVIDIA driver lists no GPU."
        self._gpus = tuple(gpus)
        return self._gpus

    def sample(self) -> tuple[GpuSample, ...]:
        """Return a reading of each GPU of the last inventory, in its order."""
        if not self._gpus:
            return ()
        listed = tuple(self._found())
        if not self._is_listening:
            self._listen(listed)
        by_uuid = {found.uuid: found for found in listed if found.uuid}
        xids = self._xids.take()
        samples = tuple(
            replace(self._sample(gpu, by_uuid.get(gpu.id), listed), xids=xids.get(gpu.id, ()), label=gpu.label)
            for gpu in self._gpus
        )
        handles = {gpu.id: by_uuid[gpu.id].handle for gpu in self._gpus if gpu.id in by_uuid}
        self._throughput.ask(self._nvml, handles)
        self._names = {pid: self._name_of(pid) for sample in samples for pid in sample.processes if not _is_known(pid)}
        return samples

    def links(self) -> dict[tuple[int, int], str]:
        """Return the worst link between each two GPUs of the last inventory."""
        by_uuid = {found.uuid: found.handle for found in self._found()}
        handles = {gpu.index: by_uuid[gpu.id] for gpu in self._gpus if gpu.kind is GpuKind.GPU and gpu.id in by_uuid}
        return read_links(self._nvml, handles) if len(handles) > 1 else {}

    def process_name(self, pid: int) -> str:
        """Return what NVML called a process of the last reading that /proc does not know, or ""."""
        return self._names.get(pid, "")

    def _name_of(self, pid: int) -> str:
        if pid in self._names:
            return self._names[pid]
        return _text(self._ask(lambda: self._nvml.nvmlSystemGetProcessName(pid), "")).rsplit("/", 1)[-1]

    # --- finding -------------------------------------------------------------------------------------------------------

    def _found(self) -> Iterator[Found]:
        if not self._opened():
            return
        try:
            count = self._nvml.nvmlDeviceGetCount()
        except Exception as error:
            # The driver was started anew under us: so must we be, at the next question.
            self.problem = PROBLEMS.get(type(error).__name__, f"NVML does not answer: {error}.")
            self._is_open = self._is_listening = False
            return
        for position in range(count):
            yield from self._at(position)

    def _at(self, position: int) -> Iterator[Found]:
        try:
            handle = self._nvml.nvmlDeviceGetHandleByIndex(position)
            uuid = _text(self._nvml.nvmlDeviceGetUUID(handle))
        except Exception as error:
            yield Found(uuid="", position=position, handle=None, error=_words(error))
            return
        if self._ask(lambda: self._nvml.nvmlDeviceGetMigMode(handle)[0], 0) != 1:
            yield Found(uuid=uuid, position=position, handle=handle, card=(handle, uuid))
            return
        for number in range(self._ask(lambda: self._nvml.nvmlDeviceGetMaxMigDeviceCount(handle), 0)):
            try:
                part = self._nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
                part_uuid = _text(self._nvml.nvmlDeviceGetUUID(part))
            except Exception:  # noqa: S112 - an empty place: cards have room for more MIG devices than were made
                continue
            yield Found(uuid=part_uuid, position=position, handle=part, is_mig=True, card=(handle, uuid))

    def _listen(self, listed: Sequence[Found]) -> None:
        """Hear of errors (XID) of the cards that are listed."""
        if not self._is_open:
            return
        parts: dict[str, dict[int | None, GpuId]] = {}
        cards: dict[str, Any] = {}
        for found in listed:
            if found.uuid:
                handle, uuid = found.card
                cards[uuid] = handle
                of_card = parts.setdefault(uuid, {})
                of_card[self._instance(found, -1 - len(of_card))] = GpuId(found.uuid)
        self._xids.watch(self._nvml, [(handle, uuid) for uuid, handle in cards.items()], parts)
        self._is_listening = True

    def _instance(self, found: Found, otherwise: int) -> int | None:
        """The GPU instance that errors of a MIG device name; None for a card."""
        if not found.is_mig:
            return None
        return self._ask(lambda: int(self._nvml.nvmlDeviceGetGpuInstanceId(found.handle)), otherwise)

    def _opened(self) -> bool:
        if self._is_open:
            return True
        try:
            if self._nvml is None:
                import pynvml

                self._nvml = pynvml
            self._nvml.nvmlInit()
        except Exception as error:
            self.problem = PROBLEMS.get(type(error).__name__, f"The NVIDIA driver cannot be used: {error}.")
            return False
        self._is_open = True
        return True

    def _is_visible(self, found: Found) -> bool:
        return self._visible is None or found.uuid in self._visible or str(found.position) in self._visible

    def _gpu(self, found: Found, index: int) -> Gpu:
        name = _text(self._ask(lambda: self._nvml.nvmlDeviceGetName(found.handle), "NVIDIA GPU"))
        if found.is_mig and "MIG" not in name:
            name = f"{name} MIG"
        memory = self._ask(lambda: int(self._nvml.nvmlDeviceGetMemoryInfo(found.handle).total), None)
        kind = GpuKind.MIG if found.is_mig else GpuKind.GPU
        return Gpu(id=GpuId(found.uuid), node=self._node, index=index, name=name, kind=kind, memory_bytes=memory)

    # --- sampling ------------------------------------------------------------------------------------------------------

    def _sample(self, gpu: Gpu, found: Found | None, listed: Sequence[Found]) -> GpuSample:
        at = self._clock()
        if found is None:
            # What is lost does not tell its UUID; the place where it was says why.
            was = self._positions[gpu.id]
            errors = [other.error for other in listed if other.position == was and other.error]
            fault = (
                f"{gpu.label} {errors[0]}."
                if errors
                else self.problem or f"{gpu.label} is no longer listed by the driver."
            )
            return GpuSample(gpu=gpu.id, at=at, fault=fault)
        carried = self._throughput.latest(gpu.id)
        sample = replace(
            read_sample(self._nvml, found.handle, gpu, at=at),
            pcie_rx_bytes_per_s=carried.pcie_rx,
            pcie_tx_bytes_per_s=carried.pcie_tx,
            nvlink_rx_bytes_per_s=carried.nvlink_rx,
            nvlink_tx_bytes_per_s=carried.nvlink_tx,
        )
        return sample if sample.fault else replace(sample, fault=read_faults(self._nvml, found.handle, gpu))

    def close(self) -> None:
        """Let go of what was opened beside NVML itself."""
        self._throughput.close()
        self._xids.close()
        self._is_listening = False

    def _ask(self, question: Callable[[], T], otherwise: T) -> T:
        try:
            return question()
        except Exception:
            return otherwise


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _is_known(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _words(error: Exception) -> str:
    return FATAL.get(type(error).__name__, f"does not answer ({error})")
