"""The file in which variables travel: a header, then one pickle of many entries that share objects.

Knows pickles and numbers; knows nothing of cells. An entry that can't be written or read costs only itself.
"""

from __future__ import annotations

import contextlib
import gc
import io
import itertools
import os
import pickle
import pickletools
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from cloudpickle import cloudpickle as internals

from jupysched.namespace import restore
from jupysched.namespace.errors import WrongVersion
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pickling import IN_BAND_BYTES, NotebookPickler, standard_seeds, unique

MAGIC = b"jupysched-variables-1\n"
#: take the next object from the seeds, give it the next number, drop it
_SEED = pickle.NEXT_BUFFER + pickle.MEMOIZE + pickle.POP


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Hold the cyclic garbage collector back: it would walk every object again for each few thousand new ones."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


@dataclass(slots=True)
class Entry:
    """Where one entry lies in the body."""

    label: tuple[Any, ...]
    start: int
    end: int
    #: how many buffers were asked for before it
    buffers: int


class PayloadWriter:
    """Collects entries into one pickle."""

    def __init__(
        self,
        *,
        home: dict[str, Any],
        objects: ObjectStore,
        seeds: Sequence[object] = (),
        big: Sequence[bytes | bytearray] = (),
        shared_roots: frozenset[int] = frozenset(),
    ) -> None:
        self.body = io.BytesIO()
        self.blobs = [(type(value).__name__, objects.put(value)) for value in big]
        every = unique([*(seeds or standard_seeds(home)), *big])
        self.pickler = NotebookPickler(self.body, home=home, objects=objects, seeds=every, shared_roots=shared_roots)
        self.pickler.out_of_band_bytes += sum(len(value) for value in big)
        self.entries: list[Entry] = []

    def add(self, label: tuple[Any, ...], value: object) -> int:
        """Append an entry and return its bytes. After an exception the writer is of no more use."""
        start, buffers, before = self.body.tell(), len(self.pickler.buffers), self.pickler.out_of_band_bytes
        self.pickler.dump(value)
        self.entries.append(Entry(label, start, self.body.tell(), buffers))
        return self.body.tell() - start + self.pickler.out_of_band_bytes - before

    def try_add(self, label: tuple[Any, ...], value: object) -> int:
        """Append an entry and return its bytes. After an exception it is as if it had not been tried."""
        pickler = self.pickler
        start, memo, buffers = self.body.tell(), pickler.memo.copy(), len(pickler.buffers)
        names, mentioned = dict(pickler.globals_read), set(pickler.mentioned)
        try:
            return self.add(label, value)
        except BaseException:
            self.body.seek(start)
            self.body.truncate()
            pickler.memo = memo
            del pickler.buffers[buffers:]
            pickler.globals_read, pickler.mentioned = names, mentioned
            raise

    def numbered(self) -> dict[int, Any]:
        """Return what was written, by number."""
        return dict(self.pickler.memo.copy().values())

    def forget(self) -> None:
        """Let go of what was packed: a pickler knows itself, and would hold it until the collector comes by."""
        self.pickler.clear_memo()
        self.pickler.tensors.storages.clear()
        self.pickler.privates.clear()

    def write(self, path: Path, header: dict[str, Any]) -> int:
        """Return the bytes written. Writes: the file, by rename."""
        path = Path(path)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with open(temporary, "wb", opener=lambda p, f: os.open(p, f, 0o600)) as file:
                size = self.write_to(file, header)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        return size

    def write_to(self, file: BinaryIO, header: dict[str, Any]) -> int:
        """Return the bytes written to this file."""
        full = {
            **header,
            "blobs": self.blobs,
            "buffers": self.pickler.buffers,
            "entries": [(e.label, e.start, e.end, e.buffers) for e in self.entries],
        }
        head = pickle.dumps(full, protocol=5)
        file.write(MAGIC)
        file.write(len(head).to_bytes(8, "little"))
        file.write(head)
        file.write(self.body.getbuffer())
        return len(MAGIC) + 8 + len(head) + self.body.tell()


