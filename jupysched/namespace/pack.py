"""From a cell to one file with all that it needs. Knows the notebook's variables; starts nothing and runs no user code."""

from __future__ import annotations

import contextlib
import itertools
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupysched.namespace import ambient, restore
from jupysched.namespace.capture import Reads, module_parts, reads
from jupysched.namespace.errors import NoSuchName, ObjectStoreFull
from jupysched.namespace.explain import not_picklable
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.payload import PayloadWriter, big_blobs, without_collection
from jupysched.namespace.pickling import standard_seeds
from jupysched.namespace.sources import collect_sources
from jupysched.namespace.walk import Tracked, home_types

_serials = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traveller:
    """A variable that travels."""

    name: str
    #: as type(value).__name__
    type_name: str
    #: in the pickle and out of band; what an earlier variable already carries is counted there
    nbytes: int


@dataclass(slots=True, kw_only=True)
class Sent:
    """What the notebook must remember of a submitted cell until its results land."""

    #: what travelled, by number, and how it was
    tracked: Tracked
    #: the variables that travelled
    names: dict[str, Any]
    #: id of the value of every variable at the time of submission
    bindings: dict[str, int]
    #: as ambient.collect() returned it
    ambient: dict[str, Any]
    #: its random numbers are the notebook's
    has_dice: bool = True
    #: cells in the order of their submission
    serial: int = field(default_factory=lambda: next(_serials))
    #: CUDA tensors and the CPU copies that travelled for them
    copies: list[tuple[Any, Any]] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Packed:
    """A packed cell; write() makes the file."""

    report: tuple[Traveller, ...]
    reads: Reads
    sent: Sent
    #: bytes of the pickle and of the buffers that travel
    nbytes: int
    #: packages that the job imports for these values and by its own imports (top-level names)
    packages: frozenset[str]
    writer: PayloadWriter
    header: dict[str, Any]

    def write(self, path: Path) -> int:
        """Return the bytes written. Writes: the file, by rename; buffers are in the object store already."""
        try:
            size = self.writer.write(Path(path), self.header)
        except OSError as error:
            if error.errno == 28:  # noqa: PLR2004  ENOSPC
                raise ObjectStoreFull(str(Path(path).parent), self.writer.body.tell(), 0) from error
            raise
        self.writer.forget()
        return size


@without_collection()
def pack_inputs(
    cell: str,
    shell_or_user_ns: Any,
    *,
    objects: ObjectStore,
    in_names: Sequence[str] = (),
    transform: Callable[[str], str] | None = None,
    rivals: Sequence[Sent] = (),
) -> Packed:
    """Return everything that this cell reads, packed.

    `rivals`: what was sent of cells that have not landed. Random numbers go on in the job as they would in the notebook, but
    for one: several cells sent from one state must not all draw the same. The first one goes on, the others throw anew.

    Raises: SyntaxError; NotPicklable; NoSuchName; ObjectStoreFull. Writes: buffers into the object store.
    """
    user_ns: dict[str, Any] = getattr(shell_or_user_ns, "user_ns", shell_or_user_ns)
    transform = transform or getattr(shell_or_user_ns, "transform_cell", None)
    found = reads(cell, user_ns, transform=transform)
    for name in in_names:
        if name not in user_ns:
            raise NoSuchName(name)
    packing = _Packing(user_ns, found, objects, (*in_names, *found.needed))
    packing.run()
    around = ambient.collect()
    has_dice = all(ambient.dice_of(rival.ambient) != ambient.dice_of(around) for rival in rivals)
    header: dict[str, Any] = {
        "version": list(sys.version_info[:3]),
        "dropped": sorted(found.dropped),
        "imports": packing.imports(),
        "cell_imports": sorted(found.imports),
        "sources": collect_sources(packing.writer.pickler.filenames),
        "ambient": around if has_dice else ambient.without_dice(around),
    }
    writer = packing.writer
    sent = Sent(
        tracked=Tracked(writer.numbered(), first=len(standard_seeds(user_ns)), content=writer.pickler.content),
        names=packing.sent,
        bindings={name: id(value) for name, value in user_ns.items()},
        ambient=around,
        has_dice=has_dice,
        copies=writer.pickler.tensors.copies,
    )
    packages = frozenset(writer.pickler.packages | {name.partition(".")[0] for name in found.imports})
    nbytes = writer.body.tell() + writer.pickler.out_of_band_bytes
    return Packed(
        report=tuple(packing.report),
        reads=found,
        sent=sent,
        nbytes=nbytes,
        packages=packages,
        writer=writer,
        header=header,
    )


