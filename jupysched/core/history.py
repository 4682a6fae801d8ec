"""How long jobs took before, and what that says of the next one. Knows lengths; knows nothing of order or GPUs.

Lengths are kept as counts in bins whose edges grow by a quarter octave, per kind of job (same cell, same user, same
width, all), so memory stays small and a quantile or a hazard is one pass over a short list."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from jupysched.core.job import Kind

#: bins per doubling; 64 s is 6 doublings
PER_OCTAVE = 4
BINS = 25 * PER_OCTAVE


def bin_of(length_s: float) -> int:
    """The bin that a length falls into."""
    return min(BINS - 1, int(math.log2(length_s) * PER_OCTAVE)) if length_s > 1.0 else 0


def edge_of(number: int) -> float:
    """The lower edge of a bin, in seconds."""
    return 0.0 if number == 0 else float(2.0 ** (number / PER_OCTAVE))


@dataclass(slots=True)
class Lengths:
    """The lengths of one kind of job."""

    count: int = 0
    bins: list[int] = field(default_factory=lambda: [0] * BINS)
    #: changes with each length that is learnt; what was derived from the bins is derived again then
    version: int = 0

    def learn(self, length_s: float) -> None:
        """Count one more."""
        self.count += 1
        self.version += 1
        self.bins[bin_of(length_s)] += 1

    def quantile(self, share: float, *, beyond_s: float = 0.0) -> float | None:
        """The length that this share of the jobs did not exceed, of those that took longer than `beyond_s`.

        None where none did. The answer is the upper edge of a bin: never shorter than the truth."""
        first = bin_of(beyond_s) if beyond_s > 0 else 0
        left = sum(self.bins[first:])
        if not left:
            return None
        need, seen = share * left, 0
        for number in range(first, BINS):
            seen += self.bins[number]
            if seen >= need and seen:
                return max(edge_of(number + 1), beyond_s)
        return None


@dataclass(slots=True)
class History:
    """Lengths by kind of job: ('cell', user, digest), ('user', user, gpus), ('width', gpus), ('all',)."""

    kinds: dict[Kind, Lengths] = field(default_factory=dict)

    def learn(self, kinds: tuple[Kind, ...], length_s: float) -> None:
        """A job of these kinds took this long."""
        for kind in kinds:
            lengths = self.kinds.get(kind)
            if lengths is None:
                lengths = self.kinds[kind] = Lengths()
            lengths.learn(length_s)

    def best(self, kinds: tuple[Kind, ...], *, at_least: int) -> Lengths | None:
        """The most particular kind that was seen often enough."""
        for kind in kinds:
            lengths = self.kinds.get(kind)
            if lengths is not None and lengths.count >= at_least:
                return lengths
        return None
