"""What no variable holds any more gives its pages in memory to the next buffer; no content is lost by it."""

import gc
import os
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from jupysched.namespace import spent
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pack import pack_inputs
from jupysched.namespace.restore import array, loading

MEGABYTE = 1 << 20


def marked(store: ObjectStore) -> set[str]:
    folder = store.folder / "spent"
    return set(os.listdir(folder)) if folder.exists() else set()


def packed(store: ObjectStore, cell: str, **variables: object) -> set[str]:
    """The buffers that are new in the store after the variables were packed for this cell."""
    before = {path.name for path in store.folder.glob("??/*")}
    pack_inputs(cell, {"__name__": "__main__", **variables}, objects=store)
    gc.collect()  # what packed them knows them
    return {path.name for path in store.folder.glob("??/*")} - before


def in_memory(path: Path) -> bool:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.preadv(fd, [bytearray(1)], 0, os.RWF_NOWAIT)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


@pytest.fixture
def store(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path, is_notebooks=True)


def test_content_that_was_changed_in_place_or_whose_array_is_gone_is_spent(store: ObjectStore) -> None:
    values = np.zeros(MEGABYTE, np.uint8)
    first = packed(store, "values", values=values)
    assert set() == marked(store)
    values[5] = 1
    second = packed(store, "values", values=values)
    assert first == marked(store)
    del values
    assert first | second == marked(store)


def test_what_another_variable_still_holds_or_is_used_again_is_not_spent(store: ObjectStore) -> None:
    one, other = np.zeros(MEGABYTE, np.uint8), np.zeros(MEGABYTE, np.uint8)
    name = packed(store, "one, other", one=one, other=other)
    one[0] = 1
    packed(store, "one", one=one)
    assert set() == marked(store)
    del other
    assert name == marked(store)
    one[0] = 0
    packed(store, "one", one=one)
    assert not name & marked(store)


def test_a_tensor_counts_by_its_storage(store: ObjectStore) -> None:
    weights = torch.zeros(MEGABYTE)
    first = packed(store, "weights", weights=weights)
    weights += 1
    packed(store, "weights", weights=weights)
    assert first == marked(store)


def test_a_result_that_is_dropped_is_spent_in_the_notebook_and_not_in_a_job(store: ObjectStore) -> None:
    name = store.put(os.urandom(MEGABYTE))
    for objects, expected in ((ObjectStore(store.folder), set()), (store, {name})):
        with loading(objects):
            made = array(name, np.dtype(np.uint8), (MEGABYTE,), "C")
        del made
        assert expected == marked(store)


@pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="needs preadv2")
def test_a_new_buffer_takes_the_pages_of_a_spent_one_that_is_on_the_disk(store: ObjectStore) -> None:
    old = os.urandom(4 * MEGABYTE)
    name, kept = store.put(old), store.put(os.urandom(4 * MEGABYTE))
    for path in map(store.path, (name, kept)):
        with open(path, "rb") as file:
            os.fsync(file)
            if spent._cached(file.fileno())[0] != 4 * MEGABYTE:
                pytest.skip("the system does not tell what is in memory")
    spent.mark(store.folder, name)
    store.put(os.urandom(4 * MEGABYTE))
    assert (False, True, set()) == (in_memory(store.path(name)), in_memory(store.path(kept)), marked(store))
    assert old == bytes(store.map(name))


def test_a_mark_without_its_buffer_goes(store: ObjectStore) -> None:
    spent.mark(store.folder, "00ff-1048576")
    assert (0, set()) == (spent.let_go(store.folder, MEGABYTE), marked(store))


@pytest.mark.parametrize("make", [lambda: np.zeros(MEGABYTE, np.uint8), lambda: torch.zeros(MEGABYTE)])
def test_what_was_packed_and_written_is_freed_with_its_variable(
    store: ObjectStore, tmp_path: Path, make: Callable[[], object]
) -> None:
    variables = {"__name__": "__main__", "values": make()}
    gc.disable()
    try:
        packed = pack_inputs("values", variables, objects=store)
        packed.write(tmp_path / "input.pickle")
        gone = weakref.ref(variables.pop("values"))
        del packed
        assert gone() is None
        assert 1 == len(marked(store))
    finally:
        gc.enable()
