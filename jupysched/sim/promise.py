"""How far expected starts were off: what a waiting job was told when it came, against when it started."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from jupysched.core.forecast import forecast
from jupysched.core.job import JobId
from jupysched.core.state import State
from jupysched.sim.figures import percentile
from jupysched.sim.world import EPOCH_S, Run

#: seconds between two looks at the queue: each look plays it forward, which costs
EVERY_S = 1800.0


@dataclass(slots=True)
class Promises:
    """The first range that each waiting job was told."""

    told: dict[JobId, tuple[float, float]] = field(default_factory=dict)
    looked_at: float = -math.inf
    #: seconds off: before the range began (negative) or after it ended; 0 inside
    off: list[float] = field(default_factory=list)

    def watch(self, state: State, now: float) -> None:
        """Look at the queue, now and then."""
        if not state.standing or now < self.looked_at + EVERY_S:
            return
        self.looked_at = now
        for job, (soon, late) in forecast(state, now).items():
            if job not in self.told and not math.isinf(late):
                self.told[job] = (soon - EPOCH_S, late - EPOCH_S)

    def settle(self, run: Run) -> None:
        """Compare with what became of them."""
        for job, (soon, late) in self.told.items():
            started = run.starts[job - 1]
            self.off.append(min(0.0, started - soon) if started < soon else max(0.0, started - late))

    def as_dict(self) -> dict[str, float]:
        """For the JSON."""
        errors = sorted(abs(o) for o in self.off)
        inside = sum(1 for e in errors if e == 0.0)
        return {
            "promised": len(errors),
            "promise_kept": inside / len(errors) if errors else 1.0,
            "promise_off_median_s": percentile(errors, 0.5),
            "promise_off_p90_s": percentile(errors, 0.9),
        }

    def sentence(self) -> str:
        """For the table."""
        d = self.as_dict()
        return (
            f"told {d['promised']:g} jobs when they should start; {d['promise_kept']:.0%} did within the range, "
            f"off by {d['promise_off_median_s']:,.0f} s (median), {d['promise_off_p90_s']:,.0f} s (p90)"
        )
