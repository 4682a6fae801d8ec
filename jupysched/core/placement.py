"""Where a job fits. Knows nodes, GPUs and what is free; knows nothing of users or order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from jupysched.core.fragmentation import Alike, Move, Shape, piece_of, want_of
from jupysched.core.resources import Allocation, Gpu, GpuId, GpuKind, Node, NodeName, Request
from jupysched.core.sharing import SharedRoom
from jupysched.core.state import State
from jupysched.core.topology import choose_linked

#: answers of could_ever_fit that are kept
MOST_REMEMBERED = 1000


def fits_type(gpu: Gpu, request: Request) -> bool:
    """Is it of the kind that was asked for? CUDA uses one MIG device a process, so a gang has none of them."""
    if request.gpus > 1 and gpu.kind is GpuKind.MIG:
        return False
    if request.gpu_type and request.gpu_type.lower() not in gpu.name.lower():
        return False
    if request.gpu_memory_bytes and gpu.memory_bytes is not None:
        return gpu.memory_bytes >= request.gpu_memory_bytes
    return True


def is_plain(request: Request) -> bool:
    """Whole GPUs of any type on one node, and nothing else counted: the fast way."""
    return not (
        request.gpu_type or request.gpu_memory_bytes or request.cpus or request.memory_bytes or request.gpus == 0
    ) and request.nodes == 1  # fmt: skip


class Room:
    """What is free in one cycle; shrinks as jobs are placed. The state is not touched."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.free: dict[NodeName, Sequence[GpuId]] = {}
        #: number of free GPUs -> nodes that have as many
        self.by_count: dict[int, dict[NodeName, None]] = {}
        self.total = 0
        for name, gpus in state.free.items():
            count = len(gpus)
            if count:
                self.free[name] = gpus
                self.by_count.setdefault(count, {})[name] = None
                self.total += count
        self.cpus_taken: dict[NodeName, int] = {}
        self.memory_taken: dict[NodeName, int] = {}
        self.shares = SharedRoom(state)
        #: nodes of which less is left than the state knows
        self._touched: set[NodeName] = set()
        #: made when somebody first asks
        self._nodes_alike: Alike | None = None

    def place(
        self, request: Request, *, only: Iterable[NodeName] | None = None, but_not: NodeName | None = None
    ) -> Allocation | None:
        """GPUs for the whole gang, or None. `only`: on one of these nodes; `but_not`: not on this one.

        Where whole GPUs are all that is asked for: best fit, the node with the fewest free GPUs that suffice (the rule of
        Tiresias and Helios; on the public traces the gradient made completion up to 4 % longer). Else where it adds least
        to what the requests of late could not use (see fragmentation). The links of the node say which of its GPUs."""
        is_share = request.gpu_memory_bytes is not None and request.gpus == 1
        if request.nodes != 1 and request.gpus > 0 and not is_share:
            return self._place_wide(request, but_not)
        is_counted = self.state.mix.is_plain and is_plain(request) and not (request.gpus > 1 and self.state.has_mig())
        if is_counted and only is None:
            name = self._best_counted(request.gpus, but_not)
            return None if name is None else self._allocate(name, self.free[name], request)
        found = self._best_alike(request, only, but_not)
        if found is None:
            return None
        name, move = found
        if is_share:
            return self.shares.allocate(name, move.piece, request, self.free.get(name, ()))
        gpus = self.state.gpus
        return self._allocate(name, [g for g in self.free.get(name, ()) if fits_type(gpus[g], request)], request)

    def take(self, allocation: Allocation) -> None:
        """What was placed is free no more."""
        if allocation.gpu_memory_bytes is not None:
            self.shares.take(allocation)
        taken = set(allocation.gpus)
        for name in allocation.nodes:
            before = self.free.get(name, ())
            left = [g for g in before if g not in taken]
            if len(left) != len(before):
                self._shrink(name, left)
        lead = allocation.nodes[0]
        if allocation.cpus:
            self.cpus_taken[lead] = self.cpus_taken.get(lead, 0) + allocation.cpus
        if allocation.memory_bytes:
            self.memory_taken[lead] = self.memory_taken.get(lead, 0) + allocation.memory_bytes
        for name in allocation.nodes:
            self._changed(name)

    def _shrink(self, name: NodeName, left: list[GpuId]) -> None:
        before = len(self.free[name])
        self.total += len(left) - before
        nodes = self.by_count[before]
        del nodes[name]
        if not nodes:
            del self.by_count[before]
        if left:
            self.free[name] = left
            self.by_count.setdefault(len(left), {})[name] = None
        else:
            del self.free[name]

    def _best_counted(self, gpus: int, but_not: NodeName | None) -> NodeName | None:
        for count in sorted([c for c in self.by_count if c >= gpus]):
            # By name, whatever became of the others in this cycle.
            names = self.by_count[count]
            if len(names) > 1 or but_not is not None:
                found = min((name for name in names if name != but_not), default=None)
            else:
                found = next(iter(names))
            if found is not None:
                return found
        return None

    def _best_alike(
        self, request: Request, only: Iterable[NodeName] | None, but_not: NodeName | None
    ) -> tuple[NodeName, Move] | None:
        mix, want = self.state.mix, want_of(request)
        known = mix.moves(want)
        best: tuple[NodeName, Move] | None = None
        for shape, names in self._alike().nodes.items():
            if shape in known:
                move = known[shape]
            else:
                move = known[shape] = mix.move(shape, want)
            if move is None or (best is not None and (move.breaks, move.loss) >= (best[1].breaks, best[1].loss)):
                continue
            name = next((n for n in names if n != but_not and (only is None or n in only)), None)
            if name is not None:
                best = (name, move)
        return best

    def _alike(self) -> Alike:
        """The nodes by what they have left; what the state says of a node is remembered from cycle to cycle."""
        if self._nodes_alike is None:
            kept, touched = self.state.shapes, self._touched
            shapes: dict[NodeName, Shape] = {}
            for name, node in self.state.nodes.items():
                shape = None if name in touched else kept.get(name)
                if shape is None:
                    shape = self._shape(node)
                    if name not in touched:
                        kept[name] = shape
                shapes[name] = shape
            self._nodes_alike = Alike(shapes)
        return self._nodes_alike

    def _shape(self, node: Node) -> Shape:
        state, shares = self.state, self.shares
        pieces = Counter(piece_of(state.gpus[g]) for g in self.free.get(node.name, ()))
        for gpu in shares.shared_on(node):
            left = shares.left(gpu)
            if left > 0:
                pieces[piece_of(gpu, left)] += 1
        return state.mix.shape(self.free_cpus(node), self.free_memory(node), pieces.items())

    def _changed(self, name: NodeName) -> None:
        """Less is left of a node than the state knows."""
        self._touched.add(name)
        if self._nodes_alike is not None and name in self.state.nodes:
            self._nodes_alike.put(name, self._shape(self.state.nodes[name]))

    def fitting(self, name: NodeName, request: Request) -> Sequence[GpuId]:
        """The free GPUs of a node that a request could use."""
        free = self.free.get(name, ())
        if is_plain(request) and (request.gpus == 1 or not self.state.has_mig()):
            return free
        return [g for g in free if fits_type(self.state.gpus[g], request)]

    def withhold(self, name: NodeName, request: Request, count: int, *, leads: bool) -> None:
        """Keep what is free of a node for somebody who waits for more of it; `leads`: cores and RAM too."""
        kept = set(self.fitting(name, request)[:count])
        if kept:
            self._shrink(name, [g for g in self.free[name] if g not in kept])
        node = self.state.nodes[name]
        if leads and request.cpus:
            self.cpus_taken[name] = self.cpus_taken.get(name, 0) + min(request.cpus, self.free_cpus(node))
        if leads and request.memory_bytes:
            memory = min(request.memory_bytes, self.free_memory(node))
            self.memory_taken[name] = self.memory_taken.get(name, 0) + memory
        self._changed(name)

    def free_cpus(self, node: Node) -> int:
        """Cores of a node that nobody was granted."""
        return node.cpus - self.state.cpus_held.get(node.name, 0) - self.cpus_taken.get(node.name, 0)

    def free_memory(self, node: Node) -> int:
        """Bytes of RAM of a node that nobody was granted."""
        return node.memory_bytes - self.state.memory_held.get(node.name, 0) - self.memory_taken.get(node.name, 0)

    def has_cpus(self, node: Node, request: Request) -> bool:
        """Has the node the CPU cores and the RAM?"""
        cpus = request.cpus or (1 if request.gpus == 0 else 0)
        if cpus and self.free_cpus(node) < cpus:
            return False
        return not request.memory_bytes or self.free_memory(node) >= request.memory_bytes

    def _allocate(self, name: NodeName, fitting: Sequence[GpuId], request: Request) -> Allocation:
        node = self.state.nodes[name]
        note = ""
        if node.links and 1 < request.gpus:
            chosen, note = choose_linked(node, [self.state.gpus[g] for g in fitting], request.gpus)
            gpus = tuple(g.id for g in chosen)
        else:
            gpus = tuple(fitting[: request.gpus])
        return Allocation(
            gpus=gpus,
            nodes=(name,),
            cpus=request.cpus or (1 if request.gpus == 0 else 0),
            memory_bytes=request.memory_bytes or 0,
            weight=float(request.gpus),
            note=note,
        )

    def _place_wide(self, request: Request, but_not: NodeName | None) -> Allocation | None:
        """A gang over several nodes: whole nodes first, and the rest where it fits best."""
        gpus = self.state.gpus
        fitting = {
            name: found
            for name, free in self.free.items()
            if name != but_not
            and self.has_cpus(self.state.nodes[name], request)
            and (found := [g for g in free if fits_type(gpus[g], request)])
        }
        parts = split_gang(self.state, request, {name: len(found) for name, found in fitting.items()})
        if parts is None:
            return None
        chosen = [g for name, count in parts for g in fitting[name][:count]]
        return Allocation(
            gpus=tuple(chosen), nodes=tuple(name for name, _ in parts), cpus=request.cpus or 0,
            memory_bytes=request.memory_bytes or 0, weight=float(request.gpus),
        )  # fmt: skip


