"""The routes say what the daemon says, and what is wrong in one sentence."""

import pytest

from jupysched.client import Client
from jupysched.places import new_job_directory
from jupysched.wire.requests import SpecRecord
from tests.labs import JupyterServer
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives as long as the module's server"),
]


def test_without_a_daemon_it_says_so_and_starts_one_when_asked(server: JupyterServer) -> None:
    state = server.api("state").json()
    assert (state["down"], state["may_start"], state["daemon"]) == ("The GPU queue is not running.", True, None)
    answer = server.api("jobs")
    assert (answer.status, answer.json()["code"]) == (503, "daemon_missing")
    assert server.api("daemon", {}).status == 200
    eventually(lambda: server.api("state").json()["down"] == "", what="the picture is there")
    assert [g["label"] for g in server.api("state").json()["gpus"]] == ["CPU slot 0", "CPU slot 1"]


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("jobs/99", None, 404, "no_such_job"),
        ("jobs/99/outputs", None, 404, "no_such_job"),
        ("jobs?limit=x", None, 400, "bad_request"),
        ("actions", {"verb": "explode", "jobs": [1]}, 400, "bad_request"),
        ("actions", {"verb": "cancel"}, 400, "bad_request"),
        ("actions", {"verb": "cancel", "jobs": [99]}, 404, "no_such_job"),
        ("dry-run", {"line": "--gpus 900"}, 400, "too_many_gpus"),
        ("dry-run", {"line": "--tim 3h"}, 400, "bad_request"),
    ],
)
def test_what_is_refused_is_refused_in_words(
    server: JupyterServer, path: str, body: object, status: int, code: str
) -> None:
    server.api("daemon", {})
    answer = server.api(path, body)
    said = answer.json()
    assert (answer.status, said["code"]) == (status, code)
    assert said["message"].endswith(".")
    assert set(said) == {"code", "message", "hint", "fault"}


def test_a_line_of_options_is_checked_without_queueing_anything(server: JupyterServer) -> None:
    server.api("daemon", {})
    answer = server.api("dry-run", {"line": "--gpus 1 --time 2h --name x"})
    assert (answer.status, answer.json()["id"], answer.json()["request"]["time_limit_s"]) == (200, 0, 7200)
    assert server.api("jobs").json()["total"] == 0


def test_jobs_come_in_pages_and_can_be_held_moved_and_cancelled(
    server: JupyterServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.api("daemon", {})
    monkeypatch.setenv("JUPYSCHED_HOME", str(server.home))
    with Client() as client:
        jobs = client.submit(
            *(SpecRecord(name=f"j{n}", directory=str(new_job_directory()), hold=True) for n in range(5))
        )
    page = server.api("jobs?limit=2&offset=1").json()
    assert ([j["id"] for j in page["jobs"]], page["total"]) == (jobs[1:3], 5)
    assert "directory" not in page["jobs"][0]
    moved = server.api("actions", {"verb": "priority", "jobs": jobs[:2], "priority": "high"}).json()
    assert [j["priority"] for j in moved] == ["high", "high"]
    ended = server.api("actions", {"verb": "cancel", "jobs": jobs}).json()
    assert {j["state"] for j in ended} == {"cancelled"}
    assert server.api("actions", {"verb": "hold", "jobs": jobs[:1]}).status == 409
