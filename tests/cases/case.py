"""The cases as written in the YAML files, and whether each is well formed. Runs nothing."""

import ast
from pathlib import Path
from typing import Any

import yaml
from IPython.core.inputtransformer2 import TransformerManager

FOLDER = Path(__file__).parent

Case = dict[str, Any]

LEVELS = {"must", "should", "ideal"}
OUTCOMES = {"done", "failed", "cancelled", "rejected"}
NEEDED = ("id", "group", "title", "level", "source", "magic_args", "expect")
EXPECTATIONS = {
    "any_output_contains", "any_output_contains_any", "display_contains", "display_count", "display_mime", "duration_max_s",
    "each_line_once", "error_contains", "error_contains_any", "error_name", "error_name_any", "kernel_dies", "live", "loss_points",
    "monitor", "no_result", "notes", "occurs_once", "order", "per_user", "product_status_any", "rendered_contains",
    "rendered_max_lines", "rendered_not_contains", "result_contains", "sequence", "status", "stderr_contains", "stderr_not_contains",
    "stdout_contains", "stdout_contains_any", "stdout_in_order", "stdout_not_contains", "ui", "vars",
}  # fmt: skip
LISTS = (
    "stdout_contains",
    "stdout_not_contains",
    "stderr_contains",
    "error_contains",
    "display_mime",
    "source",
    "setup",
    "after",
)


def load(prefixes: tuple[str, ...] = (), folder: Path = FOLDER) -> list[Case]:
    """Return the cases whose id starts with one of the prefixes (all, without any), by id."""
    cases = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.yaml"))]
    return [case for case in cases if not prefixes or case["id"].startswith(prefixes)]


def is_alone(case: Case) -> bool:
    """Whether one notebook of one user plays the case: cells before, the job, cells after, perhaps the stop button."""
    return case["group"] not in "EG" and not any(key in case for key in ("scenario", "fixture", "as_user"))


def faults(case: Case) -> list[str]:
    """Return what is wrong with how the case is written."""
    expect = case.get("expect", {})
    found = [f"missing {key}" for key in NEEDED if key not in case]
    if case["group"] != "E":
        found += [] if "cell" in case else ["missing cell"]
        found += [] if expect.get("status") in OUTCOMES else [f"status {expect.get('status')!r}"]
    found += [] if case["level"] in LEVELS else [f"level {case['level']!r}"]
    found += [f"unknown expectation {key}" for key in sorted(set(expect) - EXPECTATIONS)]
    for key in LISTS:
        value = expect.get(key, case.get(key))
        if value is not None and not (isinstance(value, list) and all(isinstance(entry, str | int) for entry in value)):
            found.append(f"{key} is not a list of text")
    cells = [("setup", code) for code in case.get("setup", [])]
    cells += [("cell", case.get("cell", ""))]
    cells += [("after", code) for code in case.get("after", [])]
    return found + [fault for name, code in cells for fault in _syntax_faults(name, str(code), expect)]


def _syntax_faults(name: str, code: str, expect: dict[str, Any]) -> list[str]:
    try:
        compile(TransformerManager().transform_cell(code), name, "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except SyntaxError as error:
        return [] if expect.get("error_name") == "SyntaxError" else [f"{name} does not compile: {error}"]
    except UnicodeEncodeError as error:
        return [f"{name}: {error}"]
    return []
