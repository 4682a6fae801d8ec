"""What the settings of a policy may say. Knows texts and what they stand for, not what is done with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

#: what a setting is read with; raises ValueError if it cannot be
Read = Callable[[str], object]

_SWITCH = {"on": True, "true": True, "yes": True, "1": True, "off": False, "false": False, "no": False, "0": False}


def switch(text: str) -> bool:
    """On or off."""
    if text.lower() not in _SWITCH:
        raise ValueError("expected on or off")
    return _SWITCH[text.lower()]


def number(text: str) -> float:
    """A number of 0 or more; seconds, GPU-seconds, times."""
    try:
        read = float(text)
    except ValueError:
        read = -1.0
    if not read >= 0:  # also where it is no number at all: nan
        raise ValueError("expected a number of 0 or more")
    return read


def positive(text: str) -> float:
    """A number above 0 that is not infinite."""
    try:
        read = float(text)
    except ValueError:
        read = 0.0
    if not 0 < read < float("inf"):
        raise ValueError("expected a number above 0")
    return read


def whole(text: str) -> int:
    """A whole number of 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise ValueError("expected a whole number of 0 or more")
    return int(text)


def rising(text: str) -> list[float]:
    """Numbers above 0, by commas."""
    try:
        return sorted(positive(part) for part in text.split(","))
    except ValueError:
        raise ValueError("expected numbers above 0, separated by commas") from None


def one_of(*words: str) -> Read:
    """One of these words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected {', '.join(words[:-1])} or {words[-1]}")
        return text

    return read


def wrong_in(settings: Mapping[str, str], reads: Mapping[str, Read], whose: str) -> dict[str, str]:
    """Those settings that cannot be used, each with the sentence that says why."""
    found: dict[str, str] = {}
    for name, text in settings.items():
        read = reads.get(name)
        if read is None:
            found[name] = f"{whose} has no setting {name!r}; it has {', '.join(sorted(reads))}."
            continue
        try:
            read(text)
        except ValueError as error:
            found[name] = f"The setting {name} of {whose} is {text!r}; {error}."
    return found
