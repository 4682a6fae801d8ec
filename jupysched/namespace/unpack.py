"""From the file to the job's variables. Knows the job's namespace; runs in the job only."""

from __future__ import annotations

import contextlib
import importlib
import resource
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupysched.namespace import ambient
from jupysched.namespace.errors import NotRebuilt
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pack import placeholder_names
from jupysched.namespace.payload import PayloadReader, without_collection
from jupysched.namespace.pickling import standard_seeds
from jupysched.namespace.sources import register_sources
from jupysched.namespace.walk import Tracked


@dataclass(slots=True, kw_only=True)
class Baseline:
    """How the job's variables were before the cell ran."""

    tracked: Tracked
    #: every name of the namespace and its value
    names: dict[str, Any]
    #: names that came from the notebook
    received: frozenset[str]
    #: as ambient.collect() returned it after loading
    ambient: dict[str, Any]
    #: the limit of the address space, which a cell may lower
    address_space: tuple[int, int]
    #: the numbers n of Out[n] that came from the notebook
    outputs: frozenset[int] = frozenset()


@without_collection()
def load_inputs(path: Path, namespace: dict[str, Any], objects: ObjectStore) -> Baseline:
    """Put the variables into the namespace and return what pack_changes needs to see changes.

    Raises: NotRebuilt, from what a variable's own code raised; ObjectMissing; WrongVersion.
    """
    reader = PayloadReader(Path(path), namespace, objects)
    header = reader.header
    register_sources(header["sources"])
    received: set[str] = set()
    for label, value, error in reader.read():
        if error is not None:
            raise NotRebuilt(str(label[1]), error) from error
        if label[0] == "name":
            namespace[label[1]] = value
            received.add(label[1])
        elif label[0] == "output":
            namespace.setdefault("Out", {})[label[1]] = value
    for name, stand_in in placeholder_names(header).items():
        namespace[name] = stand_in
        received.add(name)
    for name in header["imports"]:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in ambient.modules_of(header["ambient"]) & {n.partition(".")[0] for n in header["cell_imports"]}:
        # the cell imports it anyway, and must find the notebook's options then
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    if not ambient.dice_of(header["ambient"]):
        ambient.throw_anew()
    ambient.apply(header["ambient"])
    return Baseline(
        tracked=Tracked(reader.numbered(), first=len(standard_seeds(namespace)), content=reader.content),
        names=dict(namespace),
        received=frozenset(received),
        ambient=ambient.collect(),
        address_space=resource.getrlimit(resource.RLIMIT_AS),
        outputs=frozenset(namespace.get("Out", ())),
    )
