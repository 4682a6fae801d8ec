"""From the job's file into the notebook. Knows the notebook's variables then and now; overwrites nothing silently."""

from __future__ import annotations

import reprlib
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupysched.namespace import ambient
from jupysched.namespace.explain import reason
from jupysched.namespace.facets import MISSING, Delta
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.opaque import REPLACED
from jupysched.namespace.pack import Sent
from jupysched.namespace.payload import PayloadReader
from jupysched.namespace.pickling import standard_seeds
from jupysched.namespace.sources import register_sources
from jupysched.namespace.walk import Tracked, names_that_reach

#: (id of the namespace, name) -> (serial of the submission, id of the value) of what jobs put there
_landed: dict[tuple[int, str], tuple[int, int]] = {}


@dataclass(slots=True)
class Landing:
    """What came back into the notebook."""

    #: names that now have the job's value
    landed: list[str] = field(default_factory=list)
    #: one sentence for each value that the notebook had changed meanwhile
    conflicts: list[str] = field(default_factory=list)
    #: one sentence for each value that did not come back
    failures: list[str] = field(default_factory=list)
    #: everything that came back, also what was not put into the notebook
    values: dict[str, Any] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    #: what the cell showed as its result: one value or none
    shown: list[Any] = field(default_factory=list)
    #: names whose object the notebook changed as well: the job's state of it is nowhere here, `load_values` rebuilds it
    apart: list[str] = field(default_factory=list)


def land(result_path: Path, user_ns: dict[str, Any], sent: Sent, objects: ObjectStore) -> Landing:
    """Put what the job changed into the notebook, in place where possible, and say what was not.

    Raises: WrongVersion; OSError when the file can't be read.
    """
    reader = PayloadReader(Path(result_path), user_ns, objects, seeds=_seeds(user_ns, sent))
    register_sources(reader.header["sources"])
    landing = Landing(failures=list(reader.header["notes"]))
    names: dict[str, Any] = {}
    patches: list[tuple[int, str, Any]] = []
    for label, value, error in reader.read():
        if error is not None:
            landing.failures.append(_failure(label, error))
        elif label[0] == "patch":
            patches.append((label[1], label[2], value))
        elif label[0] == "output":
            landing.shown.append(value)
        else:
            names[label[1]] = value
    clashing = _apply_all(sent.tracked, patches, landing)
    for tensor, copy in sent.copies:
        _refresh(tensor, copy)
    for name, value in names.items():
        _bind(name, value, user_ns, sent, landing)
    _land_touched(reader.header["touched"], user_ns, sent, landing, clashing)
    _delete(reader.header["deleted"], user_ns, sent, landing)
    around = reader.header["ambient"]
    ambient.land(around if sent.has_dice else ambient.without_dice(around), sent.ambient)
    return landing


def _seeds(user_ns: dict[str, Any], sent: Sent) -> list[Any]:
    """Return the originals by number; streams and such are those of now."""
    seeds = sent.tracked.seeds()
    own = standard_seeds(user_ns)
    return [*(own[n] for n in range(len(own))), *seeds[len(own) :]]


def _failure(label: tuple[Any, ...], error: BaseException) -> str:
    whats = {"name": repr(label[1]), "output": "The value of the cell's last line"}
    what = whats.get(label[0], "A change")
    return f"{what} did not come back: {reason(error)}."


def _apply_all(tracked: Tracked, patches: list[tuple[int, str, Any]], landing: Landing) -> set[int]:
    """Return the ids of originals that the notebook changed meanwhile, so that the job's state was not put there."""
    # Look at all before the first is changed: one object's state may be part of another's.
    here = [_change_here(tracked, number, kind) for number, kind, _ in patches]
    clashing: set[int] = set()
    for (number, kind, patch), mine in zip(patches, here, strict=True):
        wanted: Any = patch
        if mine is REPLACED or (mine is not MISSING and not _same_patch(mine, patch)):
            clashing.add(id(tracked.numbered[number]))
            if not (isinstance(mine, Delta) and isinstance(patch, Delta)):
                continue
            wanted, clear = _without_clashes(patch, mine)
            if clear:
                clashing.discard(id(tracked.numbered[number]))
        try:
            tracked.apply(number, kind, wanted)
        except Exception as error:  # noqa: BLE001  one object that refuses its state costs only itself
            kind_name = type(tracked.numbered[number]).__name__
            landing.failures.append(f"A change in an object of type {kind_name} did not come back: {reason(error)}.")
    return clashing


def _change_here(tracked: Tracked, number: int, kind: str) -> Any:
    try:
        return tracked.patch(number, kind)
    except Exception:  # noqa: BLE001  what can't be compared counts as unchanged
        return MISSING