def split_gang(state: State, request: Request, free: dict[NodeName, int]) -> list[tuple[NodeName, int]] | None:
    """How many GPUs on which node: evenly over `nodes`, or (0) whole nodes and one more for the rest."""
    if request.nodes > 1:
        each, odd = divmod(request.gpus, request.nodes)
        counts = [each + (1 if i < odd else 0) for i in range(request.nodes)]
    else:
        size = max((len(n.gpus) for n in state.nodes.values()), default=1)
        whole, rest = divmod(request.gpus, size)
        counts = [size] * whole + ([rest] if rest else [])
    parts: list[tuple[NodeName, int]] = []
    left = dict(free)
    for count in counts:
        able = [(n, name) for name, n in left.items() if n >= count]
        if not able:
            return None
        _, name = min(able, key=lambda pair: pair[0])
        parts.append((name, count))
        del left[name]
    return parts


def could_ever_fit(state: State, request: Request, *, usable: bool = False, only: NodeName | None = None) -> bool:
    """Would the gang fit if every GPU were free (and healthy, unless `usable` asks for those that are so now)?"""
    key = (request, usable, only)
    known = state.fits.get(key)
    if known is None:
        if len(state.fits) > MOST_REMEMBERED:
            state.fits.clear()
        known = state.fits[key] = _could_fit(state, request, usable=usable, only=only)
    return known


def _could_fit(state: State, request: Request, *, usable: bool, only: NodeName | None) -> bool:
    gpus = state.gpus
    counts: dict[NodeName, int] = {}
    for name, node in state.nodes.items():
        if (
            only not in (None, name)
            or (request.cpus or 0) > node.cpus
            or (request.memory_bytes or 0) > node.memory_bytes
        ):
            continue
        counts[name] = sum(
            1 for g in node.gpus if g in gpus and fits_type(gpus[g], request) and (gpus[g].is_usable or not usable)
        )
    if request.nodes != 1 and request.gpus:
        return split_gang(state, request, counts) is not None
    return any(count >= request.gpus for count in counts.values())


def parts_of(state: State, held: Allocation) -> list[tuple[NodeName, int]]:
    """How many GPUs an allocation has on which node."""
    if len(held.nodes) == 1:
        return [(held.nodes[0], len(held.gpus))]
    counts: dict[NodeName, int] = dict.fromkeys(held.nodes, 0)
    for gpu in held.gpus:
        known = state.gpus.get(gpu)
        if known is not None:
            counts[known.node] = counts.get(known.node, 0) + 1
    return list(counts.items())
