"""A cell becomes a job's files and one request; what is refused leaves nothing behind."""

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from jupysched import spool
from jupysched.core import explain
from jupysched.core.errors import BadRequest, ClusterError, DiskFull, TooManyGpus, UserError
from jupysched.magic import preview
from jupysched.magic import submit as submit_module
from jupysched.magic.args import read_line
from jupysched.magic.cell import PlainCell
from jupysched.magic.desk import Desk
from jupysched.magic.job import Job
from jupysched.magic.submit import dry_run, submit
from jupysched.wire import requests as ask
from tests.magic.twin import TwinDaemon


def submitted(desk: Desk, line: str, cell: str) -> Job:
    """Return the job that a cell with these options becomes."""
    return submit(desk, read_line(line), cell, cell=PlainCell(desk.shell))


def directories(home: Path) -> list[Path]:
    """Return the jobs' directories."""
    return sorted((home / "jobs").glob("*"))


def test_the_daemon_is_asked_for_what_the_line_says(desk: Desk, twin: TwinDaemon) -> None:
    job = submitted(desk, "--gpus 2 --mem 64G --time 2h --priority high --name net --retries 1", "x = 1")
    request = next(r for r in twin.heard if isinstance(r, ask.Submit))
    spec = request.jobs[0]
    assert (spec.name, spec.priority, spec.retries, spec.directory) == ("net", "high", 1, job.directory)
    assert (spec.request.gpus, spec.request.memory_bytes, spec.request.time_limit_s) == (2, 64_000_000_000, 7200.0)


def test_the_job_inherits_what_the_notebook_has_now(
    desk: Desk, twin: TwinDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SET_IN_THE_NOTEBOOK", "ü")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("/somewhere/else")
    before = os.umask(0o027)
    try:
        job = submitted(desk, "--out model", "import torch\nmodel = torch.nn.Linear(1, 1)")
    finally:
        os.umask(before)
    launch = json.loads((Path(job.directory) / spool.LAUNCH).read_bytes())
    assert launch["env"]["SET_IN_THE_NOTEBOOK"] == "ü"
    assert launch["cwd"] == str(tmp_path)
    assert "/somewhere/else" in launch["sys_path"]
    assert launch["umask"] == 0o027
    assert launch["executable"] == sys.executable
    assert "torch" in launch["preload"]
    assert launch["out_names"] == ["model"]
    assert launch["cell"] == "import torch\nmodel = torch.nn.Linear(1, 1)"
    assert launch["allow_stdin"] is False
    assert launch["interactivity"] == "last_expr"


def test_the_zygote_needs_only_what_this_cell_and_its_values_use(desk: Desk, twin: TwinDaemon) -> None:
    desk.shell.run_cell("import numpy, torch\nvalues = numpy.zeros(3)\nnet = torch.nn.Linear(1, 1)")

    def preload(cell: str) -> list[str]:
        launch = json.loads((Path(submitted(desk, "", cell).directory) / spool.LAUNCH).read_bytes())
        return list(launch["preload"])

    assert preload("print(1)") == []
    assert preload("print(values)") == ["numpy"]
    assert "torch" in preload("print(net)")
    assert preload("from torch.nn import functional") == ["torch"]


def test_names_that_nobody_has_are_told_when_the_job_is_queued(desk: Desk, twin: TwinDaemon) -> None:
    desk.shell.run_cell("here = 1")
    first = submitted(desk, "", "model = here")
    twin.records[first.id] = first.record_at_submission
    job = submitted(desk, f"--after {first.id}", "print(model, here, y)")
    [note] = job.facts.notes
    assert note.startswith("model and y were not in the notebook when this was queued. --after brings no variables: in")
    assert note.endswith(f"the cell, jupysched.job({first.id}).result() has those of job {first.id}.")
    assert submitted(desk, "", "print(y)").facts.notes == ["y was not in the notebook when this was queued."]


@pytest.mark.parametrize(
    "cell",
    [
        "print(here, len('x'), __name__, _)",
        "import math\nmath.pi",
        "def f(n): return 1 if n == 0 else n * f(n - 1)\nf(3)",
        "[k for k in range(3)]\nfor i in range(3): pass\ni",
        "from math import *\nsin(1)",
        "%run -i script.py\nmade_there",
        "exec('z = 1')\nz",
        "try:\n    import nothing_of_the_kind as n\nexcept ImportError:\n    n = None\nn",
        "display(here)",
        "class A:\n    b = 1\n    c = b\nA.c",
    ],
)
def test_names_that_may_be_there_are_not_told(desk: Desk, twin: TwinDaemon, cell: str) -> None:
    desk.shell.run_cell("here = 1")
    assert submitted(desk, "", cell).facts.notes == []


def test_files_are_for_the_user_alone(desk: Desk, twin: TwinDaemon) -> None:
    directory = Path(submitted(desk, "", "x = 1").directory)
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in directory.iterdir()} == {spool.LAUNCH, spool.INPUT}


def test_a_job_has_a_name_even_if_none_was_given(desk: Desk, twin: TwinDaemon) -> None:
    assert submitted(desk, "", "x = 1").name == f"cell {desk.shell.execution_count}"


