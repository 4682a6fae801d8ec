"""Results come into the notebook between cells, never in the middle of one, once."""

import gc
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jupysched.magic.args import read_line
from jupysched.magic.cell import PlainCell
from jupysched.magic.desk import Desk
from jupysched.magic.failure import NotYetEnded
from jupysched.magic.job import Job
from jupysched.magic.results import Results
from jupysched.magic.submit import submit
from jupysched.magic.tracked import has_ended
from jupysched.namespace import diff, unpack
from tests.magic.records import out
from tests.magic.shim import TwinShim
from tests.magic.twin import TwinDaemon
from tests.waiting import eventually


def played(desk: Desk, twin: TwinDaemon, cell: str, *, state: str = "succeeded") -> Job:
    """Submit a cell, run it here as its job would, and let the daemon say that it has ended."""
    job = submit(desk, read_line(""), cell, cell=PlainCell(desk.shell))
    desk.jobs[job.id] = job
    shim = TwinShim(Path(job.directory), 1, listens=False)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    baseline = unpack.load_inputs(Path(job.directory) / "input.pickle", namespace, desk.objects())
    exec(cell, namespace)
    returned = diff.pack_changes(shim.path / "result.pickle", namespace, baseline, desk.objects())
    shim.write(out("printed\n"))
    shim.end(returned=list(returned.names))
    record = twin.records[job.id]
    fields = {name: getattr(record, name) for name in record.__struct_fields__}
    twin.records[job.id] = type(record)(**{**fields, "state": state, "attempt": 1})
    desk.follow(job)
    assert job.tracked is not None
    assert job.tracked.ended.wait(10)
    eventually(lambda: has_ended(job.record))
    return job


@pytest.fixture
def cells(desk: Desk) -> Any:
    """The desk's landings, told of cells as IPython would."""
    return desk.landings


def test_results_land_before_the_next_cell(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    desk.shell.user_ns["x"] = 1
    job = played(desk, twin, "x += 1\ny = [x]")
    assert desk.shell.user_ns["x"] == 1
    cells.before_cell("next")
    assert (desk.shell.user_ns["x"], desk.shell.user_ns["y"]) == (2, [2])
    assert job.facts.has_landed
    assert sorted(job.facts.returned or []) == ["x", "y"]


def test_nothing_lands_in_the_middle_of_a_cell(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    cells.before_cell("outer")
    played(desk, twin, "y = 1")
    cells.before_cell("inner")  # a cell that the outer one runs
    cells.between_cells()
    cells.after_cell(SimpleNamespace(info="inner"))
    assert "y" not in desk.shell.user_ns
    cells.after_cell(SimpleNamespace(info="outer"))
    assert desk.shell.user_ns["y"] == 1


def test_an_idle_kernel_lands_by_itself(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    played(desk, twin, "y = 1")
    cells.between_cells()
    assert desk.shell.user_ns["y"] == 1


def test_results_land_once(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    played(desk, twin, "y = 1")
    cells.between_cells()
    desk.shell.user_ns["y"] = 5
    cells.before_cell("next")
    assert desk.shell.user_ns["y"] == 5


def test_a_value_that_the_notebook_changed_stays_and_the_card_says_so(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    desk.shell.user_ns["x"] = 1
    job = played(desk, twin, "x = 2")
    desk.shell.user_ns["x"] = 7
    cells.between_cells()
    assert desk.shell.user_ns["x"] == 7
    assert [note for note in job.facts.notes if "x was changed" in note]
    assert job.result()["x"] == 2


def test_where_both_changed_one_object_in_place_the_jobs_state_of_it_is_still_to_be_had(
    desk: Desk, twin: TwinDaemon, cells: Any
) -> None:
    desk.shell.user_ns["xs"] = [1]
    job = played(desk, twin, "xs.append(2)")
    desk.shell.user_ns["xs"].append(9)
    cells.between_cells()
    assert desk.shell.user_ns["xs"] == [1, 9]
    assert job.result()["xs"] == [1, 2]
    assert f"`%gpujob fetch {job.id}` brings what the job had." in job.facts.notes
    assert desk.landings.fetch(job) == ["xs"]
    assert desk.shell.user_ns["xs"] == [1, 2]
    assert job.facts.notes == ["xs replaced what this notebook had under this name."]


def test_modules_and_the_shells_own_names_come_back_without_a_word(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    job = played(desk, twin, "import time\n_exit_code = 0\ny = 1")
    cells.between_cells()
    assert job.facts.returned == ["y"]
    assert {"time", "_exit_code"} <= set(desk.shell.user_ns)


def test_waiting_lands_at_once_and_results_are_there_by_name(desk: Desk, twin: TwinDaemon) -> None:
    job = played(desk, twin, "y = 1")
    assert job.wait(5)
    assert desk.shell.user_ns["y"] == 1
    assert job.result().y == 1
    assert [output["text"] for output in job.outputs] == ["printed\n"]


def test_a_job_does_not_wait_for_itself(desk: Desk, twin: TwinDaemon, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(desk, read_line(""), "y = 1", cell=PlainCell(desk.shell))
    monkeypatch.setenv("JUPYSCHED_SPOOL", f"{job.record.directory}/a1")
    with pytest.raises(NotYetEnded, match="wait for itself"):
        job.result()


def test_results_that_are_no_longer_held_are_read_again(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    job = played(desk, twin, "y = [1]")
    cells.between_cells()
    job.values = None
    assert job.result() == {"y": [1]}


def test_results_of_a_failed_job_land_too(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    played(desk, twin, "y = 1", state="failed")
    cells.between_cells()
    assert desk.shell.user_ns["y"] == 1


def test_another_kernel_fetches_and_is_told_what_was_replaced(desk: Desk, twin: TwinDaemon) -> None:
    number = played(desk, twin, "y = 1\nz = 2").id
    other = Desk(SimpleNamespace(user_ns={"y": 0}))
    try:
        job = other.job(str(number))
        assert sorted(other.landings.fetch(job)) == ["y", "z"]
        assert other.user_ns() == {"y": 1, "z": 2}
        assert job.facts.notes == ["y replaced what this notebook had under this name."]
    finally:
        other.close()


def test_a_result_that_is_damaged_is_a_note_and_no_error(desk: Desk, twin: TwinDaemon, cells: Any) -> None:
    job = played(desk, twin, "y = 1")
    (Path(job.directory) / "a1" / "result.pickle").write_bytes(b"not a pickle")
    cells.between_cells()
    assert "could not be brought in" in job.facts.notes[0]


@pytest.mark.parametrize("held_bytes", [1 << 10, 1 << 30])
def test_a_large_result_that_is_deleted_gives_its_memory_back_and_can_be_had_again(
    desk: Desk, twin: TwinDaemon, cells: Any, monkeypatch: pytest.MonkeyPatch, held_bytes: int
) -> None:
    monkeypatch.setattr("jupysched.magic.landing.HELD_BYTES", held_bytes)
    job = played(desk, twin, "import numpy\ny = numpy.arange(100_000)")
    cells.between_cells()
    landed = weakref.ref(desk.shell.user_ns.pop("y"))
    gc.collect()
    assert (landed() is None) == (held_bytes < 1 << 20)
    assert job.result()["y"][-1] == 99_999
    job.values = None
    gc.collect()


def test_a_missing_result_is_named_with_what_there_is() -> None:
    with pytest.raises(AttributeError, match="no 'z' back; it brought y"):
        _ = Results(y=1).z
