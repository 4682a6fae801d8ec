"""Cells run in a job's process and leave the notebook as if they had run there. Each is played by two processes."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.namespace.examples import EXAMPLES
from tests.namespace.round_trip import play

CASES = Path(__file__).parents[1] / "cases"
#: cases that need more than the way of variables: stopping, options, an importable main module, outcomes
NOT_HERE = {"A23", "A57", "C01", "C04", "C09", "C11", "C12", "C14", "C16", "C17", "C19", "D03", "D04"}
ANSI = re.compile(r"\x1b\[[0-9;]*m")

pytestmark = [pytest.mark.slow, pytest.mark.real_time]


def written_cases() -> list[dict[str, Any]]:
    files = [p for p in sorted(CASES.glob("*.yaml")) if p.stem[0] in "AD" or p.stem in {"B14", "B22", "F08", "F13"}]
    files += [p for p in sorted(CASES.glob("C*.yaml")) if p.stem in {"C02", "C06", "C07", "C27"}]
    return [yaml.safe_load(p.read_text(encoding="utf-8")) for p in files if p.stem not in NOT_HERE]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_leaves_the_notebook_as_the_cell_would(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    seen = play({**example, "expect": {"vars": example["vars"]}}, tmp_path)
    assert ("done", None) == (seen["status"], seen["error"]), seen.get("stderr")
    assert dict.fromkeys(example["vars"], True) == seen["vars"]
    for key in ("conflicts", "failures"):
        said = seen["landing"][key]
        assert len(example.get(key, ())) == len(said), said
        assert all(any(want in sentence for sentence in said) for want in example.get(key, ())), said


@pytest.mark.parametrize("case", written_cases(), ids=lambda case: case["id"])
def test_a_written_case_holds(case: dict[str, Any], tmp_path: Path) -> None:
    for module in case.get("requires", ()):
        pytest.importorskip(module)
    expect = case["expect"]
    seen = play(case, tmp_path)
    assert expect.get("status", seen["status"]) == seen["status"], (seen["error"], seen.get("stderr"))
    text = ANSI.sub("", seen.get("stdout", ""))
    said = f"{seen['error']}\n{text}\n{ANSI.sub('', seen.get('stderr', ''))}"
    for want in [*expect.get("stdout_contains", ()), *expect.get("stdout_in_order", ())]:
        assert want in text
    for want in expect.get("error_contains", ()):
        assert want in said
    assert dict.fromkeys(expect.get("vars", {}), True) == seen["vars"]
