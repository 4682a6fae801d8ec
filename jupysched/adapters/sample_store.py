"""What was read of the GPUs, who held them, and what that came to. Knows rows; knows nothing of what they mean."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jupysched.adapters.sample_file import SUMS, SampleFile

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


class SampleStore(SampleFile):
    """One connection, for the daemon's loop."""

    # --- readings ------------------------------------------------------------------------------------------------------

    def _number(self, gpu: str) -> int:
        if gpu not in self.numbers:
            self.do("INSERT OR IGNORE INTO gpus(id) VALUES (?)", (gpu,))
            found = self.ask("SELECT number FROM gpus WHERE id = ?", (gpu,))
            self.numbers[gpu] = found[0][0] if found else 0
        return self.numbers[gpu]

    def add(self, rows: Iterable[Row]) -> None:
        """Keep these. A peak that is the mean is kept once."""
        marks = ", ".join("?" * (3 + 2 * self.width))
        for row in rows:
            peaks = [None if p == m else p for m, p in zip(row.mean, row.peak, strict=True)]
            self.do(
                f"INSERT OR REPLACE INTO samples VALUES ({marks})",  # noqa: S608  only question marks
                (row.tier, self._number(row.gpu), int(row.at * 1000), *map(_short, row.mean), *map(_short, peaks)),
            )

    def read(self, gpu: str, *, tier: int, since: float, until: float, step_s: float) -> list[Row]:
        """Rows after `since`, one a step: the mean of the means, the peak of the peaks."""
        if gpu not in self.numbers:
            return []
        means = ", ".join(f"AVG(m{i})" for i in range(self.width))
        peaks = ", ".join(f"MAX(COALESCE(p{i}, m{i}))" for i in range(self.width))
        found = self.ask(
            f"SELECT MAX(at), {means}, {peaks} FROM samples "  # noqa: S608  column names of our own
            "WHERE tier = ? AND gpu = ? AND at > ? AND at <= ? GROUP BY at / ? ORDER BY 1",
            (tier, self.numbers[gpu], int(since * 1000), int(until * 1000), max(1, int(step_s * 1000))),
        )
        split = 1 + self.width
        return [Row(tier, gpu, row[0] / 1000, tuple(row[1:split]), tuple(row[split:])) for row in found]

    def gpus(self) -> list[str]:
        """GPUs of which there are readings."""
        return list(self.numbers)

    def forget(self, *, now: float, kept_s: Sequence[float]) -> None:
        """Drop what is older than its tier is kept (`kept_s`, by tier), and what hangs on it."""
        for tier, kept in enumerate(kept_s):
            for number in self.numbers.values():
                before = int((now - kept) * 1000)
                self.do("DELETE FROM samples WHERE tier = ? AND gpu = ? AND at < ?", (tier, number, before))
        oldest = int((now - max(kept_s)) * 1000)
        self.do("DELETE FROM holds WHERE end < ?", (oldest,))
        self.do(
            "DELETE FROM holds WHERE end IS NOT NULL AND end <= "
            "(SELECT end FROM holds WHERE end IS NOT NULL ORDER BY end DESC LIMIT 1 OFFSET ?)",
            (MOST_HOLDS,),
        )
        self.do("DELETE FROM errors WHERE at < ? AND NOT stands", (oldest,))
        day = time.strftime("%Y-%m-%d", time.localtime(oldest / 1000))
        self.do("DELETE FROM used WHERE day < ?", (day,))
        self.commit()

    # --- who held what -------------------------------------------------------------------------------------------------

    def hold(self, row: HoldRow) -> None:
        """A hold has begun."""
        self.do(
            "INSERT OR REPLACE INTO holds VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.gpu, row.job, _ms(row.start), None if row.end is None else _ms(row.end), row.name, row.user, row.weight,
                _ms(row.counted),
            ),
        )  # fmt: skip

    def update(self, row: HoldRow, *, end: float | None, counted: float) -> None:
        """A hold has ended, or its use was counted."""
        self.do(
            "UPDATE holds SET end = ?, counted = ? WHERE gpu = ? AND start = ? AND job = ?",
            (None if end is None else _ms(end), _ms(counted), row.gpu, _ms(row.start), row.job),
        )

    def holds(self, *, since: float, until: float) -> list[HoldRow]:
        """Holds that touch this time, by their start; those without an end are there as well."""
        return [
            _hold(row)
            for row in self.ask(
                "SELECT gpu, job, start, end, name, user, weight, counted FROM holds "
                "WHERE (end IS NULL OR end > ?) AND start < ? ORDER BY start",
                (_ms(since), _ms(until)),
            )
        ]

    def open_holds(self) -> list[HoldRow]:
        """Holds without an end."""
        sql = "SELECT gpu, job, start, end, name, user, weight, counted FROM holds WHERE end IS NULL"
        return [_hold(row) for row in self.ask(sql)]

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
        self.do(
            "INSERT INTO used(day, job, user, name) VALUES (?, ?, ?, ?) ON CONFLICT(day, job) DO NOTHING",
            (day, hold.job, hold.user, hold.name),
        )
        more = ", ".join(f"{name} = {name} + :{name}" for name in sums)
        self.do(
            f"UPDATE used SET {more}, peak = MAX(COALESCE(peak, :peak), COALESCE(:peak, peak)), "  # noqa: S608  names of SUMS
            "capacity = COALESCE(:capacity, capacity) WHERE day = :day AND job = :job",
            {**sums, "peak": peak, "capacity": capacity, "day": day, "job": hold.job},
        )

    def failed(self, job: int) -> None:
        """What it used came to nothing."""
        self.do("UPDATE used SET failed = 1 WHERE job = ?", (job,))

    def use_by_day(self, *, since_day: str) -> list[dict[str, Any]]:
        """Sums by day and user."""
        sums = ", ".join(f"SUM({name})" for name in SUMS)
        found = self.ask(
            f"SELECT day, user, COUNT(*), SUM(held * failed), {sums} FROM used "  # noqa: S608  names of SUMS
            "WHERE day >= ? GROUP BY day, user ORDER BY day, user",
            (since_day,),
        )
        return [dict(zip(("day", "user", "jobs", "failed", *SUMS), row, strict=True)) for row in found]

    def use_by_job(self, *, since_day: str, most: int) -> list[dict[str, Any]]:
        """Sums of the jobs that left most unused, the worst first."""
        sums = ", ".join(f"SUM({name})" for name in SUMS)
        found = self.ask(
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
        self.do("INSERT INTO errors VALUES (?, ?, ?, ?, ?, ?, ?)", (_ms(at), gpu, xid, label, job, boot, int(stands)))
        self.commit()

    def lift(self, gpu: str) -> None:
        """The GPU may be used again."""
        self.do("UPDATE errors SET stands = 0 WHERE gpu = ?", (gpu,))
        self.commit()

    def standing_errors(self, *, boot: str) -> list[tuple[str, int, str]]:
        """GPU, number and label of what stands, of this boot."""
        return self.ask("SELECT DISTINCT gpu, xid, label FROM errors WHERE stands AND boot = ?", (boot,))

    def errors_of_jobs(self) -> list[tuple[int, str, int]]:
        """Job, label and number of all that are kept, oldest first."""
        return self.ask("SELECT job, label, xid FROM errors WHERE job IS NOT NULL ORDER BY at")


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
