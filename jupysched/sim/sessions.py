"""What it costs to hold GPUs for whole sessions instead of for cells. Knows traces; knows nothing of policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jupysched.sim.trace import TraceJob


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """GPU-hours and peaks, with the GPUs held from a user's first cell to the end of the last, and for cells alone."""

    sessions: int
    session_gpu_hours: float
    session_peak_gpus: int
    cell_gpu_hours: float
    cell_peak_gpus: int

    @property
    def times(self) -> float:
        """How many times more the sessions hold."""
        return self.session_gpu_hours / self.cell_gpu_hours if self.cell_gpu_hours else 1.0


def hold_sessions(jobs: Sequence[TraceJob]) -> Held:
    """As if every cell ran when it was submitted: a session holds the most GPUs that any of its cells asks for."""
    spans: dict[str, tuple[float, float, int]] = {}
    for job in jobs:
        start, end = job.submit_s, job.submit_s + job.duration_s
        first, last, gpus = spans.get(job.user, (start, end, 0))
        spans[job.user] = (min(first, start), max(last, end), max(gpus, job.gpus))
    cells = [(j.submit_s, j.submit_s + j.duration_s, j.gpus) for j in jobs]
    sessions = list(spans.values())
    return Held(
        sessions=len(spans),
        session_gpu_hours=sum((end - start) * gpus for start, end, gpus in sessions) / 3600,
        session_peak_gpus=_peak(sessions),
        cell_gpu_hours=sum((end - start) * gpus for start, end, gpus in cells) / 3600,
        cell_peak_gpus=_peak(cells),
    )


def _peak(spans: Sequence[tuple[float, float, int]]) -> int:
    changes = sorted([(start, gpus) for start, _, gpus in spans] + [(end, -gpus) for _, end, gpus in spans])
    held = most = 0
    for _, change in changes:
        held += change
        most = max(most, held)
    return most