class _KeepingUnpickler(pickle.Unpickler):
    """Leaves alone the classes that exist here: cloudpickle would find them again and reset their attributes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.existing = {id(cls) for cls in list(internals._DYNAMIC_CLASS_TRACKER_BY_ID.values())}

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        if found is internals._class_setstate:
            return lambda cls, state: cls if id(cls) in self.existing else found(cls, state)
        return found


@dataclass(slots=True)
class PayloadReader:
    """Reads the entries of a file; what can't be rebuilt is yielded as the exception."""

    path: Path
    home: dict[str, Any]
    objects: ObjectStore
    #: what the writer's seeds are on this side; the standard ones when None
    seeds: Sequence[object] | None = None
    header: dict[str, Any] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    #: classes that this process has already stay as they are
    keep_classes: bool = False
    #: id of an array or storage -> name of its content
    content: dict[int, str] = field(default_factory=dict)
    _body: bytes = b""
    _unpickler: Any = None

    def __post_init__(self) -> None:
        data = Path(self.path).read_bytes()
        if not data.startswith(MAGIC):
            raise WrongVersion(data[: len(MAGIC)])
        at = len(MAGIC)
        size = int.from_bytes(data[at : at + 8], "little")
        self.header = pickle.loads(data[at + 8 : at + 8 + size])
        self._body = data[at + 8 + size :]
        self.entries = [Entry(*e) for e in self.header["entries"]]

    def read(self) -> Iterator[tuple[tuple[Any, ...], Any, BaseException | None]]:
        """Yield (label, value, None), or (label, None, what was raised), for each entry in order."""
        with restore.loading(self.objects) as made:
            seeds = list(standard_seeds(self.home) if self.seeds is None else self.seeds)
            seeds += [getattr(restore, f"big_{kind}")(name) for kind, name in self.header["blobs"]]
            self._open(seeds, 0, 0)
            for position, entry in enumerate(self.entries):
                try:
                    value = self._unpickler.load()
                except BaseException as error:  # noqa: BLE001  a user's __setstate__ may raise anything
                    if isinstance(error, KeyboardInterrupt):
                        raise
                    self._skip(seeds, position)
                    yield entry.label, None, error
                else:
                    yield entry.label, value, None
            self.content = {id(value): name for value, name in made}

    def numbered(self) -> dict[int, Any]:
        """Return what was read, by the writer's numbers."""
        found: dict[int, Any] = self._unpickler.memo.copy()
        return found

    def _open(self, seeds: Sequence[object], start: int, buffer: int) -> None:
        prelude = pickle.PROTO + bytes([5]) + _SEED * len(seeds) + pickle.NONE + pickle.STOP
        names = self.header["buffers"][buffer:]
        file = io.BytesIO(prelude + self._body[start:])
        kind = _KeepingUnpickler if self.keep_classes else pickle.Unpickler
        self._unpickler = kind(file, buffers=itertools.chain(seeds, map(self.objects.map, names)))
        self._unpickler.load()

    def _skip(self, seeds: Sequence[object], position: int) -> None:
        """Go on after an entry that could not be rebuilt: its numbers stay taken."""
        entry = self.entries[position]
        numbers = len(seeds) + sum(
            opcode.name == "MEMOIZE"
            for start in [e.start for e in self.entries[: position + 1]]
            for opcode, _, _ in pickletools.genops(self._body[start:])
        )
        known = self.numbered()
        missing = restore.LeftBehind(str(entry.label[-1]))
        buffer = self.entries[position + 1].buffers if position + 1 < len(self.entries) else 0
        self._open([known.get(n, missing) for n in range(numbers)], entry.end, buffer)


def big_blobs(values: Sequence[object], *, depth: int = 3) -> list[bytes | bytearray]:
    """Return the large bytes and bytearrays in these values and a few levels below."""
    found: dict[int, bytes | bytearray] = {}
    level: list[object] = list(values)
    seen: set[int] = set()
    for _ in range(depth):
        below: list[object] = []
        for value in level:
            kind = type(value)
            if kind is bytes or kind is bytearray:
                if len(value) >= IN_BAND_BYTES:  # type: ignore[arg-type]
                    found[id(value)] = value  # type: ignore[assignment]
            elif id(value) not in seen:
                seen.add(id(value))
                below += _below(value)
        level = below
    return list(found.values())


_DULL = {int, float, str, bool, type(None), complex}


def _below(value: object) -> list[object]:
    if isinstance(value, dict):
        inner: list[object] = list(value.values())
    elif type(value) in (list, tuple, set, frozenset):
        inner = list(value)  # type: ignore[call-overload]
    elif isinstance(value, type | types.ModuleType) or not isinstance(getattr(value, "__dict__", None), dict):
        return []
    else:
        inner = list(vars(value).values())
    if set(map(type, inner)) <= _DULL:
        return []
    return inner
