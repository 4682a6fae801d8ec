"""What the cell changed, packed for the way back. Knows the job's namespace before and after; runs in the job only."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupysched.namespace import ambient
from jupysched.namespace.capture import is_private, is_shell_value
from jupysched.namespace.explain import reason
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.payload import PayloadWriter, big_blobs, without_collection
from jupysched.namespace.pickling import unique
from jupysched.namespace.sources import collect_sources
from jupysched.namespace.unpack import Baseline
from jupysched.namespace.walk import names_that_reach

#: what may come back after the cell lowered the limit of its memory
_LOW_MEMORY_BYTES = 256 << 20


@dataclass(slots=True)
class Returned:
    """What came back."""

    names: list[str] = field(default_factory=list)
    #: one sentence for each thing that did not
    notes: list[str] = field(default_factory=list)


@without_collection()
def pack_changes(
    path: Path,
    namespace: dict[str, Any],
    baseline: Baseline,
    objects: ObjectStore,
    out_names: Sequence[str] | None = None,
) -> Returned:
    """Return what comes back. Writes: the file, by rename; buffers into the object store."""
    _raise_memory_limit(baseline)
    change = _Change(namespace, baseline, objects, out_names)
    try:
        return change.pack(path, careful=False)
    except Exception:  # noqa: BLE001  something can't travel: once more, each thing by itself
        return change.pack(path, careful=True)


def _raise_memory_limit(baseline: Baseline) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if (soft, hard) != baseline.address_space:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, baseline.address_space)


class _Change:
    def __init__(
        self, namespace: dict[str, Any], baseline: Baseline, objects: ObjectStore, out_names: Sequence[str] | None
    ) -> None:
        self.namespace = namespace
        self.baseline = baseline
        self.objects = objects
        before = baseline.names
        visible = {n: v for n, v in namespace.items() if not is_private(n) and not is_shell_value(n, v)}
        if out_names is not None:
            visible = {n: v for n, v in visible.items() if n in out_names}
        self.missing = [n for n in out_names or () if n not in namespace and n not in baseline.received]
        self.visible = visible
        self.new = {n: v for n, v in visible.items() if n not in before or before[n] is not v}
        self.deleted = [n for n in baseline.received if n not in namespace and (out_names is None or n in out_names)]
        self.patches, self.replaced = baseline.tracked.patches()
        changed = {id(baseline.tracked.numbered[number]) for number, _, _ in self.patches}
        self.new |= {n: v for n, v in visible.items() if id(v) in self.replaced}
        kept = {n: v for n, v in visible.items() if n in baseline.received and n not in self.new}
        self.touched = names_that_reach(kept, changed) if changed else []
        if out_names is not None:
            self.patches = self._reachable_patches()
        self.value = _last_value(namespace, baseline) if out_names is None or "_" in out_names else {}

    def _reachable_patches(self) -> list[tuple[int, str, Any]]:
        numbered = self.baseline.tracked.numbered
        return [p for p in self.patches if names_that_reach(self.visible, {id(numbered[p[0]])})]

    def pack(self, path: Path, *, careful: bool) -> Returned:
        returned = Returned(
            [], [f"{n!r} did not come back: there is no such variable at the end of the cell." for n in self.missing]
        )
        values = [*self.new.values(), *self.value.values(), *(patch for _, _, patch in self.patches)]
        writer = PayloadWriter(
            home=self.namespace,
            objects=self.objects,
            seeds=unique(self.baseline.tracked.seeds(without=self.replaced)),
            big=() if self._is_short_of_memory() else big_blobs(values),
        )
        add = writer.try_add if careful else writer.add
        for number, kind, patch in self.patches:
            try:
                add(("patch", number, kind), patch)
            except Exception as error:
                if not careful:
                    raise
                returned.notes.append(self._patch_note(number, error))
        for name, value in self.new.items():
            try:
                self._check_size(name, value)
                add(("name", name), value)
                returned.names.append(name)
            except Exception as error:
                if not careful:
                    raise
                returned.notes.append(f"{name!r} did not come back: {_why(error)}.")
        for number, value in self.value.items():
            try:
                self._check_size("_", value)
                add(("output", number), value)
            except Exception as error:
                if not careful:
                    raise
                returned.notes.append(f"The value of the cell's last line did not come back: {_why(error)}.")
        returned.names += [n for n in self.touched if n not in returned.names]
        header = {
            "deleted": self.deleted,
            "touched": self.touched,
            "notes": returned.notes,
            "sources": collect_sources(writer.pickler.filenames),
            "ambient": ambient.changes(self.baseline.ambient),
            "seeds": len(self.baseline.tracked.seeds()),
        }
        writer.write(path, header)
        return returned

    def _patch_note(self, number: int, error: BaseException) -> str:
        obj = self.baseline.tracked.numbered[number]
        names = names_that_reach(self.visible, {id(obj)})
        where = repr(names[0]) if names else f"an object of type {type(obj).__name__}"
        return f"A change in {where} did not come back: {_why(error)}."

    def _is_short_of_memory(self) -> bool:
        now, before = resource.getrlimit(resource.RLIMIT_AS)[0], self.baseline.address_space[0]
        return now not in {before, resource.RLIM_INFINITY}

    def _check_size(self, name: str, value: Any) -> None:
        if self._is_short_of_memory():
            size = sum(len(b) for b in big_blobs([value]))
            if size > _LOW_MEMORY_BYTES:
                raise _TooLarge(f"{size / 1e6:,.0f} MB are too much under the memory limit that the cell set")


def _last_value(namespace: dict[str, Any], baseline: Baseline) -> dict[int, Any]:
    """Return what the cell showed as its result, by the number under which IPython keeps it."""
    shown = namespace.get("Out")
    if not isinstance(shown, dict):
        return {}
    return {n: value for n, value in shown.items() if n not in baseline.outputs}


class _TooLarge(TypeError):
    """A value that is not worth its bytes."""


def _why(error: BaseException) -> str:
    return reason(error)
