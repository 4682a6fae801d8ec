"""Jobs that one user submits one after the other, alike in width: what those that ended say of the rest.

A sweep's jobs take about as long as each other: in the public traces (MSR's Philly, MS ITP's) the lengths of two that
were submitted within a minute correlate at 0.8 to 0.98, and at 0.3 once a day lies between them. Knows lengths; knows
nothing of order."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from jupysched.core.job import Job, JobId, UserName

#: seconds after which a submission begins a burst of its own
GAP_S = 600.0
#: a job whose sibling took some length is expected to end by this many of it, ...
OVER = 1.3
#: ... with this likelihood, ...
SURE = 0.85
#: ... and to need at least this part of it, however far it has come; by this many ended siblings the rest is half believed
LEAST = 0.1
HALF = 0.5


@dataclass(slots=True)
class Burst:
    """Jobs submitted together."""

    number: int
    #: those that belong to it
    came: int = 0
    #: those that came to their own end, and the sum of the logarithms of their lengths
    ended: int = 0
    logs: float = 0.0
    #: seconds that the one came to that was preempted latest in its run
    most_s: float = 0.0

    def effort(self, attained_s: float, wide: float) -> float:
        """Seconds to be spent for each job that ends by them, once a sibling has ended; `wide`: as its kind has it."""
        length = math.exp(self.logs / self.ended)
        if attained_s >= OVER * length:
            return wide
        own = max(length - attained_s, LEAST * length) / SURE
        trust = self.ended / (self.ended + HALF)
        return trust * own + (1.0 - trust) * wide


#: the burst of a job that has none
ALONE = Burst(number=0)


@dataclass(slots=True)
class Siblings:
    """Each job's burst."""

    of: dict[JobId, Burst] = field(default_factory=dict)
    #: when the newest job of a user and width came, and the burst that it belongs to
    newest: dict[tuple[UserName, int], tuple[float, Burst]] = field(default_factory=dict)
    bursts: int = 0
    #: jobs that came to their own end before all of their burst had
    ends: int = 0

    def came(self, job: Job) -> None:
        """A job was submitted."""
        key = (job.spec.user, job.spec.request.gpus)
        at, burst = self.newest.get(key, (-math.inf, None))
        if burst is None or job.submitted_at - at > GAP_S:
            self.bursts += 1
            burst = Burst(number=self.bursts)
        self.newest[key] = (job.submitted_at, burst)
        burst.came += 1
        self.of[job.id] = burst

    def ran(self, job: Job, *, is_end: bool) -> None:
        """An attempt of it ended: by itself, or preempted."""
        burst = self.of.get(job.id)
        if burst is None:
            return
        if is_end:
            burst.ended += 1
            self.ends += burst.ended < burst.came
            burst.logs += math.log(max(1.0, job.attained_s))
        else:
            burst.most_s = max(burst.most_s, job.attained_s)

    def forget(self, job_id: JobId) -> None:
        """A job is told no more."""
        self.of.pop(job_id, None)
