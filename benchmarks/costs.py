"""What one operation costs in CPU time, by the process that pays it. Knows a stage and a notebook."""

from __future__ import annotations

from types import TracebackType

from benchmarks import processes
from benchmarks.notebook import Notebook
from benchmarks.stage import Stage
from jupysched import spool


def parts_s(stage: Stage, notebook: Notebook | None) -> dict[str, float]:
    """CPU seconds until now: kernel, daemon, launcher, zygotes, and the jobs that have ended.

    A shim ends unseen: its time counts only where its exit record tells it."""
    parts = {} if notebook is None else {"kernel": processes.fine_cpu_s(notebook.pid)}
    for name, pids in stage.pids().items():
        parts[name] = sum(processes.fine_cpu_s(pid) for pid in pids)
    exits = [spool.read_json(str(path)) or {} for path in stage.home.glob("jobs/*/a*/exit.json")]
    parts["jobs"] = sum(float(record.get("cpu_s") or 0.0) for record in exits)
    parts["shims"] = sum(float(record.get("shim_cpu_s") or 0.0) for record in exits)
    return parts


class Cost:
    """CPU between the beginning and the end of a block, divided by `operations`."""

    def __init__(self, stage: Stage, operations: int, *, notebook: Notebook | None = None) -> None:
        self._stage = stage
        self._notebook = notebook
        self._operations = operations
        self._before: dict[str, float] = {}
        #: milliseconds an operation, by part
        self.ms: dict[str, float] = {}

    def __enter__(self) -> Cost:
        self._before = parts_s(self._stage, self._notebook)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            after = parts_s(self._stage, self._notebook)
            self.ms = {n: (after[n] - self._before.get(n, 0.0)) * 1e3 / self._operations for n in after}

    @property
    def total_ms(self) -> float:
        return sum(self.ms.values())

    def words(self) -> str:
        """'CPU 21.3 ms (kernel 6.1, daemon 2.2, ...)'."""
        parts = ", ".join(f"{name} {ms:.1f}" for name, ms in self.ms.items() if ms >= 0.05)
        return f"CPU {self.total_ms:.1f} ms ({parts})"
