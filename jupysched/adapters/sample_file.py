"""The SQLite file that readings of the GPUs are kept in: how it is opened, written and mended. Knows its tables; reads none.

SQLite, and not ring files of numbers: it is in the standard library (the light install has no numpy), one file holds GPUs that come
and go, holds and sums besides, a point of a week is a `GROUP BY` in C, and what a kill -9 leaves is always whole. Rows that are
over are deleted and their pages used again, so the file stays as large as what is kept: 8 GPUs for 30 days are at most 70 MB.
Writes gather in one transaction that is committed now and then (the daemon does it every ten seconds), without waiting for the
disk: readings of the last seconds may be lost, the journal's facts never, since they are not here."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: sums over a job's stretches of one day: GPU-seconds held, measured, busy (by utilization), idle; the same for memory
SUMS = ("held", "measured", "busy", "idle", "memory", "remembered")


class SampleFile:
    """One connection, for the daemon's loop."""

    def __init__(self, path: Path | str, *, width: int) -> None:
        """`width`: numbers of one reading. A file that cannot be read is put aside and a new one begun."""
        self._path, self.width = path, width
        #: sentences for the admin
        self.notices: list[str] = []
        #: GPUs of which there are readings, by their number in the file
        self.numbers: dict[str, int] = {}
        try:
            self._db = self._open()
        except sqlite3.DatabaseError as error:
            aside = f"{path}.damaged-{int(time.time())}"
            os.rename(path, aside)
            for suffix in ("-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
            self.notices.append(f"the readings of the past could not be read ({error}); they are kept as {aside}")
            self._db = self._open()

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("PRAGMA synchronous=OFF")
            db.execute("PRAGMA journal_size_limit=4194304")
            db.executescript(_schema(self.width))
            self.numbers = {gpu: number for number, gpu in db.execute("SELECT number, id FROM gpus")}
        except BaseException:
            db.close()
            raise
        if isinstance(self._path, Path):
            os.chmod(self._path, 0o600)
        return db

    def do(self, sql: str, values: Any = ()) -> None:
        """Write, in the transaction that is open."""
        try:
            if not self._db.in_transaction:
                self._db.execute("BEGIN")
            self._db.execute(sql, values)
        except sqlite3.Error as error:
            # A reading that cannot be kept is no reason to end; the journal says so if the disk is full.
            self._notice(f"readings of the GPUs could not be kept: {error}")

    def ask(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
        """Read, what is not committed yet included."""
        try:
            return self._db.execute(sql, values).fetchall()
        except sqlite3.Error as error:
            self._notice(f"readings of the GPUs could not be read: {error}")
            return []

    def _notice(self, sentence: str) -> None:
        if sentence not in self.notices:
            self.notices.append(sentence)

    def commit(self) -> None:
        """What was written is in the file."""
        if self._db.in_transaction:
            try:
                self._db.execute("COMMIT")
            except sqlite3.Error as error:
                self._notice(f"readings of the GPUs could not be kept: {error}")
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Commit, and close the file."""
        self.commit()
        self._db.close()


def _schema(width: int) -> str:
    numbers = ", ".join([*(f"m{i} REAL" for i in range(width)), *(f"p{i} REAL" for i in range(width))])
    sums = ", ".join(f"{name} REAL NOT NULL DEFAULT 0" for name in SUMS)
    return f"""
CREATE TABLE IF NOT EXISTS gpus (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS samples (
  tier INTEGER NOT NULL, gpu INTEGER NOT NULL, at INTEGER NOT NULL, {numbers}, PRIMARY KEY (tier, gpu, at)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS holds (
  gpu TEXT NOT NULL, job INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER, name TEXT NOT NULL, user TEXT NOT NULL,
  weight REAL NOT NULL, counted INTEGER NOT NULL, PRIMARY KEY (gpu, start, job)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS holds_by_end ON holds (end);
CREATE TABLE IF NOT EXISTS used (
  day TEXT NOT NULL, job INTEGER NOT NULL, user TEXT NOT NULL, name TEXT NOT NULL, {sums},
  peak REAL, capacity REAL, failed INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (day, job)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS used_by_job ON used (job);
CREATE TABLE IF NOT EXISTS errors (
  at INTEGER NOT NULL, gpu TEXT NOT NULL, xid INTEGER NOT NULL, label TEXT NOT NULL, job INTEGER, boot TEXT NOT NULL,
  stands INTEGER NOT NULL
);
"""
