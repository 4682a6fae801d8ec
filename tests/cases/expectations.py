"""What a person expects to see, compared with what is there. Reads outputs; runs nothing but the expressions under `vars`."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from tests.cases.outputs import Outputs, without_colours

Evaluate = Callable[[dict[str, str]], dict[str, str]]

LOSS = re.compile(
    r"(?<![A-Za-z0-9_])((?:(?:train|training|val|valid|validation|test|eval|running|avg|mean|total)_)?loss(?:_(?:step|epoch))?)['\"]?"
    r"\s*[:=]\s*(?:tensor\()?([-+]?(?:nan|inf|\d[\d,]*\.?\d*(?:e[-+]?\d+)?))",
    re.IGNORECASE,
)


def losses(text: str) -> dict[str, list[float]]:
    """Return one possible reading of the printed losses, by name: proof that `loss_points` can be had from the text."""
    series: dict[str, list[float]] = {}
    last: dict[str, float] = {}
    for line in without_colours(text).split("\n"):
        parts = line.split("\r")
        for part in parts:
            for name, value in LOSS.findall(part):
                key, number = name.lower(), float(value.rstrip(",").replace(",", ""))
                # A progress bar says the same value again and again while it redraws its line.
                if len(parts) > 1 and last.get(key) == number:
                    continue
                last[key] = number
                series.setdefault(key, []).append(number)
    return series


def unmet(seen: Outputs, expect: dict[str, Any], *, outcome: str, evaluate: Evaluate) -> list[str]:
    """Return a sentence for each expectation that what was seen does not meet. `outcome` is done, failed or cancelled."""
    return [
        *_outcome(seen, expect, outcome),
        *_texts(seen, expect),
        *_order(seen, expect),
        *_displays(seen, expect),
        *_errors(seen, expect),
        *_times(seen, expect),
        *_values(seen, expect, evaluate),
    ]


def _has(text: str, wanted: object) -> bool:
    return re.search(wanted, text, re.MULTILINE) is not None if str(wanted).startswith("^") else str(wanted) in text


def _outcome(seen: Outputs, expect: dict[str, Any], outcome: str) -> Iterator[str]:
    wanted = expect.get("status")
    if wanted in ("done", "failed", "cancelled") and outcome != wanted:
        error = seen.error or {}
        yield f"{outcome}, not {wanted} ({error.get('ename')}: {str(error.get('evalue'))[:300]})"


def _everything(seen: Outputs) -> str:
    displays = "".join(json.dumps(bundle, ensure_ascii=False, default=str) for bundle in seen.displays)
    return seen.stdout + seen.stderr + displays + json.dumps(seen.result or "", ensure_ascii=False)


def _error_text(seen: Outputs) -> str:
    if not seen.error:
        return ""
    lines = [str(seen.error.get("ename")), str(seen.error.get("evalue")), *seen.error.get("traceback", [])]
    return without_colours("\n".join(lines))


def _texts(seen: Outputs, expect: dict[str, Any]) -> Iterator[str]:
    everything, error = _everything(seen), _error_text(seen)
    for key, text, wanted in (
        ("stdout_contains", seen.stdout, True),
        ("stdout_not_contains", seen.stdout, False),
        ("stderr_contains", seen.stderr, True),
        ("stderr_not_contains", seen.stderr, False),
        ("rendered_contains", seen.text, True),
        ("rendered_not_contains", seen.text, False),
        ("any_output_contains", everything, True),
        ("error_contains", error + seen.stdout + seen.stderr, True),
        ("result_contains", seen.result or "", True),
    ):
        for part in expect.get(key) or []:
            if _has(text, part) != wanted:
                yield f"{key}: {part!r} (there is: {text[-300:]!r})"
    for key, text in (
        ("stdout_contains_any", seen.stdout),
        ("any_output_contains_any", everything),
        ("error_contains_any", error),
    ):
        if expect.get(key) and not any(_has(text, part) for part in expect[key]):
            yield f"{key}: none of {expect[key]} (there is: {text[-300:]!r})"


def _order(seen: Outputs, expect: dict[str, Any]) -> Iterator[str]:
    position = 0
    for part in expect.get("stdout_in_order") or []:
        found = seen.stdout.find(part, position)
        if found < 0:
            yield f"stdout_in_order: {part!r}"
            break
        position = found + len(part)
    for part in expect.get("occurs_once") or []:
        times = (seen.stdout + seen.stderr).count(part)
        if times != 1:
            yield f"occurs_once: {part!r} {times} times"
    if expect.get("each_line_once"):
        lines = [line for line in seen.stdout.splitlines() if line.startswith(expect["each_line_once"])]
        if len(lines) != len(set(lines)) or not lines:
            yield f"each_line_once: {len(lines)} lines, {len(set(lines))} different"
    remaining = iter(seen.sequence)
    for part in expect.get("sequence") or []:
        if part not in remaining:
            yield f"sequence: {part} (came: {seen.sequence[:12]})"
            break
    if expect.get("rendered_max_lines") and len(seen.text.split("\n")) > expect["rendered_max_lines"]:
        yield f"rendered_max_lines: {len(seen.text.splitlines())}"


def _displays(seen: Outputs, expect: dict[str, Any]) -> Iterator[str]:
    kinds = {kind for bundle in seen.displays for kind in bundle}
    for kind in expect.get("display_mime") or []:
        if kind not in kinds:
            yield f"display_mime: {kind} not in {sorted(kinds)}"
    for kind, parts in (expect.get("display_contains") or {}).items():
        body = "\n".join(str(bundle.get(kind, "")) for bundle in seen.displays)
        yield from (f"display_contains {kind}: {part!r}" for part in parts if part not in body)
    if "display_count" in expect and len(seen.displays) != expect["display_count"]:
        yield f"display_count: {len(seen.displays)}"
    if expect.get("no_result") and seen.result:
        yield "a result is shown"


def _errors(seen: Outputs, expect: dict[str, Any]) -> Iterator[str]:
    name = (seen.error or {}).get("ename")
    if expect.get("error_name") and name != expect["error_name"]:
        yield f"error_name: {name}"
    if expect.get("error_name_any") and name not in expect["error_name_any"]:
        yield f"error_name_any: {name}"


def _times(seen: Outputs, expect: dict[str, Any]) -> Iterator[str]:
    for live in expect.get("live") or []:
        came = next((after_s for after_s, text in seen.arrival if live["text"] in text), None)
        if came is None or came > live["within_s"]:
            yield f"live: {live} came at {came}"
    took_s = (seen.idle_at or seen.asked_at) - seen.asked_at
    if expect.get("duration_max_s") and took_s > expect["duration_max_s"]:
        yield f"duration_max_s: took {took_s:.1f} s"


def _values(seen: Outputs, expect: dict[str, Any], evaluate: Evaluate) -> Iterator[str]:
    if expect.get("loss_points"):
        wanted = {name: [float(value) for value in values] for name, values in expect["loss_points"].items()}
        got = losses(seen.mixed)
        # Compared as text: nan is not equal to itself.
        if repr(got) != repr(wanted):
            yield f"loss_points: {got}"
    expressions = {name: str(expression) for name, expression in (expect.get("vars") or {}).items()}
    if expressions:
        for name, said in evaluate(expressions).items():
            if said != "True":
                yield f"vars {name}: {expressions[name]} -> {said}"
