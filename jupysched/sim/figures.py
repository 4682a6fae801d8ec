"""What a run amounts to, in numbers. Knows times of jobs; knows nothing of policies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from jupysched.sim.world import Run

#: below this length a job's slowdown is counted as if it had this length
SHORT_S = 10.0
#: the fields of the JSON, which programs read: no more and no fewer
IN_JSON = (
    "policy", "mean_jct_s", "median_jct_s", "p95_jct_s", "p99_jct_s", "mean_wait_s", "p99_wait_s", "max_wait_s", "makespan_s",
    "preemptions", "utilization", "mean_slowdown", "jain", "dropped", "jobs", "events_per_s",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One column of the table, and (but for what is not in IN_JSON) one object of the JSON."""

    policy: str
    mean_jct_s: float
    median_jct_s: float
    p95_jct_s: float
    p99_jct_s: float
    mean_wait_s: float
    median_wait_s: float
    p95_wait_s: float
    p99_wait_s: float
    max_wait_s: float
    makespan_s: float
    preemptions: int
    utilization: float
    mean_slowdown: float
    #: Jain's index over users of the part of its time that each spent running
    jain: float
    worst_user: str
    dropped: int
    #: GPUs that the widest job asks for, dropped or not
    widest: int
    jobs: int
    events_per_s: float


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value of a sorted list that this share of it comes before; 0 of an empty one."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def figures_of(run: Run, policy: str, wall_s: float) -> Figures:
    """The figures of a run that took `wall_s` real seconds."""
    jobs = run.jobs
    jct = [end - job.submit_s for end, job in zip(run.ends, jobs, strict=True)]
    wait = [t - job.duration_s for t, job in zip(jct, jobs, strict=True)]
    useful = sum(job.gpus * job.duration_s for job in jobs)
    span = max(run.ends, default=0.0) - (jobs[0].submit_s if jobs else 0.0)
    slowdown = [max(1.0, t / max(job.duration_s, SHORT_S)) for t, job in zip(jct, jobs, strict=True)]
    rates, worst = _by_user(run, jct)
    jct.sort()
    wait_sorted = sorted(wait)
    count = max(1, len(jobs))
    return Figures(
        policy=policy,
        mean_jct_s=sum(jct) / count,
        median_jct_s=percentile(jct, 0.5),
        p95_jct_s=percentile(jct, 0.95),
        p99_jct_s=percentile(jct, 0.99),
        mean_wait_s=sum(wait) / count,
        median_wait_s=percentile(wait_sorted, 0.5),
        p95_wait_s=percentile(wait_sorted, 0.95),
        p99_wait_s=percentile(wait_sorted, 0.99),
        max_wait_s=wait_sorted[-1] if wait else 0.0,
        makespan_s=span,
        preemptions=run.preemptions,
        utilization=useful / (run.gpus * span) if span else 0.0,
        mean_slowdown=sum(slowdown) / count,
        jain=sum(rates) ** 2 / (len(rates) * sum(r * r for r in rates)) if any(rates) else 1.0,
        worst_user=worst,
        dropped=run.dropped,
        widest=run.widest,
        jobs=len(jobs),
        events_per_s=run.events / wall_s if wall_s else 0.0,
    )


def _by_user(run: Run, jct: list[float]) -> tuple[list[float], str]:
    """The part of its time that each user's jobs spent running, and the user for whom it is smallest."""
    ran: defaultdict[str, float] = defaultdict(float)
    took: defaultdict[str, float] = defaultdict(float)
    for job, time in zip(run.jobs, jct, strict=True):
        ran[job.user] += job.duration_s
        took[job.user] += time
    rates = {user: ran[user] / took[user] if took[user] else 1.0 for user in ran}
    return list(rates.values()), min(rates, key=lambda u: (rates[u], u), default="")
