"""Where in a value the part hangs that can't travel. Runs only after pickling failed."""

from __future__ import annotations

import io
from typing import Any

from jupysched.namespace.errors import NotPicklable
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.opaque import HashOnly
from jupysched.namespace.pickling import NotebookPickler
from jupysched.namespace.refusals import CREATE_INSIDE, REFUSED, Refused, full_name, parts

_MOST_STEPS = 30


def reason(error: BaseException) -> str:
    """Return why something can't travel, as half a sentence."""
    if isinstance(error, Refused):
        return f"{error.what} can't travel"
    first = (str(error) or type(error).__name__).strip().splitlines()[0][:200]
    return first if isinstance(error, TypeError) else f"{type(error).__name__}: {first}"


def find_refused(
    name: str, value: Any, *, home: dict[str, Any], objects: ObjectStore
) -> tuple[str, Any, BaseException | None]:
    """Return (path, part, error) of the deepest part that fails by itself, as far as it can be told."""
    path, error = name, _failure(value, home, objects)
    seen = {id(value)}
    for _ in range(_MOST_STEPS):
        if error is None or full_name(type(value)) in REFUSED:
            break
        for suffix, part in parts(value):
            if id(part) in seen:
                continue
            seen.add(id(part))
            below = _failure(part, home, objects)
            if below is not None:
                path, value, error = path + suffix, part, below
                break
        else:
            break
    return path, value, error


def _failure(value: Any, home: dict[str, Any], objects: ObjectStore) -> BaseException | None:
    from jupysched.namespace.pickling import standard_seeds, unique

    seeds = unique(standard_seeds(home))
    pickler = NotebookPickler(io.BytesIO(), home=home, objects=HashOnly(objects.folder), seeds=seeds)
    try:
        pickler.dump(value)
    except Exception as error:  # noqa: BLE001  this is what was asked
        return error
    return None


def not_picklable(
    name: str, value: Any, error: BaseException, *, home: dict[str, Any], objects: ObjectStore
) -> NotPicklable:
    """Return the error that names the part, its type, and what to do instead."""
    path, part, found = find_refused(name, value, home=home, objects=objects)
    found = found or error
    kind = full_name(type(part))
    if isinstance(found, Refused):
        return NotPicklable(path, kind, f"it is {found.what}", hint=found.hint)
    what, hint = REFUSED.get(kind, (f"an object of type {type(part).__name__} that can't be pickled", CREATE_INSIDE))
    why = f"it is {what}" if kind in REFUSED else f"it is {what} ({reason(found)})"
    return NotPicklable(path, kind, why, hint=hint)