def _without_clashes(patch: Delta, here: Delta) -> tuple[Delta, bool]:
    """Return the part of a patch that touches nothing that the notebook touched."""
    mine = set(here.changed) | set(here.removed)
    changed = {k: v for k, v in patch.changed.items() if k not in mine or _equal(here.changed.get(k, MISSING), v)}
    removed = [k for k in patch.removed if k not in mine or k in here.removed]
    clear = len(changed) == len(patch.changed) and len(removed) == len(patch.removed)
    return Delta(changed, removed), clear


def _same_patch(here: Any, there: Any) -> bool:
    if isinstance(here, Delta) and isinstance(there, Delta):
        return (
            list(here.changed) == list(there.changed)
            and here.removed == there.removed
            and all(_equal(v, there.changed[k]) for k, v in here.changed.items())
        )
    return _equal(getattr(here, "value", here), there)


def _equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    try:
        answer = one == other
        return bool(answer.all()) if hasattr(answer, "all") else bool(answer)
    except Exception:  # noqa: BLE001  what can't be compared is not equal
        return False


def _refresh(tensor: Any, copy: Any) -> None:
    """Bring the job's content of a CPU copy to the notebook's CUDA tensor."""
    import torch

    with torch.no_grad():
        tensor.copy_(copy)


def _changed_here(name: str, user_ns: dict[str, Any], sent: Sent) -> bool:
    now = user_ns.get(name, MISSING)
    serial, value_id = _landed.get((id(user_ns), name), (0, 0))
    if value_id == id(now) and serial < sent.serial:
        return False  # an earlier job put it there
    if name in sent.names:
        return now is not sent.names[name]
    if name not in sent.bindings:
        return now is not MISSING
    return now is MISSING or id(now) != sent.bindings[name]


def _bind(name: str, value: Any, user_ns: dict[str, Any], sent: Sent, landing: Landing) -> None:
    landing.values[name] = value
    if _changed_here(name, user_ns, sent) and not _equal(user_ns.get(name, MISSING), value):
        landing.conflicts.append(_conflict(name, user_ns))
        return
    user_ns[name] = value
    _landed[id(user_ns), name] = (sent.serial, id(value))
    landing.landed.append(name)


def _conflict(name: str, user_ns: dict[str, Any]) -> str:
    kept = f"kept {reprlib.repr(user_ns[name])}" if name in user_ns else "it is deleted there"
    return f"{name} was changed in the notebook meanwhile; {kept}."


def _land_touched(names: list[str], user_ns: dict[str, Any], sent: Sent, landing: Landing, clashing: set[int]) -> None:
    for name in names:
        original = sent.names.get(name, MISSING)
        clashes = bool(clashing) and bool(names_that_reach({name: original}, clashing))
        if clashes:
            landing.apart.append(name)
        else:
            landing.values[name] = original
        if clashes or user_ns.get(name, MISSING) is not original:
            landing.conflicts.append(_conflict(name, user_ns))
        else:
            landing.landed.append(name)


def _delete(names: list[str], user_ns: dict[str, Any], sent: Sent, landing: Landing) -> None:
    for name in names:
        if name not in user_ns:
            continue
        if _changed_here(name, user_ns, sent):
            landing.conflicts.append(f"{name} was changed in the notebook meanwhile; kept. The job deleted it.")
        else:
            del user_ns[name]
            landing.deleted.append(name)


def load_values(
    result_path: Path,
    objects: ObjectStore,
    user_ns: dict[str, Any],
    *,
    input_path: Path | None = None,
    shown: list[Any] | None = None,
) -> dict[str, Any]:
    """Return what a job brought back, for a notebook that did not submit it: new values, at home in this one.

    `shown` takes what the cell showed as its result. What the job received is rebuilt from its input, and its changes are applied to that.
    Raises: WrongVersion; OSError when a file can't be read.
    """
    result_path = Path(result_path)
    source = PayloadReader(
        input_path or result_path.parent.parent / "input.pickle", user_ns, objects, keep_classes=True
    )
    register_sources(source.header["sources"])
    received = {label[1]: value for label, value, error in source.read() if error is None and label[0] == "name"}
    tracked = Tracked(source.numbered(), first=sys.maxsize)
    seeds = tracked.seeds()
    reader = PayloadReader(result_path, user_ns, objects, seeds=seeds, keep_classes=True)
    register_sources(reader.header["sources"])
    values: dict[str, Any] = {}
    for label, value, error in reader.read():
        if error is not None:
            continue
        if label[0] == "patch":
            tracked.apply(label[1], label[2], value)
        elif label[0] == "output":
            if shown is not None:
                shown.append(value)
        else:
            values[label[1]] = value
    values.update({name: received[name] for name in reader.header["touched"] if name in received})
    return values
