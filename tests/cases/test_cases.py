"""A cell that became a job still behaves like a cell: every case that one notebook can play alone."""

from pathlib import Path

import pytest

from tests.cases.case import Case, faults, is_alone, load
from tests.cases.playing import play, probe

CASES = load()
ALONE = [case for case in CASES if is_alone(case)]

#: What is known not to be as it should, and why. A case that passes all the same fails here: take its line out.
KNOWN: dict[str, str] = {
    "A23": "3 GiB travel instead of being refused; the case's own note allows either",
}


def parameter(case: Case) -> object:
    """The case as pytest wants it: with its own deadline, and expected to fail where that is known."""
    marks = [pytest.mark.timeout(case.get("timeout_s", 100) + 200)]
    if case["id"] in KNOWN:
        marks.append(pytest.mark.xfail(reason=KNOWN[case["id"]], strict=True))
    return pytest.param(case, id=case["id"], marks=marks)


@pytest.mark.parametrize("case", [parameter(case) for case in ALONE])
def test_a_cell_that_became_a_job_still_behaves_like_a_cell(case: Case, daemon_home: Path) -> None:
    verdict = play(case, product=True)
    if case["id"] == "D16" and "reset by peer" in str(verdict.bad):
        # Which rank torch's spawn hears of first is its own race: the one that broke, or the one that lost its peer by that.
        verdict = play(case, product=True)
    assert not verdict.bad, "\n".join([case["title"], *(f"- {sentence}" for sentence in verdict.bad)])


@pytest.mark.parametrize("case", [pytest.param(case, id=case["id"]) for case in CASES if case["group"] == "E"])
def test_fake_nvml_behaves_as_the_case_says(case: Case) -> None:
    assert probe(case) == []


def test_every_case_is_well_written() -> None:
    assert {case["id"]: found for case in CASES if (found := faults(case))} == {}


def test_nothing_that_must_work_is_known_to_fail() -> None:
    levels = {case["id"]: case["level"] for case in CASES}
    assert [name for name in KNOWN if levels[name] == "must"] == []


def test_nine_of_ten_that_should_work_do() -> None:
    should = {case["id"] for case in ALONE if case["level"] == "should"}
    assert len(should & set(KNOWN)) <= len(should) // 10
