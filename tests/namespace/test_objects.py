"""A buffer is stored once, under its content, whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from jupysched.namespace.errors import ObjectMissing, ObjectStoreFull
from jupysched.namespace.objects import ObjectStore, collect_garbage


def test_the_same_content_is_written_once_and_a_change_is_never_missed(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    data = bytearray(os.urandom(200_000))
    first = store.put(data)
    assert (first, 200_000) == (store.put(bytes(data)), store.written_bytes)
    data[77] ^= 1
    assert first != store.put(data)


def test_a_map_is_private_and_writable(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    name = store.put(b"x" * 100_000)
    store.map(name)[0] = ord("y")
    assert b"xx" == bytes(store.map(name)[:2])
    assert b"" == bytes(store.map(store.put(b"")))


def test_large_buffers_are_whole(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    data = os.urandom(1 << 20) * 130  # more than one block: two threads write
    assert data == bytes(store.map(store.put(data)))


def test_a_full_disk_leaves_nothing_behind_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(ObjectStoreFull) as caught:
        ObjectStore(tmp_path).put(b"x" * 100_000)
    assert "disk is full" in caught.value.sentence
    assert "JUPYSCHED_HOME" in str(caught.value)
    assert [] == [p for p in tmp_path.rglob("*") if p.is_file()]


def test_a_missing_buffer_is_named(tmp_path: Path) -> None:
    with pytest.raises(ObjectMissing):
        ObjectStore(tmp_path).map("00ff-12")


def test_garbage_is_what_nobody_used_for_long_then_what_is_oldest(tmp_path: Path) -> None:
    store = ObjectStore(tmp_path)
    names = [store.put(bytes([n]) * 1000) for n in range(4)]
    for age, name in enumerate(names):
        os.utime(store.path(name), (1000 - age, 1000 - age))
    assert 1000 == collect_garbage(tmp_path, max_age_s=102.5, now=1100)
    assert 2000 == collect_garbage(tmp_path, max_age_s=1e9, max_bytes=1000, now=1100)
    assert [True, False, False, False] == [store.path(name).exists() for name in names]
