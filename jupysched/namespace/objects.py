"""Buffers in files named by their content. Knows bytes and files; knows nothing of variables or pickles.

A name is `<xxh3_128 hex>-<bytes>`. A file that has its name is complete and never written again; the time of its last
use is its mtime, so that `collect_garbage` knows what nobody uses.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import xxhash

from jupysched.namespace import spent
from jupysched.namespace.errors import ObjectMissing, ObjectStoreFull

#: Written in pieces below 2 MB: for larger ones ext4 takes huge pages, and finding free ones takes seconds where memory is
#: in pieces (512 MB: 0.3 s in pieces of up to 1 MB, 1.4 to 6 s in pieces of 2 to 64 MB). A second thread gains nothing.
BLOCK_BYTES = 512 << 10


def content_name(view: memoryview) -> str:
    """Return the name of these bytes: their hash and their number."""
    return f"{xxhash.xxh3_128_hexdigest(view)}-{view.nbytes}"


@dataclass(slots=True)
class ObjectStore:
    """A folder of buffers, each named by its content."""

    folder: Path
    #: bytes written by this object, not those found already there
    written_bytes: int = 0
    #: bytes of the buffers that it has mapped
    mapped_bytes: int = 0
    #: it is the notebook's: what leaves the notebook's variables is spent. A job's variables are copies
    is_notebooks: bool = False
    _held: spent.Held | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.folder = Path(self.folder)
        if self.is_notebooks:
            self._held = spent.Held(self.folder)

    def path(self, name: str) -> Path:
        """Return where a buffer of this name lies."""
        return self.folder / name[:2] / name

    def put(self, buffer: object, *, name: str | None = None, owner: object = None, place: int = 0) -> str:
        """Return the name of this buffer, which is in the store from now on.

        `owner`, `place`: the variable whose own memory it is, and its address.
        Raises: ObjectStoreFull (nothing is left behind). Writes: the file, unless one of this content is there.
        """
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        name = name or content_name(view)
        target = self.path(name)
        is_large = view.nbytes >= spent.WORTH_BYTES
        if is_large:
            spent.unmark(self.folder, name)
        if is_large and place and self._held is not None:
            self._held.moves_in(name, place, owner)
        try:
            os.utime(target)
            if target.stat().st_size == view.nbytes:
                return name
        except FileNotFoundError:
            pass
        if is_large:
            spent.let_go(self.folder, view.nbytes)
        self._write(view, target)
        self.written_bytes += view.nbytes
        return name

    def _write(self, view: memoryview, target: Path) -> None:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = target.parent / f".{target.name}.{os.getpid()}.{threading.get_ident()}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_blocks(fd, view)
            os.rename(temporary, target)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise ObjectStoreFull(str(self.folder), view.nbytes, _free_bytes(self.folder)) from error
            raise
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)

    def map(self, name: str) -> mmap.mmap | bytearray:
        """Return the buffer, writable and private: what is written there stays in this process.

        Raises: ObjectMissing.
        """
        if name.endswith("-0"):
            return bytearray()
        try:
            fd = os.open(self.path(name), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise ObjectMissing(name) from error
        try:
            os.utime(fd)
            found = mmap.mmap(fd, 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)
        finally:
            os.close(fd)
        self.mapped_bytes += len(found)
        if len(found) >= spent.WORTH_BYTES:
            spent.unmark(self.folder, name)
            if self._held is not None:
                self._held.is_mapped(name, found)
        return found

    def touch(self, names: Iterable[str]) -> None:
        """Make these buffers count as used now."""
        for name in names:
            try:
                os.utime(self.path(name))
            except FileNotFoundError as error:
                raise ObjectMissing(name) from error


def _write_blocks(fd: int, view: memoryview) -> None:
    if view.nbytes:
        # Reserve first: a full disk is known before a byte is written.
        try:
            os.posix_fallocate(fd, 0, view.nbytes)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
                raise
    at = 0
    while at < view.nbytes:
        at += os.pwrite(fd, view[at : at + BLOCK_BYTES], at)  # a short write goes on where it stopped


def _free_bytes(folder: Path) -> int:
    try:
        return os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize
    except OSError:
        return 0


def collect_garbage(folder: Path, *, max_age_s: float, max_bytes: int | None = None, now: float | None = None) -> int:
    """Return the bytes freed by removing buffers unused for `max_age_s`, then the oldest until `max_bytes` hold.

    Jobs that have a buffer mapped keep it: a removed file lives until its last mapping goes.
    Writes: removes files of the store.
    """
    now = time.time() if now is None else now
    found: list[tuple[float, int, Path]] = []
    for path in Path(folder).glob("??/*"):
        try:
            info = path.stat()
        except FileNotFoundError:
            continue
        found.append((info.st_mtime, info.st_size, path))
    found.sort(key=lambda item: item[0])
    total = sum(size for _, size, _ in found)
    freed = 0
    for used_at, size, path in found:
        too_old = now - used_at > max_age_s
        too_much = max_bytes is not None and total - freed > max_bytes
        if not (too_old or too_much):
            continue
        path.unlink(missing_ok=True)
        freed += size
    return freed
