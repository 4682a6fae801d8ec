"""A job in Python, without a kernel: whose it is, how it ended, and what is said of that."""

from pathlib import Path
from typing import Any

import pytest

from jupysched import spool
from jupysched.core.errors import NotYours
from jupysched.magic import api
from jupysched.magic.desk import Desk
from jupysched.magic.frames import RESULT
from jupysched.magic.job import Job
from jupysched.wire import requests as ask
from tests.magic.records import a_record
from tests.magic.shim import TwinShim
from tests.magic.twin import TwinDaemon

LOST = "Its process ended before it could bring anything back"


def ended(twin: TwinDaemon, directory: Path, **fields: Any) -> Job:
    """A job that has failed."""
    known = {"state": "failed", "attempt": 1, "directory": str(directory), "started_at": "2026-11-30T14:05:00Z"}
    twin.records[7] = a_record(**{**known, **fields})
    return api.job(7)


@pytest.mark.parametrize("ask_for", [lambda job: job.result(), lambda job: job.outputs, lambda job: job.show()])
def test_what_others_jobs_show_and_bring_back_is_theirs(desk: Desk, twin: TwinDaemon, ask_for: Any) -> None:
    twin.records[7] = a_record(user="bob", state="succeeded", attempt=1, directory="", mine=False)
    with pytest.raises(NotYours, match="belongs to bob"):
        ask_for(api.job(7))


def test_what_is_over_is_not_cancelled_again(desk: Desk, twin: TwinDaemon) -> None:
    twin.records[7] = a_record(state="succeeded", attempt=1, directory="/somewhere", ran_s=3.0)
    said = api.job("last").cancel()
    assert repr(said) == "Job 7 (resnet) has ended already (succeeded in 0:03); there is nothing to cancel."
    assert not [request for request in twin.heard if isinstance(request, ask.Cancel)]


def test_a_function_is_known_as_one_in_a_notebook_that_did_not_submit_it(
    desk: Desk, twin: TwinDaemon, tmp_path: Path
) -> None:
    spool.write_json(str(tmp_path / spool.LAUNCH), {"out_names": [RESULT]})
    assert ended(twin, tmp_path).single == RESULT
    spool.write_json(str(tmp_path / spool.LAUNCH), {"out_names": None})
    assert ended(twin, tmp_path).single is None


def test_a_process_that_died_lost_what_it_had(desk: Desk, twin: TwinDaemon, shim: TwinShim) -> None:
    job = ended(twin, shim.directory)
    assert job.losses == [f"{LOST}: what the cell had changed is lost."]
    spool.write_json(str(shim.path / spool.EXIT), {"code": None, "signal": 9, "end": None, "swept": 3})
    assert job.losses[1:] == ["3 processes that it had started were ended with it."]


def test_who_said_a_last_word_or_never_began_lost_nothing(desk: Desk, twin: TwinDaemon, shim: TwinShim) -> None:
    assert ended(twin, shim.directory, started_at=None).losses == []
    # On a full disk the last word stands in the exit record alone.
    spool.write_json(str(shim.path / spool.EXIT), {"code": 1, "signal": None, "end": {"outcome": "error"}})
    assert ended(twin, shim.directory).losses == []
    shim.end(outcome="error")
    assert ended(twin, shim.directory).losses == []
