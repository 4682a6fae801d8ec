"""What would come free: GPUs by kind, cores and RAM of each node. Knows amounts; knows nothing of who gives or gets them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from jupysched.core.placement import fits_type, parts_of
from jupysched.core.resources import Allocation, Gpu, NodeName, Request
from jupysched.core.state import State

CPUS, MEMORY, ANY = "cpus", "memory", ""
#: of a node: cores, RAM, or GPUs of one kind (ANY where all GPUs of the node are alike)
Pool = tuple[NodeName, str]
Amounts = Sequence[tuple[Pool, int]]


class Parts(NamedTuple):
    """What an allocation holds."""

    gpus: Amounts
    #: cores and RAM
    rest: Amounts = ()

    def on(self, name: NodeName) -> Parts:
        """What of it is on one node."""
        if all(pool[0] == name for pool, _ in self.gpus):
            return self
        return Parts(
            [(pool, count) for pool, count in self.gpus if pool[0] == name],
            [(pool, count) for pool, count in self.rest if pool[0] == name],
        )


def pool_of(state: State, gpu: Gpu) -> Pool:
    """The pool that a GPU belongs to."""
    if gpu.node not in state.mixed_nodes():
        return (gpu.node, ANY)
    return (gpu.node, f"{gpu.kind} {gpu.name} {gpu.memory_bytes}")


def pools_for(state: State, name: NodeName, request: Request) -> set[Pool]:
    """The pools of a node whose GPUs the request could use."""
    gpus = state.gpus
    known = (gpus[g] for g in state.nodes[name].gpus if g in gpus)
    if name in state.mixed_nodes():
        return {pool_of(state, gpu) for gpu in known if fits_type(gpu, request)}
    first = next(known, None)
    return {(name, ANY)} if (fits_type(first, request) if first is not None else not request.gpus) else set()


def pools_on(state: State, name: NodeName) -> set[Pool]:
    """The pools of GPUs of a node."""
    if name not in state.mixed_nodes():
        return {(name, ANY)}
    return {pool_of(state, state.gpus[g]) for g in state.nodes[name].gpus if g in state.gpus}


def parts_in_pools(state: State, held: Allocation) -> Parts:
    """How much an allocation has of which pool."""
    mixed = state.mixed_nodes()
    if not mixed or mixed.isdisjoint(held.nodes):
        gpus: Amounts = [((name, ANY), count) for name, count in parts_of(state, held)]
    else:
        gpus = list(Counter(pool_of(state, state.gpus[g]) for g in held.gpus if g in state.gpus).items())
    if not held.cpus and not held.memory_bytes:
        return Parts(gpus)
    lead = held.nodes[0]
    return Parts(gpus, [((lead, CPUS), held.cpus), ((lead, MEMORY), held.memory_bytes)])


@dataclass(slots=True)
class Yard:
    """What is not free yet and would be: of jobs that are stopping, and of jobs not walked past."""

    coming: dict[Pool, int] = field(default_factory=dict)
    #: GPUs in all
    total: int = 0

    def add(self, parts: Parts, sign: int = 1) -> None:
        """Count it in, or out."""
        coming = self.coming
        for pool, count in parts.gpus:
            coming[pool] = coming.get(pool, 0) + sign * count
            self.total += sign * count
        for pool, count in parts.rest:
            coming[pool] = coming.get(pool, 0) + sign * count

    def covers(self, parts: Parts) -> bool:
        """Is as much of it still to come?"""
        coming = self.coming
        return all(coming.get(pool, 0) >= count for pool, count in (*parts.gpus, *parts.rest))
