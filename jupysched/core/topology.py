"""Which GPUs of a node to take together: the worst link counts. Knows links; knows nothing of jobs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

from jupysched.core.resources import Gpu, Node

#: from the widest to the narrowest, as `nvidia-smi topo -m` names them
LINKS = ("NVLink", "PIX", "PXB", "PHB", "NODE", "SYS")
#: sets looked at before the choice is made greedily instead
MOST_SETS = 20_000


def width_of(link: str) -> int:
    """A number that grows with what a link carries; NVLink counts its lanes."""
    found = re.match(r"NVLink(?:\s*x\s*(\d+))?$", link)
    if found:
        return 100 + int(found[1] or 1)
    return 10 * (len(LINKS) - LINKS.index(link)) if link in LINKS else 0


def link_between(node: Node, a: Gpu, b: Gpu) -> str:
    """The worst link on the way between two GPUs; 'SYS' where nothing is known of them."""
    return node.links.get((min(a.index, b.index), max(a.index, b.index)), "SYS")


def worst_link(node: Node, gpus: Iterable[Gpu]) -> str:
    """The narrowest link among them."""
    pairs = [link_between(node, a, b) for a, b in combinations(gpus, 2)]
    return min(pairs, key=width_of, default="")


def _value(node: Node, gpus: Sequence[Gpu]) -> tuple[int, int]:
    """The worst link and the sum of all: what a set of GPUs is worth to a gang."""
    widths = [width_of(link_between(node, a, b)) for a, b in combinations(gpus, 2)]
    return (min(widths, default=0), sum(widths))


def choose_linked(node: Node, free: Sequence[Gpu], count: int) -> tuple[list[Gpu], str]:
    """The best-linked GPUs, and why these.

    Widest worst link first, then the most link in all; among equals the set that leaves the others best linked."""
    sets = _sets(node, free, count)
    chosen = max(
        sets,
        key=lambda gang: (
            _value(node, gang),
            _value(node, [g for g in free if g not in gang]),
            [-g.index for g in gang],
        ),
    )
    return list(chosen), describe(node, free, chosen)


def _sets(node: Node, free: Sequence[Gpu], count: int) -> list[tuple[Gpu, ...]]:
    sets: list[tuple[Gpu, ...]] = []
    for gang in combinations(free, count):
        sets.append(gang)
        if len(sets) > MOST_SETS:
            return [_grown(node, free, first, count) for first in free]
    return sets


def _grown(node: Node, free: Sequence[Gpu], first: Gpu, count: int) -> tuple[Gpu, ...]:
    """A gang grown from one GPU by the best-linked neighbour each time."""
    gang = [first]
    while len(gang) < count:
        rest = [g for g in free if g not in gang]
        gang.append(max(rest, key=lambda g: (_value(node, [*gang, g]), -g.index)))
    return tuple(sorted(gang, key=lambda g: g.index))


def describe(node: Node, free: Sequence[Gpu], chosen: Sequence[Gpu]) -> str:
    """'GPUs 4,5: NVLink x12; 0,1 only over SYS'."""
    link = worst_link(node, chosen)
    said = f"GPUs {','.join(str(g.index) for g in chosen)}: {link}"
    others = [g for g in free if g not in chosen]
    if len(others) < len(chosen):
        return said
    other = others[: len(chosen)]
    worse = worst_link(node, other)
    if width_of(worse) < width_of(link):
        said += f"; {','.join(str(g.index) for g in other)} only over {_over(worse)}"
    return said


def _over(link: str) -> str:
    return {
        "PIX": "PCIe (PIX)",
        "PXB": "PCIe (PXB)",
        "PHB": "PCIe (PHB)",
        "NODE": "PCIe across a NUMA node (NODE)",
        "SYS": "PCIe and the link between CPUs (SYS)",
    }.get(link, link)