@pytest.mark.parametrize(
    ("cell", "name", "text"),
    [
        ("x = (1", "SyntaxError", "x = (1"),
        ("ok = 1\nreturn 5", "SyntaxError", "return 5"),
        ("if x:\ny", "IndentationError", "y"),
    ],
)
def test_a_syntax_error_shows_the_cells_own_line_and_queues_nothing(
    desk: Desk, twin: TwinDaemon, home: Path, cell: str, name: str, text: str
) -> None:
    with pytest.raises(Exception, match="line") as caught:
        submitted(desk, "", cell)
    assert type(caught.value).__name__ == name
    assert text in "".join(caught.value._render_traceback_())  # type: ignore[attr-defined]
    assert directories(home) == []
    assert not [r for r in twin.heard if isinstance(r, ask.Submit)]


def test_a_value_that_cannot_travel_is_named_with_its_path(desk: Desk, twin: TwinDaemon, home: Path) -> None:
    desk.shell.run_cell(
        "import threading\nclass Store: pass\nstore = Store(); store.meta = {'guard': threading.Lock()}"
    )
    with pytest.raises(UserError) as caught:
        submitted(desk, "", "print(store)")
    assert type(caught.value).__name__ == "NotPicklable"
    assert "store.meta['guard']" in str(caught.value)
    assert directories(home) == []


def test_what_the_daemon_refuses_leaves_nothing_behind(desk: Desk, twin: TwinDaemon, home: Path) -> None:
    twin.refusal = TooManyGpus("9 GPUs asked; the largest node has 8.")
    with pytest.raises(TooManyGpus, match="largest node has 8"):
        submitted(desk, "--gpus 9", "x = 1")
    assert directories(home) == []


def test_an_unknown_name_in_in_is_told(desk: Desk, twin: TwinDaemon, home: Path) -> None:
    with pytest.raises(BadRequest, match="nosuch"):
        submitted(desk, "--in nosuch", "x = 1")
    assert directories(home) == []


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, DiskFull), (errno.EDQUOT, DiskFull), (errno.EACCES, ClusterError)]
)
def test_a_disk_that_takes_no_more_is_a_sentence(
    desk: Desk, twin: TwinDaemon, home: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[Exception]
) -> None:
    def full(path: str, value: object, **_: Any) -> None:
        Path(path).write_text("half")
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(submit_module.spool, "write_json", full)
    with pytest.raises(kind, match=os.strerror(number)):
        submitted(desk, "", "x = 1")
    assert directories(home) == []


def test_an_interrupt_while_submitting_leaves_nothing_that_runs(
    desk: Desk, twin: TwinDaemon, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = desk._client.submit

    def interrupted(*specs: Any) -> list[int]:
        taken(*specs)
        raise KeyboardInterrupt

    monkeypatch.setattr(desk._client, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        submitted(desk, "", "x = 1")
    assert isinstance(twin.heard[-1], ask.Cancel)
    assert directories(home) == []


def test_a_dry_run_tells_what_would_travel_and_leaves_nothing(desk: Desk, twin: TwinDaemon, home: Path) -> None:
    desk.shell.run_cell("x = [1, 2, 3]\nunused = 4")
    record, drafted = dry_run(desk, read_line("--dry-run"), "y = sum(x)", cell=PlainCell(desk.shell))
    packed = drafted.packed
    assert record.id == 0
    assert [(part.name, part.type_name) for part in packed.report] == [("x", "list")]
    assert directories(home) == []
    assert not [r for r in twin.heard if isinstance(r, ask.Submit)]


def test_a_dry_run_says_what_is_missing_and_that_nothing_keeps_the_job(desk: Desk, twin: TwinDaemon) -> None:
    asked = read_line("--dry-run")
    record, drafted = dry_run(desk, asked, "y = gone", cell=PlainCell(desk.shell))
    now = structs.replace(record, position=1, why="starts now", expected_start_at="2026-11-30T14:05:00Z")
    said = preview.words(asked, now, drafted.packed, drafted.missing)
    assert "Nowhere to be found: gone. The job would end with a NameError.\n" in said
    assert said.endswith("It would start now.\n")
    assert "14:05" not in said
    later = structs.replace(now, why="needs 1 GPU; none is free")
    assert preview.start(later)[0].startswith("It would be 1st in the queue. It should start about ")


def test_the_words_of_now_are_those_of_the_core() -> None:
    assert preview.NOW == explain._STARTS


def test_after_last_is_the_newest_job(desk: Desk, twin: TwinDaemon) -> None:
    first = submitted(desk, "", "x = 1")
    desk.jobs[first.id] = first
    submitted(desk, "--after last", "x = 2")
    request = [r for r in twin.heard if isinstance(r, ask.Submit)][-1]
    assert request.jobs[0].after == [first.id]


def test_a_working_directory_that_is_gone_is_told(
    desk: Desk, twin: TwinDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(ClusterError, match="working directory"):
        submitted(desk, "", "x = 1")
