"""Losses in printed lines, and the names of metrics. Knows the shapes in which training loops print them; knows nothing of jobs,
files or charts.

`Losses.feed` takes text as it comes, in pieces, with repainted lines; a point is a (step, epoch, name, value)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

#: longer lines are not looked at: no training loop prints its loss behind 4,000 characters
LONGEST_LINE = 4000


class Point(NamedTuple):
    """One value as printed. Without a step in the line it is None, and the reader counts."""

    name: str
    value: float
    step: float | None = None
    epoch: float | None = None


_NUMBER = r"[-+]?(?:nan\b|inf(?:inity)?\b|\d{1,3}(?:,\d{3})+(?:\.\d*)?|\d+\.?\d*(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?)"
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_GAP = re.compile(r"\s+")
_LOSS = re.compile(
    # A name: loss, train_loss, val-loss, "Training loss", 'eval_loss', loss_cls; never lossless, weight_loss_kg.
    r"(?<![\w./])"
    r"(?:(?P<word>train(?:ing)?|val(?:id(?:ation)?)?|test(?:ing)?|eval(?:uation)?|dev|avg|average|mean|running|total|batch|epoch"
    r"|best|lowest|min(?:imum)?|final|generator|discriminator|critic|actor|policy|value|[dg])[ \-/]+)?"
    r"(?P<name>(?:[a-z0-9]+[_/])*[a-z]{0,3}?(?:log)?loss(?:[_/][a-z0-9]+)?)"
    r"['\"]?"
    # Loss after epoch 3: 0.5
    r"(?:\s+(?:at|after)\s+(?:step|epoch|iteration|batch)\s+\d+(?=\s*[:=]))?"
    # Then =, : or only space, and the value, bare or in the wrapping of a tensor or numpy scalar.
    r"(?:\s*(?:=|:|->|is)\s*|\s+)"
    r"['\"]?(?:(?:tensor|np\.float\d*|float|array|torch\.tensor)\(\s*)?\[?\s*"
    rf"(?P<value>{_NUMBER})"
    r"(?![\w%]|\s*%|\.\d)",
    re.IGNORECASE,
)
#: weight_loss_kg: 80 has the form of loss_cls: 0.3; units tell them apart
_NOT_A_PART = frozenset(
    {
        "kg",
        "g",
        "lb",
        "lbs",
        "db",
        "pct",
        "percent",
        "percentage",
        "ratio",
        "count",
        "rate",
        "function",
        "fn",
        "weight",
        "scale",
    }
)
#: 10 of "10%" and 1 of "1ms" are no places
_WHOLE = r"(?![\w.]|\s?%)"
_EPOCH = re.compile(
    rf"(?<![a-z])['\"]?epochs?(?:\([a-z]+\))?['\"]?\s*[:=#]?\s*['\"\[]?\s*(?P<value>{_NUMBER}){_WHOLE}", re.IGNORECASE
)
#: a line of its own above the bars of an epoch, as Keras has it
_HEADING = re.compile(r"\s*epoch\s+(?P<value>\d+)(?:\s*/\s*\d+)?\s*:?\s*", re.IGNORECASE)
_STEP = re.compile(
    rf"(?<![a-z])['\"]?(?:global[ _]step|step|iter(?:ation)?|it|batch|update)s?['\"]?\s*[:=#]?\s*['\"\[]?\s*(?P<value>{_NUMBER}){_WHOLE}",
    re.IGNORECASE,
)
#: PyTorch's tutorial: [1,   100] loss: 2.301
_PAIR = re.compile(r"\[\s*(?P<epoch>\d+)\s*,\s*(?P<step>\d+)\s*\]")
#: PyTorch's ImageNet example, and mmengine: Epoch: [0][ 10/100]
_OF = re.compile(r"\]\s*\[\s*(?P<step>\d+)\s*/\s*\d+\s*\]")
#: a bar: 45/100 [00:10<00:12 ...   or Keras: 1875/1875 [=====] or 1875/1875 ━━━━
_BAR = re.compile(r"(?<![\w/.\[])(?P<step>\d+)/(?P<total>\d+|\?)\s*(?=\[|━|[=>.]{3})")
#: words of one metric become one name
_SAME = {
    "training": "train",
    "valid": "val",
    "validation": "val",
    "testing": "test",
    "evaluation": "eval",
    "average": "avg",
    "mean": "avg",
}


#: what stands beside metrics and is none: where a training is, and what is called out of it
NOT_METRICS = frozenset({"step", "epoch", "mark"})
#: words in a name that tell no metric from another: Loss/train, train_loss_step and loss are one
_NO_DIFFERENCE = frozenset({"train", "step", "epoch"})
_NAME_PARTS = re.compile(r"[^a-z0-9]+")


@lru_cache(maxsize=4096)
def kind(name: str) -> frozenset[str]:
    """The words of a metric's name that tell it from others, the same in every library's way to write them."""
    parts = {_SAME.get(part, part) for part in _NAME_PARTS.split(name.lower()) if part}
    return frozenset(parts - _NO_DIFFERENCE) or frozenset(parts)


def foremost(names: Iterable[str]) -> str | None:
    """The metric to show where there is room for one: the training's loss, else another loss, else the first there is."""
    found = [name for name in names if name not in NOT_METRICS]
    return min(found, key=_rank, default=None)


