"""The GPUs of this machine, asked without ever waiting long. Knows that NVML may hang; knows nothing of jobs.

NVML is asked in a thread of its own, since a call into a hung driver does not come back for minutes. Nobody waits for it but
`inventory`, for a few seconds; a reading that does not come is a fault of the GPU, with a sentence."""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jupysched.adapters.nvml_reader import NvmlReader
from jupysched.core.resources import Gpu, NodeName
from jupysched.ports import GpuSample

#: how long `inventory` and `links` wait for a driver that starts
PATIENCE_S = 20.0
#: older readings are marked
STALE_S = 5.0


class NvmlProbe:
    """A ports.GpuProbe on NVML."""

    def __init__(
        self,
        *,
        node: str | None = None,
        visible: Sequence[str] | None = None,
        patience_s: float = PATIENCE_S,
        stale_s: float = STALE_S,
        clock: Callable[[], float] = time.time,
        nvml: Any = None,
    ) -> None:
        self._reader = NvmlReader(node=NodeName(node or socket.gethostname()), visible=visible, clock=clock, nvml=nvml)
        self._patience_s, self._stale_s, self._clock = patience_s, stale_s, clock
        self._asked: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._gpus: tuple[Gpu, ...] = ()
        self._latest: tuple[GpuSample, ...] = ()
        self._links: dict[tuple[int, int], str] = {}
        #: set when the reading that was asked for last has come
        self._read = threading.Event()
        self._read.set()
        self._asked_at = 0.0
        self._problem = ""

    @property
    def problem(self) -> str:
        """One sentence why there are no GPUs, or why one of them is not listed; else ""."""
        return self._problem

    def inventory(self) -> Sequence[Gpu]:
        """Look for GPUs; waits a few seconds for a driver that starts, and no longer."""
        if not self._answered(self._take_inventory):
            self._gpus, self._latest = (), ()
            self._problem = f"The NVIDIA driver has not answered for {self._patience_s:.0f} seconds."
        if not self._gpus:
            self.close()
        return self._gpus

    def sample(self, *, patience_s: float = 0.0) -> Sequence[GpuSample]:
        """Return the newest reading there is and ask for the next one. Waits for that one only if told to."""
        if not self._gpus:
            return ()
        if self._read.is_set():
            self._read.clear()
            self._asked_at = self._clock()
            self._ask(self._take_sample)
        if patience_s:
            self._read.wait(patience_s)
        return self._marked()

    def links(self) -> Mapping[tuple[int, int], str]:
        """Return the links as the last inventory saw them."""
        return self._links

    def process_name(self, pid: int) -> str:
        """Return what NVML called a process of the last reading that /proc does not know, or ""."""
        return self._reader.process_name(pid)

    def close(self) -> None:
        """Let the thread end, as soon as NVML lets go of it."""
        if self._thread is not None:
            self._asked.put(None)
            self._thread.join(0.2)
            if not self._thread.is_alive():  # else NVML hangs, and would hang us too
                self._reader.close()
            self._thread = None
            self._read.set()

    # --- in the thread -------------------------------------------------------------------------------------------------

    def _take_inventory(self) -> None:
        gpus = tuple(self._reader.inventory())
        self._problem = self._reader.problem
        self._links = self._reader.links() if gpus else {}
        self._latest = self._reader.sample()
        self._gpus = gpus

    def _take_sample(self) -> None:
        try:
            self._latest = self._reader.sample()
        finally:
            self._read.set()

    def _work(self, asked: queue.SimpleQueue[Callable[[], None] | None]) -> None:
        while (question := asked.get()) is not None:
            try:
                question()
            except Exception as error:
                self._problem = f"NVML could not be read: {error}."

    # --- around it -----------------------------------------------------------------------------------------------------

    def _ask(self, question: Callable[[], None]) -> None:
        if self._thread is None:
            self._asked = queue.SimpleQueue()
            # A daemon thread: one that hangs in the driver must not keep the process.
            self._thread = threading.Thread(target=self._work, args=(self._asked,), name="nvml", daemon=True)
            self._thread.start()
        self._asked.put(question)

    def _answered(self, question: Callable[[], None]) -> bool:
        came = threading.Event()

        def asked() -> None:
            try:
                question()
            finally:
                came.set()

        self._ask(asked)
        return came.wait(self._patience_s)

    def _marked(self) -> tuple[GpuSample, ...]:
        now = self._clock()
        waited = 0.0 if self._read.is_set() else now - self._asked_at
        if waited < self._stale_s:
            return self._latest
        fault = f"The driver has not answered for {waited:.0f} seconds."
        return tuple(
            GpuSample(
                gpu=sample.gpu, at=sample.at, memory_total_bytes=sample.memory_total_bytes, fault=sample.fault or fault
            )
            for sample in self._latest
        )
