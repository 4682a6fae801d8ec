"""How long jobs took before, and what that says of those that wait and run. Knows lengths; knows nothing of order.

Lengths are kept as counts in bins whose edges grow by a quarter octave, per kind of job (same cell, same user and
width, same user, all), so memory stays small. Attempts that were preempted count too, as far as they came: without
them a busy cluster would know only of its short jobs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from jupysched.core.job import Kind

#: bins per doubling; 64 s is 6 doublings
PER_OCTAVE = 4
BINS = 25 * PER_OCTAVE
#: what is expected where nothing was seen: in each bin this share of those that reach it end (half in six bins)
PRIOR = 0.12
#: jobs that must have been seen before a kind speaks more for itself than the wider kind that it belongs to
TRUST = 5.0


def bin_of(length_s: float) -> int:
    """The bin that a length falls into."""
    return min(BINS - 1, int(math.log2(length_s) * PER_OCTAVE)) if length_s > 1.0 else 0


EDGES = [0.0, *(math.exp2(n / PER_OCTAVE) for n in range(1, BINS + 1))]


@dataclass(slots=True)
class Lengths:
    """The lengths of one kind of job."""

    #: jobs that came to their own end, in all and by bin
    count: int = 0
    ended: list[int] = field(default_factory=lambda: [0] * BINS)
    #: attempts that were first and last seen in each bin
    first: list[int] = field(default_factory=lambda: [0] * BINS)
    last: list[int] = field(default_factory=lambda: [0] * BINS)
    seen: int = 0

    def learn(self, before: int, after: int, *, is_end: bool) -> None:
        """An attempt went from one bin to another, and its job ended there or went no further for now."""
        if is_end:
            self.count += 1
            self.ended[after] += 1
        elif after == before:
            return
        else:
            after -= 1
        self.seen += 1
        self.first[before] += 1
        self.last[after] += 1

    def quantile(self, share: float, *, beyond_s: float = 0.0) -> float | None:
        """The length that this share of the jobs did not exceed, of those that took longer than `beyond_s`.

        None where none did. The answer is the upper edge of a bin: never shorter than the truth."""
        first = bin_of(beyond_s) if beyond_s > 0 else 0
        left = sum(self.ended[first:])
        need, so_far = share * left, 0
        for number in range(first, BINS if left else first):
            so_far += self.ended[number]
            if so_far >= need and so_far:
                return max(EDGES[number + 1], beyond_s)
        return None


@dataclass(slots=True)
class Outlook:
    """What is expected of a kind, as of a moment: the share of those in each bin that end in it, and the effort."""

    ends: list[float]
    #: seconds to be spent, per job that ends by them, if a job that has come this far is run as long as is best
    effort: list[float]
    seen: int

    def effort_at(self, attained_s: float) -> float:
        """The effort between two edges, on a line."""
        place = math.log2(attained_s) * PER_OCTAVE if attained_s > 1.0 else 0.0
        number = min(BINS - 2, int(place))
        over = place - number
        return self.effort[number] * (1.0 - over) + self.effort[number + 1] * over


Live = Callable[[Kind], Iterable[tuple[int, int]]]


@dataclass(slots=True)
class History:
    """Lengths by kind of job, and how long ended jobs took from their submission on."""

    kinds: dict[Kind, Lengths] = field(default_factory=dict)
    ended: int = 0
    turnaround_s: float = 0.0
    #: outlooks made so far; made anew when a tenth more was seen
    outlooks: dict[Kind, Outlook] = field(default_factory=dict, compare=False, repr=False)

    def learn(self, kinds: Iterable[Kind], before_s: float, after_s: float, *, is_end: bool) -> None:
        """An attempt of a job of these kinds ran from one attained length to another."""
        before, after = bin_of(before_s), bin_of(after_s)
        for kind in kinds:
            lengths = self.kinds.get(kind)
            if lengths is None:
                lengths = self.kinds[kind] = Lengths()
            lengths.learn(before, after, is_end=is_end)

    def turned_around(self, seconds: float) -> None:
        """A job ended so long after its submission."""
        self.ended += 1
        self.turnaround_s += seconds

    @property
    def mean_turnaround_s(self) -> float:
        """Mean seconds from submission to end; 0 before the first."""
        return self.turnaround_s / self.ended if self.ended else 0.0

    def best(self, kinds: Iterable[Kind], *, at_least: int) -> Lengths | None:
        """The most particular kind that was seen often enough."""
        for kind in kinds:
            lengths = self.kinds.get(kind)
            if lengths is not None and lengths.count >= at_least:
                return lengths
        return None

    def outlook(self, chain: Sequence[Kind], live: Live) -> Outlook:
        """What is expected of the last kind of a chain, each leaning on the one before it as far as it saw little.

        `live`: the attempts of a kind that run now, as (first bin, bin that they are in)."""
        made = self.outlooks.get(chain[-1])
        lengths = self.kinds.get(chain[-1])
        if made is not None and (lengths is None or lengths.seen <= made.seen * 1.1 + 1):
            return made
        wider = self.outlook(chain[:-1], live) if len(chain) > 1 else NOTHING_KNOWN
        made = self.outlooks[chain[-1]] = _outlook(lengths, wider, live(chain[-1]))
        return made


def _outlook(lengths: Lengths | None, wider: Outlook | None, live: Iterable[tuple[int, int]]) -> Outlook:
    ends = list(wider.ends) if wider is not None else [PRIOR] * BINS
    if lengths is not None:
        change = [0] * (BINS + 1)
        for number in range(BINS):
            change[number] += lengths.first[number]
            change[number + 1] -= lengths.last[number]
        for first, here in live:
            change[first] += 1
            change[here] -= 1
        there = 0
        for number in range(BINS):
            there += change[number]
            if there:
                ends[number] = (lengths.ended[number] + TRUST * ends[number]) / (there + TRUST)
    return Outlook(ends=ends, effort=efforts(ends), seen=lengths.seen if lengths is not None else 0)


def efforts(ends: Sequence[float]) -> list[float]:
    """For each bin the least ratio of time spent to ends gained, over all lengths of running on (1 / Gittins' index).

    With S the share that is left at each edge and A the time spent up to it, the ratio from k to m is the slope
    between the points (-S, A); the least one from k is found on the lower hull of the points behind it."""
    left, spent = [1.0], [0.0]
    for number, share in enumerate(ends):
        length = EDGES[number + 1] - EDGES[number]
        spent.append(spent[-1] + left[-1] * length * (1.0 - share / 2))
        left.append(left[-1] * (1.0 - share))
    effort = [0.0] * len(ends)
    hull = [len(ends)]
    for k in range(len(ends) - 1, -1, -1):
        while len(hull) > 1 and _slope(left, spent, k, hull[-1]) >= _slope(left, spent, k, hull[-2]):
            hull.pop()
        effort[k] = _slope(left, spent, k, hull[-1])
        hull.append(k)
    return effort


def _slope(left: Sequence[float], spent: Sequence[float], k: int, m: int) -> float:
    return (spent[m] - spent[k]) / max(left[k] - left[m], 1e-300)


#: what is expected of a job while nothing was seen
NOTHING_KNOWN = _outlook(None, None, ())
