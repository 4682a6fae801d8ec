"""Durations, sizes, times and names in words for people. Knows formats; knows nothing of jobs or notebooks."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

#: what a name may hold that would disturb its neighbours: controls, bidirectional overrides, characters of no width
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]")
MOST_NAME = 48
_MARK = "…"


def tidy(text: str) -> str:
    """The text on one line, without characters that hide or turn what stands beside them."""
    whole = text.encode("utf-8", "replace").decode("utf-8")
    return re.sub(r"\s+", " ", _UNSEEN.sub(" ", unicodedata.normalize("NFC", whole))).strip()


def short_name(name: str, *, most: int = MOST_NAME) -> str:
    """A name that fits in a row."""
    clean = tidy(name) or "(no name)"
    return clean if len(clean) <= most else clean[: most - 1] + _MARK


def duration(seconds: float) -> str:
    """0:41, 4:12, 3:31:10, 2 d 4:00:00."""
    whole = max(0, int(seconds))
    days, rest = divmod(whole, 86_400)
    hours, rest = divmod(rest, 3600)
    minutes, secs = divmod(rest, 60)
    if days:
        return f"{days} d {hours}:{minutes:02}:{secs:02}"
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes}:{secs:02}"


def limit(seconds: float) -> str:
    """2 h, 30 min, 90 s, 1 h 30 min."""
    whole = round(seconds)
    if whole < 60 or whole % 60:
        return f"{seconds:g} s" if seconds < 600 else duration(seconds)
    hours, minutes = divmod(whole // 60, 60)
    parts = [f"{hours} h"] if hours else []
    if minutes:
        parts.append(f"{minutes} min")
    return " ".join(parts)


def size(nbytes: float) -> str:
    """512 B, 3.1 kB, 48.9 GB; powers of 1000."""
    value = float(nbytes)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th, 11th."""
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def moment(iso: str) -> datetime | None:
    """A time of a record in this machine's time zone, or None if it is none."""
    try:
        return datetime.fromisoformat(iso).astimezone()
    except ValueError:
        return None


def clock(iso: str, *, now: datetime | None = None) -> str:
    """14:05 today, else Tue 14:05 within six days, else 2026-12-03 14:05."""
    at = moment(iso)
    if at is None:
        return iso
    today = now or datetime.now().astimezone()
    days = abs((at.date() - today.date()).days)
    if days == 0:
        return f"{at:%H:%M}"
    return f"{at:%a %H:%M}" if days < 6 else f"{at:%Y-%m-%d %H:%M}"


def listed(words: list[str], *, most: int = 6) -> str:
    """a, b and c; with more than `most`, the first ones and how many there are beside."""
    if len(words) > most:
        return ", ".join(words[:most]) + f" and {len(words) - most} more"
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


def plural(count: int, one: str) -> str:
    """1 job, 2 jobs, 2 processes."""
    return f"{count} {one}" if count == 1 else f"{count} {one}{'es' if one.endswith('s') else 's'}"


def number(value: object) -> str:
    """A metric as it is shown: four digits that matter."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return tidy(str(value))[:24]
    return str(value) if isinstance(value, int) else f"{value:.4g}"
