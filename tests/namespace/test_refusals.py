"""What can't travel is named with its path, before anything is queued."""

import threading
import types
from pathlib import Path
from typing import Any

import pytest

from jupysched.namespace.errors import NoSuchName, NotPicklable
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pack import pack_inputs


def refused(cell: str, user_ns: dict[str, Any], folder: Path) -> NotPicklable:
    with pytest.raises(NotPicklable) as caught:
        pack_inputs(cell, user_ns, objects=ObjectStore(folder))
    return caught.value


@pytest.mark.parametrize(
    ("cell", "value", "path", "what"),
    [
        ("store", lambda: types.SimpleNamespace(meta={"guard": threading.Lock()}), "store.meta['guard']", "a lock"),
        ("store", lambda: [1, (2, {"g": (i for i in "ab")})], "store[1][1]['g']", "a generator"),
        ("store", threading.Thread, "store", "a thread"),
        ("store", lambda: (lambda lock: lambda: lock)(threading.RLock()), "store.<lock>", "a lock"),
    ],
)
def test_the_path_leads_to_what_cannot_travel(cell: str, value: Any, path: str, what: str, tmp_path: Path) -> None:
    error = refused(cell, {"store": value()}, tmp_path)
    assert (path, True, True) == (error.path, what in error.sentence, bool(error.hint))
    assert str(error) == f"{error.sentence} {error.hint}"


def test_an_open_file_is_refused_but_the_streams_of_the_notebook_travel(tmp_path: Path) -> None:
    import sys

    with open(tmp_path / "x", "w") as file:
        assert "an open file" in refused("f.write('a')", {"f": file}, tmp_path).sentence
    pack_inputs("out.write('a')", {"out": sys.stdout}, objects=ObjectStore(tmp_path))


def test_what_the_cell_does_not_use_or_may_do_without_stays_behind(tmp_path: Path) -> None:
    user_ns = {"lock": threading.Lock(), "x": 1}
    packed = pack_inputs("if x:\n    lock = 2\nlock\nprint(x)", user_ns, objects=ObjectStore(tmp_path))
    assert ["x"] == [traveller.name for traveller in packed.report]


def test_the_report_tells_names_types_and_sizes(tmp_path: Path) -> None:
    packed = pack_inputs("a", {"a": bytes(100_000), "b": [1]}, objects=ObjectStore(tmp_path), in_names=["b"])
    assert [("a", "bytes"), ("b", "list")] == [
        (t.name, t.type_name) for t in sorted(packed.report, key=lambda t: t.name)
    ]
    assert packed.nbytes >= 100_000
    with pytest.raises(NoSuchName):
        pack_inputs("a", {"a": 1}, objects=ObjectStore(tmp_path), in_names=["nowhere"])
