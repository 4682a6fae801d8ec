"""Plays a case whose steps happen while the job waits or runs. Knows the steps that a notebook without a browser can take."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jupysched.client import Client
from jupysched.core.states import ENDED, JobState
from jupysched.wire.records import JobRecord
from tests.cases.case import Case
from tests.cases.expectations import unmet
from tests.cases.notebook import Notebook
from tests.cases.outputs import Outputs
from tests.cases.playing import must_run

OUTCOMES = {JobState.SUCCEEDED: "done", JobState.FAILED: "failed", JobState.CANCELLED: "cancelled"}

#: A job that holds every GPU until a file appears.
OCCUPANT = """%%gpujob --gpus {gpus} --name occupant
import os, time
print("occupied", flush=True)
while not os.path.exists({flag!r}):
    time.sleep(0.05)
"""

#: Without a front end there is nothing to do; tests/browser takes these steps in a real one.
FRONT_END_ONLY = {"move_cell_down"}


class Scenario:
    """One case being played. The job is watched as its user would: by the daemon's client, and by what its cell shows."""

    def __init__(self, case: Case, notebook: Notebook, client: Client) -> None:
        self.notebook = notebook
        self._case = case
        self._client = client
        self._flag = notebook.base / "release"
        self._occupant: int | None = None
        #: of the cell whose outputs are what the case is about
        self.seen = Outputs()
        self.submitted_at = 0.0
        self._job: int | None = None
        #: what other cells showed
        self.others: list[Outputs] = []

    def play(self) -> list[str]:
        """Take all steps, wait for the end, and return what was not as expected."""
        for code in self._case.get("setup", []):
            must_run(self.notebook, code, within_s=120)
        must_run(self.notebook, "%load_ext jupysched")
        for step in self._case["scenario"]:
            self._take(step)
        job = self.wait_for_the_end()
        # Results land between cells: this one is the next.
        must_run(self.notebook, "pass")
        outcome = OUTCOMES[JobState(job.state)]
        bad = unmet(self.seen, self._case["expect"], outcome=outcome, evaluate=self.notebook.evaluate)
        ran_s, most_s = time.time() - self.submitted_at, self._case["expect"].get("duration_max_s")
        return bad + ([f"ended only after {ran_s:.1f} s"] if most_s and ran_s > most_s else [])

    @property
    def job(self) -> JobRecord:
        """The job of the case, as the daemon shows it now."""
        assert self._job is not None
        return self._client.job(self._job)

    def wait_for_the_end(self, *, within_s: float = 60) -> JobRecord:
        """Return the job once it has ended and its cell shows so."""
        return self._ended(self._job, within_s=within_s)

    def _ended(self, job: int | None, *, within_s: float = 60) -> JobRecord:
        assert job is not None
        self.notebook.listen_until(
            lambda: self._client.job(job).state in ENDED, within_s=within_s, what=f"the end of job {job}"
        )
        self.notebook.listen_for(0.7)
        return self._client.job(job)

    def _take(self, step: dict[str, Any]) -> None:
        if "after_s" in step:
            self.notebook.listen_for(step["after_s"])
        if "submit" in step:
            self._submit()
        if "occupy" in step:
            self._occupy()
        if "wait" in step:
            self.wait_for_the_end()
        if "notebook_runs" in step:
            self._run_other(step["notebook_runs"])
        if "do" in step and step["do"] not in FRONT_END_ONLY:
            self._deeds()[step["do"]]()

    def _deeds(self) -> dict[str, Callable[[], object]]:
        return {
            "cancel": lambda: self._client.cancel(self._job or 0),
            "interrupt_kernel": self.notebook.interrupt,
            "release_slots": self._release,
            "shutdown_kernel_and_close_browser": self.notebook.close,
            "open_notebook_new_kernel": self._open_again,
        }

    def _submit(self) -> None:
        # Only a cell that waits can be interrupted; every other one returns at once, as long as somebody could answer input().
        waits = any(step.get("do") == "interrupt_kernel" for step in self._case["scenario"])
        self.submitted_at = time.time()
        self.seen = self.notebook.send(
            f"%%gpujob {self._case['magic_args']}{' --wait' if waits else ''}\n{self._case['cell']}", allow_stdin=True
        )
        if not waits:
            self.notebook.listen_until(lambda: self.seen.idle_at, within_s=30, what="the cell to return")
            assert self.seen.error is None, self.seen.error
        self._job = self._shown(self.seen)

    def _shown(self, cell: Outputs) -> int:
        """Return the id of the job whose card a cell shows."""
        self.notebook.listen_until(lambda: cell.card or cell.error, within_s=30, what="the card under the cell")
        assert cell.card is not None, cell.error
        return cell.card["job"]

    def _occupy(self) -> None:
        # The daemon may not be there yet: the first job starts it.
        code = OCCUPANT.format(gpus=2, flag=str(self._flag))
        occupied = self.notebook.run(code, allow_stdin=True)
        assert occupied.error is None, occupied.error
        self.notebook.listen_until(lambda: "occupied" in occupied.stdout, within_s=30, what="all GPUs to be held")
        self._occupant = self._shown(occupied)

    def _release(self) -> None:
        Path(self._flag).touch()
        self._ended(self._occupant)

    def _run_other(self, code: str) -> None:
        if code.startswith("%gpujob_fetch"):  # the case guessed the name
            self.seen = must_run(self.notebook, code.replace("%gpujob_fetch", "%gpujob attach"))
            return
        self.others.append(must_run(self.notebook, code))

    def _open_again(self) -> None:
        self.notebook.open()
        must_run(self.notebook, "%load_ext jupysched")
