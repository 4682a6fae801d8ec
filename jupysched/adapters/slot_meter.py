"""How busy a CPU slot is: what the processes of its job use of the CPU, and the memory they hold. Knows psutil and /proc.

A slot stands for one core: 100 % is a whole core in use. A free slot has no readings; nothing is read while no job runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

from jupysched.core.resources import Gpu, GpuId
from jupysched.ports import GpuSample
from jupysched.runner.tree import parents


@dataclass(frozen=True, slots=True)
class Tree:
    """The processes of one job: the pid that all of them are below, and the slots that it holds."""

    root: int
    slots: tuple[Gpu, ...]


class SlotMeter:
    """Makes rates of two readings in a row."""

    def __init__(self) -> None:
        #: root -> when it was read, and the CPU seconds of its processes so far
        self._last: dict[int, tuple[float, float]] = {}

    def read(self, trees: Sequence[Tree], *, at: float) -> list[GpuSample]:
        """A reading of each slot that a job holds; CPU use from the second reading on."""
        children: dict[int, list[int]] = {}
        for pid, parent in parents().items():
            children.setdefault(parent, []).append(pid)
        last, self._last = self._last, {}
        found: list[GpuSample] = []
        for tree in trees:
            seconds, memory = _used(_below(tree.root, children))
            self._last[tree.root] = (at, seconds)
            busy = _busy(last.get(tree.root), at, seconds)
            count = max(1, len(tree.slots))
            found += [
                GpuSample(
                    gpu=GpuId(slot.id),
                    at=at,
                    label=slot.label,
                    utilization_percent=None if busy is None else min(100.0, 100.0 * busy / count),
                    memory_used_bytes=memory // count,
                )
                for slot in tree.slots
            ]
        return found


def _below(root: int, children: Mapping[int, Sequence[int]]) -> list[int]:
    found, waiting = [root], [root]
    while waiting:
        below = children.get(waiting.pop(), ())
        found += below
        waiting += below
    return found


def _used(pids: Sequence[int]) -> tuple[float, int]:
    """CPU seconds so far and memory of all together. What a child used goes over to its parent when it ends."""
    seconds, memory = 0.0, 0
    for pid in pids:
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                times = process.cpu_times()
                seconds += times.user + times.system + times.children_user + times.children_system
                memory += process.memory_info().rss
        except psutil.Error:
            continue
    return seconds, memory


def _busy(before: tuple[float, float] | None, at: float, seconds: float) -> float | None:
    """Cores in use since the last reading."""
    if before is None or at <= before[0]:
        return None
    return max(0.0, seconds - before[1]) / (at - before[0])
