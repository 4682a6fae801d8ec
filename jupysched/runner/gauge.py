"""The last value of each metric of one attempt, and when to tell it. Knows metrics frames and printed losses; knows nothing of
who listens.

Readers of the spool have every point. This is for those who only want to know how it stands: the queue, the sidebar, a card.
What the job's code states counts; a loss that it also prints is not told twice."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from jupysched.runner import points

#: told at most this often
EVERY_S = 1.0
#: values that cannot be drawn, as they travel
_NO_NUMBERS = frozenset({"nan", "inf", "-inf"})


class Gauge:
    """Keeps the newest values, and under "mark" what has to be called out; `due` says when they are worth a datagram."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        #: metrics that are no numbers now, and since when, in words
        self._broken: dict[str, str] = {}
        #: kinds of metrics that the job states: what it prints of them is the same again
        self._stated: set[frozenset[str]] = set()
        self._stated_names: set[str] = set()
        self._is_new = False
        self._next_at = 0.0

    def take(self, payload: bytes) -> None:
        """Take in one metrics frame."""
        for point in points.read(payload):
            if not self._stated_names.issuperset(point.values):
                self._state(set(point.values) - self._stated_names)
            self._put(point.values, point.step, point.epoch)

    def _state(self, names: set[str]) -> None:
        self._stated_names |= names
        kinds = {_text().kind(name) for name in names}
        self._stated |= kinds
        for name in [n for n in self.values if n not in self._stated_names and n not in _text().NOT_METRICS]:
            if _text().kind(name) in kinds:
                del self.values[name]
                self._broken.pop(name, None)
                self._call_out()

    def read(self, text: bytes) -> None:
        """Take in the last loss that was printed, in any of the usual shapes. Costs a search for three letters where there is none:
        all output of the job passes here."""
        at = text.rfind(b"oss")
        if at < 0:
            return
        start = 1 + max(text.rfind(b"\n", 0, at), text.rfind(b"\r", 0, at))
        end = min((e for e in (text.find(b"\n", at), text.find(b"\r", at)) if e >= 0), default=len(text))
        last = self._points(text[start:end])
        if any(point.value - point.value != 0 and point.name not in self._broken for point in last):
            # Where it began is worth a look at all that came with it.
            for line in text[:start].splitlines():
                for point in self._points(line):
                    self._put_printed(point)
        for point in last:
            self._put_printed(point)

    def _points(self, line: bytes) -> list[Any]:
        if len(line) > _text().LONGEST_LINE:
            return []
        found = _text().parse_line(line.decode("utf-8", "replace"))
        return [point for point in found if _text().kind(point.name) not in self._stated]

    def _put_printed(self, point: Any) -> None:
        finite = point.value - point.value == 0
        self._put({point.name: point.value if finite else repr(point.value)}, point.step, point.epoch)

    def _put(self, values: dict[str, Any], step: float | None, epoch: float | None) -> None:
        self._is_new = True
        self.values.update(values)
        if step is not None:
            self.values["step"] = step
        if epoch is not None:
            self.values["epoch"] = epoch
        if not self._broken and _NO_NUMBERS.isdisjoint(v for v in values.values() if v.__class__ is str):
            return
        for name, value in values.items():
            if isinstance(value, str) and value in _NO_NUMBERS:
                self._broken.setdefault(name, _sentence(name, float(value), step, epoch))
            else:
                self._broken.pop(name, None)
        self._call_out()

    def _call_out(self) -> None:
        self.values.pop("mark", None)
        if (name := _text().foremost(self._broken)) is not None:
            self.values["mark"] = self._broken[name]

    def seconds_left(self, now: float) -> float | None:
        """Seconds until there is something to tell; None if there is nothing new."""
        return max(0.0, self._next_at - now) if self._is_new else None

    def due(self, now: float) -> dict[str, Any] | None:
        """The values, if they are new and the last ones were told long enough ago."""
        if not self._is_new or now < self._next_at:
            return None
        self._is_new, self._next_at = False, now + EVERY_S
        return self.values


def _text() -> Any:
    # Not at the top: a shim imports little. The zygote that it was forked from has it loaded already (see zygote._prepare).
    return import_module("jupysched.metrics_text")


def _sentence(name: str, value: float, step: float | None, epoch: float | None) -> str:
    at = f" at step {step:g}" if step is not None else f" in epoch {epoch:g}" if epoch is not None else ""
    return f"{name} became {_text().broken(value)}{at}"
