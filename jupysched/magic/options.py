"""The options of %%gpujob, as one table: word, what it takes, how it is read. Knows words; knows nothing of jobs or shells."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:min|[dhms]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(min|[dhms])")
_CLOCK = re.compile(r"(\d+):([0-5]\d):([0-5]\d)")
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
MOST_SECONDS = 366 * 86_400
MOST_BYTES = 1 << 60
MOST_NAME = 1000


class Malformed(ValueError):
    """The word is not what the option takes; the text says what is expected."""


def whole(word: str, *, least: int, most: int = 1_000_000) -> int:
    """A whole number of at least `least`. Raises Malformed."""
    expected = f"a whole number of at least {least}"
    if not re.fullmatch(r"[+-]?\d{1,9}", word, re.ASCII):
        raise Malformed(expected)
    value = int(word)
    if value < least:
        raise Malformed(expected)
    if value > most:
        raise Malformed(f"a whole number from {least} to {most}")
    return value


def seconds(word: str) -> float:
    """A duration: 90s, 30m, 2h, 1h30m, 1d, 1:30:00. A number alone is refused: seconds to some, minutes to others."""
    expected = "a time with its unit, more than 0: 90s, 30m, 2h, 1h30m, 1d or 1:30:00"
    text = word.strip().lower()
    if found := _CLOCK.fullmatch(text):
        hours, minutes, secs = map(int, found.groups())
        value = float(hours * 3600 + minutes * 60 + secs)
    elif _DURATION.fullmatch(text):
        parts = [(float(n), unit) for n, unit in _PART.findall(text)]
        sizes = [_UNITS[unit] for _, unit in parts]
        if sizes != sorted(set(sizes), reverse=True):
            raise Malformed(expected)
        value = sum(n * _UNITS[unit] for n, unit in parts)
    else:
        raise Malformed(expected)
    if not 0 < value <= MOST_SECONDS:
        raise Malformed(expected if value <= 0 else "a time of at most 366d")
    return value


def nbytes(word: str) -> int:
    """A size: 24G, 512M, 1.5GB (powers of 1000, as cards are sold), 24GiB (powers of 1024)."""
    expected = "a size with its unit, more than 0: 24G, 512M, 1.5GB, 80GiB"
    found = _SIZE.fullmatch(word.strip())
    if found is None:
        raise Malformed(expected)
    digits, unit, binary, byte = found.groups()
    if not (unit or byte) or (binary and not unit):
        raise Malformed(expected)
    value: float = float(digits) * (1024 if binary else 1000) ** _POWERS[unit.lower()]
    if not math.isfinite(value) or not 1 <= value <= MOST_BYTES:
        raise Malformed(expected)
    return round(value)


def name(word: str) -> str:
    """What the job is called."""
    if not word.strip():
        raise Malformed("a name that can be seen")
    if len(word) > MOST_NAME:
        raise Malformed(f"a name of at most {MOST_NAME} characters; this one has {len(word)}")
    return word


def priority(word: str) -> str:
    """One of the three classes."""
    if word.lower() not in ("low", "normal", "high"):
        raise Malformed("low, normal or high")
    return word.lower()


def gpu_type(word: str) -> str:
    """A word that occurs in the GPU's name."""
    if not word.strip():
        raise Malformed("a word of the GPU's name, such as A100")
    return word


def variable(word: str) -> str:
    """A variable of the notebook."""
    if not word.isidentifier():
        raise Malformed("names of variables, separated by commas or blanks")
    return word


def job_word(word: str) -> str:
    """A job's id, or `last`."""
    if word == "last":
        return word
    if not re.fullmatch(r"\d{1,12}", word, re.ASCII) or int(word) < 1:
        raise Malformed("job ids, or `last`")
    return str(int(word))


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option as users write it."""

    word: str
    #: what stands for the value in help; "" takes none
    metavar: str
    help: str
    #: raises Malformed
    read: Callable[[str], object] = str
    #: takes several words, up to the next option
    many: bool = False

    @property
    def field(self) -> str:
        """Its field in Asked."""
        return {"--in": "in_names", "--out": "out_names"}.get(self.word, self.word[2:].replace("-", "_"))


OPTIONS: tuple[Option, ...] = (
    Option(word="--gpus", metavar="N", read=lambda w: whole(w, least=1), help="GPUs on one node, whole (default 1)"),
    Option(
        word="--gpu-mem", metavar="SIZE", read=nbytes, help="memory that each GPU must have, or a share of one GPU: 24G"
    ),
    Option(word="--gpu-type", metavar="NAME", read=gpu_type, help="a word in the GPU's name: A100"),
    Option(word="--cpus", metavar="N", read=lambda w: whole(w, least=1), help="CPU cores"),
    Option(word="--mem", metavar="SIZE", read=nbytes, help="RAM: 64G"),
    Option(
        word="--time", metavar="DURATION", read=seconds, help="it is stopped after this: 90s, 30m, 2h, 1h30m, 1:30:00"
    ),
    Option(word="--priority", metavar="CLASS", read=priority, help="low, normal or high"),
    Option(word="--name", metavar="NAME", read=name, help="what the job is called"),
    Option(
        word="--after",
        metavar="ID",
        read=job_word,
        many=True,
        help="start when these jobs have succeeded (ids or `last`)",
    ),
    Option(
        word="--retries",
        metavar="N",
        read=lambda w: whole(w, least=0, most=100),
        help="attempts after one that fails by itself",
    ),
    Option(
        word="--in", metavar="NAMES", read=variable, many=True, help="variables that travel beside those the cell reads"
    ),
    Option(
        word="--out", metavar="NAMES", read=variable, many=True, help="only these come back (default: all that changed)"
    ),
    Option(word="--wait", metavar="", help="the cell ends as the job ends; interrupt cancels the job"),
    Option(
        word="--dry-run", metavar="", help="say what would travel, come back and when it would start; queue nothing"
    ),
)
#: words that are known and come with a later version
LATER = {
    "--nodes": "jobs on several nodes",
    "--launcher": "launching one process a GPU",
    "--session": "jobs that share one long-lived process",
    "--scene": "live scenes beside the cell",
    "--array": "one cell as many jobs",
}
