"""Errors that the driver reports (XID), as NVML hands them out: an event set, asked without waiting.

Knows cards, GPU instances and event sets; knows nothing of what the numbers mean."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Sequence
from typing import Any

from jupysched.core.resources import GpuId

#: nvml.h: nvmlEventTypeXidCriticalError, and the instance of an error that is the whole card's
XID_CRITICAL, WHOLE_CARD = 0x8, 0xFFFFFFFF
#: events taken up in one go: a driver that reports without end must not keep us
MOST_AT_ONCE = 64


class XidEvents:
    """The event set of one opening of NVML."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._set: Any = None
        #: card -> what there is to hold of it, by GPU instance (None for the card itself)
        self._parts: dict[str, dict[int | None, GpuId]] = {}
        #: UUID of each card by its handle's address
        self._cards: dict[int, str] = {}

    def watch(self, nvml: Any, cards: Sequence[tuple[Any, str]], parts: dict[str, dict[int | None, GpuId]]) -> None:
        """Hear of errors from now on. `cards`: handle and UUID of each; a card that reports none is left out."""
        self.close()
        self._nvml, self._parts = nvml, parts
        self._cards = {_address(handle): uuid for handle, uuid in cards}
        try:
            self._set = nvml.nvmlEventSetCreate()
        except Exception:
            return
        for handle, _ in cards:
            try:
                if nvml.nvmlDeviceGetSupportedEventTypes(handle) & XID_CRITICAL:
                    nvml.nvmlDeviceRegisterEvents(handle, XID_CRITICAL, self._set)
            except Exception:  # noqa: S112 - this card or driver reports none (WSL, MIG without rights); the others do
                continue

    def take(self) -> dict[GpuId, tuple[int, ...]]:
        """What was reported since the last time; never waits."""
        found: dict[GpuId, tuple[int, ...]] = {}
        for _ in range(MOST_AT_ONCE):
            try:
                event = self._nvml.nvmlEventSetWait(self._set, 0) if self._set is not None else None
            except Exception:  # a timeout: there is nothing (more) to tell
                break
            if event is None:
                break
            if event.eventType == XID_CRITICAL:
                for gpu in self._meant(event):
                    found[gpu] = (*found.get(gpu, ()), int(event.eventData))
        return found

    def _meant(self, event: Any) -> tuple[GpuId, ...]:
        """What an error is about: a MIG device, or all that there is of the card."""
        try:
            uuid = self._nvml.nvmlDeviceGetUUID(event.device)
        except Exception:
            # A card that has fallen off the bus reports just that, and does not tell its UUID any more.
            uuid = self._cards.get(_address(event.device), "")
        parts = self._parts.get(uuid.decode() if isinstance(uuid, bytes) else uuid, {})
        one = parts.get(None if event.gpuInstanceId == WHOLE_CARD else event.gpuInstanceId)
        return (one,) if one is not None else tuple(parts.values())

    def close(self) -> None:
        """Hear of nothing more."""
        if self._set is not None:
            with contextlib.suppress(Exception):  # a driver that was started anew does not know it any more
                self._nvml.nvmlEventSetFree(self._set)
            self._set = None


def _address(handle: Any) -> int:
    try:
        return ctypes.cast(handle, ctypes.c_void_p).value or 0
    except (ctypes.ArgumentError, TypeError):
        return id(handle)
