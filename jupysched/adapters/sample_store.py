"""What was read of the GPUs, in an SQLite file of its own. Knows rows; knows nothing of what they mean.

SQLite, and not ring files of numbers: it is in the standard library (the light install has no numpy), one file holds GPUs that come
and go, holds and sums besides, a point of a week is a `GROUP BY` in C, and what a kill -9 leaves is always whole. Rows that are
over are deleted and their pages used again, so the file stays as large as what is kept: 8 GPUs for 30 days are about 40 MB.
Writes gather in one transaction that is committed now and then (the daemon does it every ten seconds), without waiting for the
disk: readings of the last seconds may be lost, the journal's facts never, since they are not here."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Values = tuple[float | None, ...]
MOST_HOLDS = 100_000


class Row(NamedTuple):
    """One stretch of one GPU."""

    tier: int
    gpu: str
    at: float
    mean: Values
    peak: Values


class HoldRow(NamedTuple):
    """A job held a GPU; `end` None: as far as was written, it still does. `counted`: until when its use is in the sums."""

    gpu: str
    job: int
    start: float
    end: float | None
    name: str
    user: str
    weight: float
    counted: float


#: sums over a job's stretches of one day: GPU-seconds held, measured, busy (by utilization), idle; the same for memory
SUMS = ("held", "measured", "busy", "idle", "memory", "remembered")


class SampleStore:
    """One connection, for the daemon's loop."""

    def __init__(self, path: Path | str, *, width: int) -> None:
        """`width`: numbers of one reading. A file that cannot be read is put aside and a new one begun."""
        self._path, self._width = path, width
        #: sentences for the admin
        self.notices: list[str] = []
        self._numbers: dict[str, int] = {}
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
            db.executescript(_schema(self._width))
            self._numbers = {gpu: number for number, gpu in db.execute("SELECT number, id FROM gpus")}
        except BaseException:
            db.close()
            raise
        if isinstance(self._path, Path):
            os.chmod(self._path, 0o600)
        return db

    def _do(self, sql: str, values: Sequence[object] = ()) -> None:
        try:
            if not self._db.in_transaction:
                self._db.execute("BEGIN")
            self._db.execute(sql, values)
        except sqlite3.Error as error:
            # A reading that cannot be kept is no reason to end; the journal says so if the disk is full.
            self._notice(f"readings of the GPUs could not be kept: {error}")

    def _ask(self, sql: str, values: Sequence[object] = ()) -> list[Any]:
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

    # --- readings ------------------------------------------------------------------------------------------------------

    def _number(self, gpu: str) -> int:
        if gpu not in self._numbers:
            self._do("INSERT OR IGNORE INTO gpus(id) VALUES (?)", (gpu,))
            found = self._ask("SELECT number FROM gpus WHERE id = ?", (gpu,))
            self._numbers[gpu] = found[0][0] if found else 0
        return self._numbers[gpu]

    def add(self, rows: Iterable[Row]) -> None:
        """Keep these. A peak that is the mean is kept once."""
        marks = ", ".join("?" * (3 + 2 * self._width))
        for row in rows:
            peaks = [None if p == m else p for m, p in zip(row.mean, row.peak, strict=True)]
            self._do(
                f"INSERT OR REPLACE INTO samples VALUES ({marks})",  # noqa: S608  only question marks
                (row.tier, self._number(row.gpu), int(row.at * 1000), *map(_short, row.mean), *map(_short, peaks)),
            )

    def read(self, gpu: str, *, tier: int, since: float, until: float, step_s: float) -> list[Row]:
        """Rows after `since`, one a step: the mean of the means, the peak of the peaks."""
        if gpu not in self._numbers:
            return []
        means = ", ".join(f"AVG(m{i})" for i in range(self._width))
        peaks = ", ".join(f"MAX(COALESCE(p{i}, m{i}))" for i in range(self._width))
        found = self._ask(
            f"SELECT MAX(at), {means}, {peaks} FROM samples "  # noqa: S608  column names of our own
            "WHERE tier = ? AND gpu = ? AND at > ? AND at <= ? GROUP BY at / ? ORDER BY 1",
            (tier, self._numbers[gpu], int(since * 1000), int(until * 1000), max(1, int(step_s * 1000))),
        )
        split = 1 + self._width
        return [Row(tier, gpu, row[0] / 1000, tuple(row[1:split]), tuple(row[split:])) for row in found]

    def gpus(self) -> list[str]:
        """GPUs of which there are readings."""
        return list(self._numbers)

    def forget(self, *, now: float, kept_s: Sequence[float]) -> None:
        """Drop what is older than its tier is kept (`kept_s`, by tier), and what hangs on it."""
        for tier, kept in enumerate(kept_s):
            for number in self._numbers.values():
                before = int((now - kept) * 1000)
                self._do("DELETE FROM samples WHERE tier = ? AND gpu = ? AND at < ?", (tier, number, before))
        oldest = int((now - max(kept_s)) * 1000)
        self._do("DELETE FROM holds WHERE end < ?", (oldest,))
        self._do(
            "DELETE FROM holds WHERE end IS NOT NULL AND end <= "
            "(SELECT end FROM holds WHERE end IS NOT NULL ORDER BY end DESC LIMIT 1 OFFSET ?)",
            (MOST_HOLDS,),
        )
        self._do("DELETE FROM errors WHERE at < ? AND NOT stands", (oldest,))
        day = time.strftime("%Y-%m-%d", time.localtime(oldest / 1000))
        self._do("DELETE FROM used WHERE day < ?", (day,))
        self.commit()

    # --- who held what -------------------------------------------------------------------------------------------------

    def hold(self, row: HoldRow) -> None:
        """A hold has begun."""
        self._do(
            "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.gpu, row.job, _ms(row.start), None if row.end is None else _ms(row.end), row.name, row.user, row.weight,
                _ms(row.counted),
            ),
        )  # fmt: skip

    def update(self, row: HoldRow, *, end: float | None, counted: float) -> None:
        """A hold has ended, or its use was counted."""
        self._do(
            "UPDATE holds SET end = ?, counted = ? WHERE gpu = ? AND start = ? AND job = ?",
            (None if end is None else _ms(end), _ms(counted), row.gpu, _ms(row.start), row.job),
        )

    def holds(self, *, since: float, until: float) -> list[HoldRow]:
        """Holds that touch this time, by their start; those without an end are there as well."""
        return [
            _hold(row)
            for row in self._ask(
                "SELECT gpu, job, start, end, name, user, weight, counted FROM holds "
                "WHERE (end IS NULL OR end > ?) AND start < ? ORDER BY start",
                (_ms(since), _ms(until)),
            )
        ]

    def open_holds(self) -> list[HoldRow]:
        """Holds without an end."""
        sql = "SELECT gpu, job, start, end, name, user, weight, counted FROM holds WHERE end IS NULL"
        return [_hold(row) for row in self._ask(sql)]

    # --- what that came to ---------------------------------------------------------------------------------------------

    def count(
        self,
        day: str,
        hold: HoldRow,
        sums: Mapping[str, float],
        *,
        peak: float | None = None,
        capacity: float | None = None,
    ) -> None:
        """Add to a job's sums of one day."""
        self._do(
            "INSERT INTO used(day, job, user, name) VALUES (?, ?, ?, ?) ON CONFLICT(day, job) DO NOTHING",
            (day, hold.job, hold.user, hold.name),
        )
        more = ", ".join(f"{name} = {name} + :{name}" for name in sums)
        self._do(
            f"UPDATE used SET {more}, peak = MAX(COALESCE(peak, :peak), COALESCE(:peak, peak)), "  # noqa: S608  names of SUMS
            "capacity = COALESCE(:capacity, capacity) WHERE day = :day AND job = :job",
            {**sums, "peak": peak, "capacity": capacity, "day": day, "job": hold.job},  # type: ignore[arg-type]
        )

    def failed(self, job: int) -> None:
        """What it used came to nothing."""
        self._do("UPDATE used SET failed = 1 WHERE job = ?", (job,))

    def use_by_day(self, *, since_day: str) -> list[dict[str, Any]]:
        """Sums by day and user."""
        sums = ", ".join(f"SUM({name})" for name in SUMS)
        found = self._ask(
            f"SELECT day, user, COUNT(*), SUM(held * failed), {sums} FROM used "  # noqa: S608  names of SUMS
            "WHERE day >= ? GROUP BY day, user ORDER BY day, user",
            (since_day,),
        )
        return [dict(zip(("day", "user", "jobs", "failed", *SUMS), row, strict=True)) for row in found]

    def use_by_job(self, *, since_day: str, most: int) -> list[dict[str, Any]]:
        """Sums of the jobs that left most unused, the worst first."""
        sums = ", ".join(f"SUM({name})" for name in SUMS)
        found = self._ask(
            f"SELECT job, user, name, MAX(failed), MAX(peak), MAX(capacity), {sums} FROM used "  # noqa: S608
            "WHERE day >= ? GROUP BY job HAVING SUM(measured) > 0 ORDER BY SUM(measured - busy) DESC LIMIT ?",
            (since_day, most),
        )
        names = ("job", "user", "name", "failed", "peak", "capacity", *SUMS)
        return [dict(zip(names, row, strict=True)) for row in found]

    # --- errors of the hardware ----------------------------------------------------------------------------------------

    def note_error(
        self, *, at: float, gpu: str, xid: int, label: str, job: int | None, boot: str, stands: bool
    ) -> None:
        """The driver reported an error; `stands`: the GPU is out of use until somebody says otherwise, or a reboot."""
        self._do("INSERT INTO errors VALUES (?, ?, ?, ?, ?, ?, ?)", (_ms(at), gpu, xid, label, job, boot, int(stands)))
        self.commit()

    def lift(self, gpu: str) -> None:
        """The GPU may be used again."""
        self._do("UPDATE errors SET stands = 0 WHERE gpu = ?", (gpu,))
        self.commit()

    def standing_errors(self, *, boot: str) -> list[tuple[str, int, str]]:
        """GPU, number and label of what stands, of this boot."""
        return self._ask("SELECT DISTINCT gpu, xid, label FROM errors WHERE stands AND boot = ?", (boot,))

    def errors_of_jobs(self) -> list[tuple[int, str, int]]:
        """Job, label and number of all that are kept, oldest first."""
        return self._ask("SELECT job, label, xid FROM errors WHERE job IS NOT NULL ORDER BY at")


def _hold(row: Any) -> HoldRow:
    gpu, job, start, end, name, user, weight, counted = row
    return HoldRow(gpu, job, start / 1000, None if end is None else end / 1000, name, user, weight, counted / 1000)


def _ms(at: float) -> int:
    return round(at * 1000)


def _short(value: float | None) -> float | int | None:
    """Whole numbers take a byte or two where fractions take eight; a tenth is kept of what is small."""
    if value is None:
        return None
    return round(value) if abs(value) >= 1000 or value == int(value) else round(value, 1)


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