def _rank(name: str) -> int:
    if name == "loss":
        return 0
    words = kind(name)
    if "loss" not in words:
        return 4
    return 1 if len(words) == 1 else 2 if words & {"val", "eval"} else 3


def broken(value: float) -> str:
    """What a value is that is no number on a chart; "" for one that is."""
    if math.isfinite(value):
        return ""
    return "NaN" if math.isnan(value) else "infinite" if value > 0 else "minus infinite"


def _number(text: str) -> float:
    return float(text.replace(",", ""))


def _first(pattern: re.Pattern[str], line: str, group: str = "value") -> float | None:
    found = pattern.search(line)
    if found is None:
        return None
    value = _number(found[group])
    return value if math.isfinite(value) else None


def parse_line(line: str) -> list[Point]:
    """The losses in one line, in the order in which they stand; none for a line that only speaks of loss."""
    if len(line) > LONGEST_LINE or "loss" not in line.lower():
        return []
    # A long gap would have the expressions try every part of it.
    line = _GAP.sub(" ", _ANSI.sub("", line))
    found = [m for m in _LOSS.finditer(line) if not _is_something_else(m["name"])]
    if not found:
        return []
    step, epoch = _where(line)
    points: list[Point] = []
    for match in found:
        name = _name(match["word"], match["name"])
        if all(name != p.name for p in points):
            points.append(Point(name, _number(match["value"]), step, epoch))
    return points


def _is_something_else(name: str) -> bool:
    return name.lower().rpartition("_")[2] in _NOT_A_PART


def _name(word: str | None, name: str) -> str:
    parts = ([word] if word else []) + re.split("[_/]", name)
    return "_".join(_SAME.get(p.lower(), p.lower()) for p in parts if p)


def _where(line: str) -> tuple[float | None, float | None]:
    pair = _PAIR.search(line)
    if pair is not None:
        return float(pair["step"]), float(pair["epoch"])
    step = _first(_STEP, line)
    for other in (_OF, _BAR):
        step = _first(other, line, "step") if step is None else step
    return step, _first(_EPOCH, line)


class Losses:
    """Losses in a stream of text. Keeps the unfinished line; a bar that repaints its line gives a point for each new value."""

    def __init__(self) -> None:
        self._rest = ""
        #: did a carriage return end the last line? What follows is painted over it.
        self._is_over = False
        self._last: dict[str, Point] = {}
        self._epoch: float | None = None

    def feed(self, text: str) -> list[Point]:
        """The points in the lines that are whole now."""
        text = self._rest + text
        cut = max(text.rfind("\n"), text.rfind("\r"))
        self._rest = text[cut + 1 :][-LONGEST_LINE:]
        lowered = text[: cut + 1].lower()
        if "loss" not in lowered and "epoch" not in lowered:
            return []
        return self._points(text[: cut + 1])

    def end(self) -> list[Point]:
        """The points of a last line that no newline ends."""
        rest, self._rest = self._rest, ""
        return self._points(rest)

    def _points(self, text: str) -> list[Point]:
        found: list[Point] = []
        # Keras repaints with backspaces instead of a carriage return.
        pieces = re.split(r"((?:\r?\n)+|\r|\x08{2,})", text)
        for line, ended_by in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
            is_painted = self._is_over or (ended_by.startswith(("\r", "\x08")) and "\n" not in ended_by)
            self._is_over = bool(ended_by) and "\n" not in ended_by
            if (heading := _HEADING.fullmatch(line)) is not None:
                self._epoch = float(heading["value"])
            for point in parse_line(line):
                whole = point if point.epoch is not None else point._replace(epoch=self._epoch)
                if not self._is_repaint(whole, is_painted):
                    found.append(whole)
                self._last[point.name] = whole
        return found

    def _is_repaint(self, point: Point, is_painted: bool) -> bool:  # noqa: FBT001
        """A bar paints its line ten times a second, and once more when it moves on, whether there is a new value or not."""
        last = self._last.get(point.name)
        if last is None:
            return False
        if is_painted:
            return repr(last.value) == repr(point.value) and last.epoch == point.epoch
        return point.step is not None and repr(last) == repr(point)
