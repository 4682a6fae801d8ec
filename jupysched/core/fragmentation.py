"""How much of what is free nobody could use, and what each placement adds to it. Knows shapes of nodes and what was
asked for lately; knows nothing of names, order or time.

The fragmentation gradient of Weng et al., "Beware of Fragmentation" (USENIX ATC '23): of a node's free GPUs, those
parts are lost to a request that it could not use there, be it for want of GPUs, of memory on one of them, of cores or
of RAM; the loss of a node is what is expected to be lost to the next request. A job goes where it adds the least."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from jupysched.core.resources import Gpu, GpuKind, NodeName, Request

#: requests that say what will be asked for next
LATELY = 1000
#: kinds of them that are told apart; the rest is too rare to be prepared for
MOST_KINDS = 128
#: a little best fit: of two placements that lose nearly as much, the one that leaves less over
BEST_FIT = 0.02
#: shapes remembered for the next question
MOST_SHAPES = 20_000


class Piece(NamedTuple):
    """A GPU that has something left to give."""

    name: str
    is_mig: bool
    #: bytes of memory, and those that are not granted; 0 where they cannot be known
    size: int
    left: int

    @property
    def is_free(self) -> bool:
        """Does nobody hold any of it?"""
        return self.left == self.size

    @property
    def amount(self) -> float:
        """What is left of it, in GPUs."""
        return self.left / self.size if self.size else 1.0


def piece_of(gpu: Gpu, left: int | None = None) -> Piece:
    """The piece that a GPU is; `left` of it, or all."""
    size = gpu.memory_bytes or 0
    return Piece(gpu.name, gpu.kind is GpuKind.MIG, size, size if left is None else left)


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """What a node has left to give; nodes of one shape are alike. Compared by identity: Mix.shape makes them."""

    cpus: int
    memory_bytes: int
    pieces: tuple[tuple[Piece, int], ...]
    #: GPUs in all
    amount: float


class Part(NamedTuple):
    """The GPUs that a request needs on one node."""

    gpus: int
    #: bytes of one GPU, for a request that shares it
    share: int | None
    #: bytes that a whole GPU must have
    size: int
    gpu_type: str
    is_gang: bool

    def suits(self, piece: Piece) -> bool:
        """Could it be given this piece?"""
        if self.gpu_type and self.gpu_type not in piece.name.lower():
            return False
        if self.share is not None:
            return piece.left >= self.share
        return piece.is_free and not (self.is_gang and piece.is_mig) and (not piece.size or piece.size >= self.size)


class Want(NamedTuple):
    """What a request needs on one node; flat, because one is made and hashed for each submission."""

    gpus: int
    share: int | None
    size: int
    gpu_type: str
    is_gang: bool
    cpus: int
    memory_bytes: int

    @property
    def part(self) -> Part:
        """The GPUs of it."""
        return Part(self.gpus, self.share, self.size, self.gpu_type, self.is_gang)

    @property
    def is_plain(self) -> bool:
        """Nothing counts but the number of GPUs?"""
        return self.share is None and not (self.size or self.gpu_type or self.cpus or self.memory_bytes)


def want_of(request: Request, widest: int = 0) -> Want:
    """A gang over several nodes wants a part of its GPUs on each; `widest`: most GPUs of a node."""
    asked, memory = request.gpus, request.gpu_memory_bytes
    gpus = asked
    if request.nodes > 1:
        gpus = -(-gpus // request.nodes)
    elif request.nodes == 0 and widest:
        gpus = min(gpus, widest)
    share = memory if asked == 1 else None
    size = 0 if share is not None else memory or 0
    cpus = request.cpus or (0 if asked else 1)
    return Want(gpus, share, size, (request.gpu_type or "").lower(), asked > 1, cpus, request.memory_bytes or 0)


@dataclass(frozen=True, slots=True)
class Move:
    """A placement on any node of a shape: smaller is better."""

    #: would it break into a whole GPU that is free, for a share of it? (Other jobs of the kind could have shared one, and
    #: gangs use none but whole ones; a MIG device is a share already.)
    breaks: bool
    #: GPUs that are lost by it
    loss: float
    #: the piece to share
    piece: Piece | None = None


@dataclass(slots=True)
class Mix:
    """What was asked for lately, and what it says of shapes and placements."""

    lately: deque[Want] = field(default_factory=lambda: deque(maxlen=LATELY))
    seen: int = 0
    renew_at: int = 1
    #: the mix as of the last renewal: (cores, RAM, share of all requests), by the GPUs that they need
    typical: dict[Part, list[tuple[int, int, float]]] = field(default_factory=dict)
    #: does nothing count but numbers of GPUs, as far as is known?
    is_plain: bool = True
    _shapes: dict[tuple[object, ...], Shape] = field(default_factory=dict, compare=False, repr=False)
    _losses: dict[Shape, float] = field(default_factory=dict, compare=False, repr=False)
    _moves: dict[Want, dict[Shape, Move | None]] = field(default_factory=dict, compare=False, repr=False)

    def came(self, want: Want) -> None:
        """A request was made. What is concluded from all of them is renewed when a tenth of them is new."""
        self.lately.append(want)
        self.seen += 1
        if self.seen >= self.renew_at:
            self.renew_at = self.seen + max(1, len(self.lately) // 10)
            self._renew()

    def _renew(self) -> None:
        kinds = [(want, count) for want, count in Counter(self.lately).most_common(MOST_KINDS) if want.gpus]
        total = sum(count for _, count in kinds)
        self.typical = {}
        for want, count in kinds:
            self.typical.setdefault(want.part, []).append((want.cpus, want.memory_bytes, count / total))
        self.is_plain = all(want.is_plain for want, _ in kinds)
        self._losses.clear()
        self._moves.clear()

    def shape(self, cpus: int, memory_bytes: int, pieces: Iterable[tuple[Piece, int]]) -> Shape:
        """The shape of a node with so much left."""
        held = tuple(sorted(pieces))
        key = (cpus, memory_bytes, held)
        found = self._shapes.get(key)
        if found is None:
            if len(self._shapes) > MOST_SHAPES:
                self._shapes.clear()  # a twin that is made anew is only slower; what is known of placements stays
                self._losses.clear()
            amount = sum(piece.amount * count for piece, count in held)
            found = self._shapes[key] = Shape(cpus, memory_bytes, held, amount)
        return found

    def loss(self, shape: Shape) -> float:
        """GPUs that the next request is expected not to be able to use there."""
        known = self._losses.get(shape)
        if known is None:
            known = self._losses[shape] = self._loss(shape)
        return known

    def _loss(self, shape: Shape) -> float:
        used = every = 0.0
        for part, needs in self.typical.items():
            count, amount = 0, 0.0
            for piece, number in shape.pieces:
                if part.suits(piece):
                    count += number
                    amount += number * piece.amount
            able = count >= part.gpus
            for cpus, memory_bytes, share in needs:
                every += share
                if able and cpus <= shape.cpus and memory_bytes <= shape.memory_bytes:
                    used += share * amount
        return every * shape.amount - used

    def moves(self, want: Want) -> dict[Shape, Move | None]:
        """What is known so far of placing it."""
        return self._moves.setdefault(want, {})

    def move(self, shape: Shape, want: Want) -> Move | None:
        """The best placement on a node of this shape, or None."""
        cpus, memory_bytes = shape.cpus - want.cpus, shape.memory_bytes - want.memory_bytes
        if (want.cpus and cpus < 0) or (want.memory_bytes and memory_bytes < 0):
            return None
        part = want.part
        if part.share is None:
            pieces = without(shape.pieces, part)
            if pieces is None:
                return None
            after = self.shape(cpus, memory_bytes, pieces)
            return self._valued(shape, after, breaks=False, left=after.amount)
        best: Move | None = None
        for piece, _ in shape.pieces:
            if part.suits(piece):
                smaller = piece._replace(left=piece.left - part.share)
                after = self.shape(cpus, memory_bytes, swapped(shape.pieces, piece, smaller))
                move = self._valued(
                    shape, after, breaks=piece.is_free and not piece.is_mig, left=smaller.amount, piece=piece
                )
                if best is None or (move.breaks, move.loss) < (best.breaks, best.loss):
                    best = move
        return best

    def _valued(self, before: Shape, after: Shape, *, breaks: bool, left: float, piece: Piece | None = None) -> Move:
        added = self.loss(after) - self.loss(before) + BEST_FIT * left
        return Move(breaks=breaks, loss=round(added, 9), piece=piece)


def without(pieces: Iterable[tuple[Piece, int]], part: Part) -> list[tuple[Piece, int]] | None:
    """The pieces that are left once a job has its whole ones; None if they do not suffice."""
    need, left = part.gpus, []
    for piece, count in pieces:
        taken = min(need, count) if need and part.suits(piece) else 0
        need -= taken
        if count > taken:
            left.append((piece, count - taken))
    return None if need else left


def swapped(pieces: Iterable[tuple[Piece, int]], old: Piece, new: Piece) -> list[tuple[Piece, int]]:
    """The pieces with one of them replaced; one with nothing left is none."""
    counts = dict(pieces)
    counts[old] -= 1
    if new.left:
        counts[new] = counts.get(new, 0) + 1
    return [(piece, count) for piece, count in counts.items() if count]


class Alike:
    """The nodes by shape, in one cycle."""

    def __init__(self, shapes: dict[NodeName, Shape]) -> None:
        self.shapes = shapes
        self.nodes: dict[Shape, dict[NodeName, None]] = {}
        nodes = self.nodes
        for name, shape in shapes.items():
            if shape in nodes:
                nodes[shape][name] = None
            else:
                nodes[shape] = {name: None}

    def put(self, name: NodeName, shape: Shape) -> None:
        """A node has this shape now."""
        before = self.shapes[name]
        named = self.nodes[before]
        del named[name]
        if not named:
            del self.nodes[before]
        self.shapes[name] = shape
        self.nodes.setdefault(shape, {})[name] = None