class _Packing:
    def __init__(self, user_ns: dict[str, Any], found: Reads, objects: ObjectStore, needed: Sequence[str]) -> None:
        self.user_ns = user_ns
        self.found = found
        self.needed = list(dict.fromkeys(needed))
        self.sent: dict[str, Any] = {}
        self.report: list[Traveller] = []
        self.tried: set[str] = set()
        first = [user_ns[name] for name in (*self.needed, *found.wanted)]
        self.writer = PayloadWriter(
            home=user_ns, objects=objects, big=big_blobs(first), shared_roots=_shared_roots(first)
        )

    def run(self) -> None:
        """Pack what must travel and what its functions read, then what may."""
        queue = list(self.needed)
        self._types_first([self.user_ns[name] for name in queue])
        queue += self._read_by_functions()
        while queue:
            name = min(queue, key=lambda n: _rank(self.user_ns[n]))
            queue.remove(name)
            if name not in self.sent:
                self._must(name)
                queue += [n for n in self._read_by_functions() if n not in queue]
        optional = [*self.found.wanted, *self._read_by_functions(stored=True)]
        while optional:
            name = optional.pop(0)
            if name not in self.sent and name in self.user_ns:
                self._may(name)
                optional += [n for n in self._read_by_functions(stored=None) if n not in self.tried]
        for number in self.found.outputs:
            self._may_output(number)

    def _types_first(self, values: Sequence[object]) -> None:
        """Pack the notebook's classes and functions that values hold before the values.

        What their code needs is then there when a value's __setstate__ or __hash__ runs on arrival.
        """
        for number, found in enumerate(home_types(values)):
            with contextlib.suppress(Exception):  # the value that holds it will say why
                self.writer.try_add(("home", number), found)

    def _may_output(self, number: int) -> None:
        with contextlib.suppress(Exception):  # as in _may
            self.writer.try_add(("output", number), self.user_ns["Out"][number])

    def _read_by_functions(self, *, stored: bool | None = False) -> list[str]:
        """Return names that packed functions read and that have not travelled yet."""
        return [
            name
            for name in self.writer.pickler.globals_read
            if name not in self.sent
            and name in self.user_ns
            and not (name.startswith("__") and name.endswith("__"))
            and (stored is None or (name in self.found.stored) == stored)
        ]

    def _must(self, name: str) -> None:
        value = self.user_ns[name]
        try:
            self._add(name, self.writer.add)
        except (ObjectStoreFull, KeyboardInterrupt, MemoryError):
            raise
        except Exception as error:
            raise not_picklable(name, value, error, home=self.user_ns, objects=self.writer.pickler.objects) from error

    def _may(self, name: str) -> None:
        self.tried.add(name)
        try:
            self._add(name, self.writer.try_add)
        except (ObjectStoreFull, KeyboardInterrupt, MemoryError):
            raise
        except Exception:  # noqa: BLE001  the cell may do without: what is not used stays behind silently
            return

    def _add(self, name: str, add: Callable[[tuple[Any, ...], object], int]) -> None:
        value = self.user_ns[name]
        nbytes = add(("name", name), value)
        self.sent[name] = value
        self.report.append(Traveller(name=name, type_name=type(value).__name__, nbytes=nbytes))

    def imports(self) -> list[str]:
        """Return the submodules to import, so that attribute chains like concurrent.futures work."""
        mentioned = self.found.mentioned | self.writer.pickler.mentioned
        packages = [v for v in self.sent.values() if isinstance(v, types.ModuleType) and hasattr(v, "__path__")]
        loaded = list(sys.modules)
        return sorted({part for package in packages for part in module_parts(package, mentioned, loaded)})


def _rank(value: object) -> int:
    """Return what travels first: modules, then code, then plain values."""
    if isinstance(value, types.ModuleType):
        return 0
    if isinstance(value, type | types.FunctionType):
        return 1
    return 2 if type(value) in (int, float, str, bool, bytes, type(None)) else 3


def _shared_roots(values: Sequence[Any]) -> frozenset[int]:
    """Return the ids of arrays and storages that travel whole because a variable is one."""
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    found: set[int] = set()
    for value in values:
        if numpy is not None and type(value) is numpy.ndarray and value.base is None:
            found.add(id(value))
        elif torch is not None and hasattr(torch, "Tensor") and type(value) is torch.Tensor:
            if value.layout is torch.strided and value.device.type == "cpu":
                storage = value.untyped_storage()
                if storage.nbytes() == value.numel() * value.element_size():
                    found.add(storage._cdata)
    return frozenset(found)


def placeholder_names(header: Mapping[str, Any]) -> dict[str, restore.LeftBehind]:
    """Return stand-ins for variables that the cell only deletes."""
    return {name: restore.LeftBehind(name) for name in header["dropped"]}
