"""How two GPUs are linked, through NVML. Knows NVLink, NVSwitch and PCIe; knows nothing of placement."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping
from typing import Any

#: nvml.h: nvmlGpuTopologyLevel_t, in nvidia-smi's words
LEVELS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
MOST_LINKS = 18
_SWITCH = "switch"
_REMOTE_IS_SWITCH = 2


def read_links(nvml: Any, handles: Mapping[int, Any]) -> dict[tuple[int, int], str]:
    """Return the link between each two GPUs, by (lower index, higher index); pairs that NVML cannot tell of are left out."""
    buses = {index: _bus(nvml, handle) for index, handle in handles.items()}
    lines = {index: _nvlinks(nvml, handle) for index, handle in handles.items()}
    found: dict[tuple[int, int], str] = {}
    for a, b in itertools.combinations(sorted(handles), 2):
        direct = lines[a][buses[b]] if buses[b] else 0
        count = direct or min(lines[a][_SWITCH], lines[b][_SWITCH])
        word = f"NVLink x{count}" if count else _ancestor(nvml, handles[a], handles[b])
        if word:
            found[a, b] = word
    return found


def _bus(nvml: Any, handle: Any) -> str:
    try:
        return _text(nvml.nvmlDeviceGetPciInfo(handle).busId)
    except Exception:
        return ""


def _nvlinks(nvml: Any, handle: Any) -> Counter[str]:
    """How many NVLinks lead to which bus id; those to a switch reach every GPU on it."""
    found: Counter[str] = Counter()
    for number in range(MOST_LINKS):
        try:
            if not nvml.nvmlDeviceGetNvLinkState(handle, number):
                continue
            remote = _text(nvml.nvmlDeviceGetNvLinkRemotePciInfo(handle, number).busId)
        except Exception:
            break
        found[_SWITCH if _is_switch(nvml, handle, number) else remote] += 1
    return found


def _is_switch(nvml: Any, handle: Any, number: int) -> bool:
    try:
        return int(nvml.nvmlDeviceGetNvLinkRemoteDeviceType(handle, number)) == _REMOTE_IS_SWITCH
    except Exception:
        return False


def _ancestor(nvml: Any, a: Any, b: Any) -> str:
    try:
        return LEVELS.get(int(nvml.nvmlDeviceGetTopologyCommonAncestor(a, b)), "")
    except Exception:
        return ""


def _text(value: object) -> str:
    return value.decode("ascii", "replace") if isinstance(value, bytes) else str(value)
