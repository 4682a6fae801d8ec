"""Readings over time, made fewer: means and peaks of ever longer stretches. Pure; knows no clock, disk or GPU.

Every reading counts in each tier exactly once. What was not told stays None, and is left out of a mean, never 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

Values = tuple[float | None, ...]


#: what is kept of a reading -> the field of ports.GpuSample; the order of every tuple of values
METRICS: dict[str, str] = {
    "utilization": "utilization_percent",
    "memory": "memory_used_bytes",
    "power": "power_w",
    "temperature": "temperature_c",
    "pcie_rx": "pcie_rx_bytes_per_s",
    "pcie_tx": "pcie_tx_bytes_per_s",
    "nvlink_rx": "nvlink_rx_bytes_per_s",
    "nvlink_tx": "nvlink_tx_bytes_per_s",
}


class Tier(NamedTuple):
    """How long readings of one length are kept."""

    step_s: float
    kept_s: float


HOUR_S, DAY_S = 3600.0, 86_400.0
#: the last is there to be read: a month of minutes is half a second's work for 8 GPUs
TIERS = (Tier(1.0, HOUR_S), Tier(10.0, DAY_S), Tier(60.0, 30 * DAY_S), Tier(600.0, 30 * DAY_S))


class Stretch(NamedTuple):
    """What was read within one stretch of time."""

    #: when its last reading was made
    at: float
    mean: Values
    peak: Values


class Closed(NamedTuple):
    """A stretch of a tier that is over."""

    tier: int
    stretch: Stretch


@dataclass(slots=True)
class _Gathering:
    """The stretch of one tier that is not over."""

    number: int
    at: float
    sums: list[float]
    counts: list[int]
    peaks: list[float | None]

    def add(self, at: float, values: Values) -> None:
        self.at = at
        for place, value in enumerate(values):
            if value is None:
                continue
            self.sums[place] += value
            self.counts[place] += 1
            peak = self.peaks[place]
            self.peaks[place] = value if peak is None else max(peak, value)

    def stretch(self) -> Stretch:
        mean = tuple(s / n if n else None for s, n in zip(self.sums, self.counts, strict=True))
        return Stretch(self.at, mean, tuple(self.peaks))


@dataclass(slots=True)
class Rollup:
    """The readings of one GPU, on their way into the tiers."""

    _open: dict[int, _Gathering] = field(default_factory=dict)

    def add(self, at: float, values: Values) -> list[Closed]:
        """Take a reading; return the stretches that are over with it."""
        closed: list[Closed] = []
        for tier, (step_s, _) in enumerate(TIERS):
            number = int(at // step_s)
            gathering = self._open.get(tier)
            if gathering is not None and gathering.number != number:
                closed.append(self._close(tier))
                gathering = None
            if gathering is None:
                width = len(values)
                gathering = self._open[tier] = _Gathering(number, at, [0.0] * width, [0] * width, [None] * width)
            gathering.add(at, values)
        return closed

    def end(self) -> list[Closed]:
        """All stretches that are not over, as they stand: nothing comes after them."""
        return [self._close(tier) for tier in sorted(self._open)]

    def _close(self, tier: int) -> Closed:
        return Closed(tier, self._open.pop(tier).stretch())


def tier_of(*, since: float, until: float, now: float, most: int) -> int:
    """The tier to read: the longest stretches that still give `most` points, if it reaches back far enough."""
    wanted_s = (until - since) / max(1, most)
    reaching = [i for i, tier in enumerate(TIERS) if now - since <= tier.kept_s * 1.02]
    if not reaching:
        return len(TIERS) - 1
    return max((i for i in reaching if TIERS[i].step_s <= wanted_s), default=reaching[0])


def step_of(*, since: float, until: float, tier: int, most: int) -> float:
    """Seconds of one point, so that there are at most about `most` of them."""
    return max(TIERS[tier].step_s, (until - since) / max(1, most))


class Hold(NamedTuple):
    """A job (or, where they were too short to tell apart, several) held a GPU. `end` None: it holds it still."""

    gpu: str
    job: int
    name: str
    user: str
    start: float
    end: float | None
    jobs: int = 1


def merged(holds: Iterable[Hold], *, least_s: float) -> list[Hold]:
    """Holds of one GPU with those that are too short to be seen joined to their neighbours."""
    found: list[Hold] = []
    for hold in sorted(holds, key=lambda h: h.start):
        last = found[-1] if found else None
        if (
            last is not None
            and _is_short(last, least_s)
            and _is_short(hold, least_s)
            and last.end is not None
            and hold.start - last.end < least_s
            and hold.start - last.start < 10 * least_s
        ):
            user = last.user if last.user == hold.user else ""
            found[-1] = Hold(
                last.gpu, last.job, "", user, last.start, _later(last.end, hold.end), last.jobs + hold.jobs
            )
        else:
            found.append(hold)
    return found


def _is_short(hold: Hold, least_s: float) -> bool:
    return hold.jobs > 1 or (hold.end is not None and hold.end - hold.start < least_s)


def _later(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else max(a, b)
