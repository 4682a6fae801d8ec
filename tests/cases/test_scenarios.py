"""What happens to a job while it waits or runs does to its cell what a person expects."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched.client import Client
from jupysched.core.states import JobState
from tests.cases.case import load
from tests.cases.notebook import Notebook
from tests.cases.scenario import Scenario

CASES = {case["id"]: case for case in load()}

#: Cases that neither this file nor test_cases.py plays, and where they are or what they wait for.
ELSEWHERE = {
    "B29": "the browser is closed: tests/browser/test_reconcile.py",
    "C21": "the notebook is renamed in JupyterLab: tests/browser/test_reconcile.py",
    "C24": "moves the clock of the whole machine: tests/adapters/test_system_clock.py and tests/daemon/test_verbs.py set it",
    "E01": "NVML: tests/adapters/test_nvml_cases.py",
    "E03": "NVML: tests/adapters/test_nvml_cases.py",
    "E05": "NVML: tests/adapters/test_nvml_cases.py",
    "E06": "NVML: tests/adapters/test_nvml_cases.py",
    "E08": "NVML: tests/adapters/test_nvml_cases.py",
    "E10": "NVML: tests/adapters/test_nvml_cases.py",
    "E11": "NVML: tests/adapters/test_nvml_cases.py",
    "F03": "another UNIX user: comes with the shared daemon",
    "F05": "another UNIX user: comes with the shared daemon",
    "F07": "other UNIX users: comes with the shared daemon",
    "F10": "other UNIX users: comes with the shared daemon",
    "F12": "another UNIX user: comes with the shared daemon",
    "G02": "what the sidebar shows: tests/browser/test_cases.py",
    "G04": "what the sidebar shows: tests/browser/test_cases.py",
    "G05": "what the sidebar shows: tests/browser/test_cases.py",
    "G07": "the browser's connection is cut: tests/browser/test_bad_wire.py",
    "G10": "other UNIX users: comes with the shared daemon",
}


@pytest.fixture
def scenario(request: pytest.FixtureRequest, daemon_home: Path) -> Iterator[Scenario]:
    """The scenario of the case named by the test's parameter, ready to play."""
    case = CASES[request.param]
    with (
        Notebook(case["id"], files=case.get("files")) as notebook,
        Client(socket=daemon_home / "api.sock", start=True) as client,
    ):
        yield Scenario(case, notebook, client)


def plays(name: str) -> pytest.MarkDecorator:
    """Give the test the scenario of this case."""
    return pytest.mark.parametrize("scenario", [pytest.param(name, id=name)], indirect=True)


@plays("A58")
def test_a_job_sees_the_values_of_the_moment_it_was_submitted(scenario: Scenario) -> None:
    assert scenario.play() == []
    # The notebook changed `lr` meanwhile: its value stays, and the reader is told.
    assert scenario.notebook.evaluate({"kept": "lr == 7 and cfg == {'lr': 7}"}) == {"kept": "True"}
    assert scenario.seen.card is not None
    assert [note for note in scenario.seen.card["notes"] if "lr" in note] != []


@plays("C12")
def test_a_deaf_job_is_stopped_within_the_stated_seconds(scenario: Scenario) -> None:
    assert scenario.play() == []


@plays("C14")
def test_a_job_stopped_in_the_queue_never_starts(scenario: Scenario) -> None:
    assert scenario.play() == []
    assert (scenario.job.state, scenario.job.attempt, scenario.job.started_at) == (JobState.CANCELLED, 0, None)
    assert scenario.seen.error is not None
    assert scenario.seen.error["ename"] == "KeyboardInterrupt"


@plays("C22")
def test_late_output_stays_with_its_own_cell(scenario: Scenario) -> None:
    assert scenario.play() == []
    assert [other.stdout for other in scenario.others] == ["other cell\n"]
    assert "other cell" not in scenario.seen.stdout


@plays("G09")
def test_output_and_results_are_there_after_the_kernel_went(scenario: Scenario) -> None:
    assert scenario.play() == []


def test_every_case_is_played_or_has_its_place() -> None:
    from tests.cases.test_cases import ALONE

    here = {"A58", "C12", "C14", "C22", "G09"}
    assert {case["id"] for case in ALONE} | here | set(ELSEWHERE) == set(CASES)
    assert not (here | {case["id"] for case in ALONE}) & set(ELSEWHERE)
