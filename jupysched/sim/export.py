"""A site's own past as a trace: what the daemon has journaled, in the CSV that `jupysched simulate` reads."""

from __future__ import annotations

from collections.abc import Iterable

from jupysched.core import events as ev
from jupysched.core.fold import fold
from jupysched.core.job import Job
from jupysched.core.state import State
from jupysched.core.states import JobState
from jupysched.sim.trace import TraceJob


def jobs_of(events: Iterable[ev.Event]) -> list[TraceJob]:
    """The jobs that ran to their own end, in the order of their submission; what was cancelled or never ran is left out."""
    state = State()
    ended: dict[int, Job] = {}
    for event in events:
        fold(state, event)
        if isinstance(event, ev.AttemptEnded):
            job = state.jobs.get(event.job)
            if job is not None and job.state in (JobState.SUCCEEDED, JobState.FAILED):
                ended[job.id] = job
    jobs = sorted(ended.values(), key=lambda j: (j.submitted_at, j.id))
    first = jobs[0].submitted_at if jobs else 0.0
    return [
        TraceJob(
            job_id=str(job.id),
            user=job.spec.user,
            submit_s=job.submitted_at - first,
            gpus=job.spec.request.gpus,
            duration_s=job.attained_s,
            priority=job.spec.priority.value,
            time_limit_s=job.spec.request.time_limit_s,
            gpu_memory_bytes=job.spec.request.gpu_memory_bytes,
            cell=job.spec.origin.get("cell_digest", ""),
            groups=job.spec.groups,
            name=job.spec.name,
        )
        for job in jobs
    ]
