"""One thread brings the outputs and states of a kernel's jobs, through daemons that come and go."""

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from jupysched.core.errors import JupyschedError
from jupysched.magic import follow as follow_module
from jupysched.magic import relay as relay_module
from jupysched.magic.outlet import Outlet
from jupysched.magic.relay import Relay
from jupysched.magic.tracked import Tracked
from jupysched.spool import Frame, Kind
from tests.magic.records import Sent, a_record, message, out
from tests.magic.shim import TwinShim
from tests.magic.twin import TwinDaemon
from tests.waiting import eventually


@pytest.fixture
def relay(monkeypatch: pytest.MonkeyPatch) -> Iterator[Relay]:
    """A relay that starts no daemon: the test's twin is the only one."""
    monkeypatch.setattr(relay_module, "ensure_daemon", lambda path: None)
    monkeypatch.setattr(relay_module, "AWAY_S", 0.01)
    made = Relay()
    yield made
    made.close()


class Followed:
    """A job that is followed, and what came of it."""

    def __init__(self, relay: Relay, directory: Path, **fields: Any) -> None:
        self.sent = Sent()
        self.cards: list[str] = []
        self.questions: list[dict[str, Any]] = []
        self.told = threading.Event()
        record = a_record(directory=str(directory), **fields)
        self.tracked = Tracked(
            record=record, directory=str(directory), outlet=Outlet(self.sent.send, job=record.id),
            card=lambda: self.cards.append(self.tracked.record.state), ask=lambda request, path: self.questions.append(request),
            end=lambda: self.cards.append("end"), told=self.told.set,
        )  # fmt: skip
        relay.track(self.tracked)

    def has_ended(self) -> bool:
        """Wait for it."""
        return self.told.wait(10) and self.tracked.ended.is_set()


def running(shim: TwinShim, attempt: int = 1, **fields: Any) -> Any:
    """Return the record of a job that runs."""
    return a_record(state="running", attempt=attempt, directory=str(shim.directory), **fields)


def test_outputs_arrive_while_it_runs_and_the_end_after_the_last_of_them(
    relay: Relay, twin: TwinDaemon, shim: TwinShim
) -> None:
    twin.records[7] = a_record()
    job = Followed(relay, shim.directory)
    twin.tell(running(shim))
    shim.write(out("a\n"))
    eventually(lambda: job.sent.text() == "a\n")
    shim.write(out("b\n"), message("display_data", data={"text/plain": "c"}))
    twin.tell(a_record(state="succeeded", attempt=1, directory=str(shim.directory)))
    shim.end()
    assert job.has_ended()
    assert job.sent.text() == "a\nb\n"
    assert job.sent.kinds[-1] == "display_data"
    assert job.cards[-1] == "end"


def test_a_job_that_never_started_ends(relay: Relay, twin: TwinDaemon, tmp_path: Path) -> None:
    twin.records[7] = a_record()
    job = Followed(relay, tmp_path)
    twin.tell(a_record(state="cancelled"))
    assert job.has_ended()
    assert job.sent.messages == []


def test_a_job_that_ended_before_it_was_followed_is_told_in_full(
    relay: Relay, twin: TwinDaemon, shim: TwinShim
) -> None:
    shim.write(out("a"))
    shim.end()
    twin.records[7] = a_record(state="succeeded", attempt=1)
    job = Followed(relay, shim.directory)
    assert job.has_ended()
    assert job.sent.text() == "a"


def test_every_attempt_is_told(relay: Relay, twin: TwinDaemon, shim: TwinShim) -> None:
    second = TwinShim(shim.directory, 2)
    shim.write(out("one\n"))
    shim.end()
    second.write(out("two\n"))
    second.end()
    twin.records[7] = a_record(state="succeeded", attempt=2)
    job = Followed(relay, shim.directory)
    assert job.has_ended()
    assert job.sent.text() == "one\ntwo\n"


def test_a_second_job_on_the_same_connection_is_heard_of(relay: Relay, twin: TwinDaemon, tmp_path: Path) -> None:
    twin.records[7], twin.records[8] = a_record(), a_record(id=8)
    first = Followed(relay, tmp_path / "one")
    eventually(lambda: twin.heard)
    second = Followed(relay, tmp_path / "other", id=8)
    eventually(lambda: getattr(twin.heard[-1], "jobs", None) == [7, 8])
    twin.tell(a_record(state="cancelled"), a_record(id=8, state="cancelled"))
    assert first.has_ended()
    assert second.has_ended()


def test_outputs_go_on_without_a_daemon_and_the_next_one_tells_the_end(
    relay: Relay, twin: TwinDaemon, shim: TwinShim
) -> None:
    twin.records[7] = running(shim)
    job = Followed(relay, shim.directory)
    shim.write(out("a\n"))
    eventually(lambda: job.sent.text() == "a\n")
    twin.go_away()
    shim.write(out("b\n"))
    eventually(lambda: job.sent.text() == "a\nb\n")
    shim.end()
    twin.records[7] = a_record(state="succeeded", attempt=1)
    twin.listen()
    assert job.has_ended()
    assert job.tracked.record.state == "succeeded"


def test_a_job_that_the_daemon_does_not_know_ends_with_a_sentence(
    relay: Relay, twin: TwinDaemon, tmp_path: Path
) -> None:
    job = Followed(relay, tmp_path)
    assert job.has_ended()
    assert job.tracked.record.state == "failed"
    assert "does not know" in job.tracked.record.why


def test_a_shim_that_stays_silent_when_its_job_is_over_keeps_nobody(
    relay: Relay, twin: TwinDaemon, shim: TwinShim, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow_module, "SILENT_S", 0.05)
    twin.records[7] = running(shim)
    job = Followed(relay, shim.directory)
    shim.write(out("a"))
    eventually(lambda: job.sent.text() == "a")
    twin.tell(a_record(state="failed", reason="node_lost", attempt=1))
    assert job.has_ended()


def test_what_is_said_beside_the_outputs_stays_out_of_the_cell(relay: Relay, twin: TwinDaemon, shim: TwinShim) -> None:
    twin.records[7] = running(shim)
    job = Followed(relay, shim.directory)
    shim.write(
        Frame(0, Kind.METRICS, 0.0, b'{"step": 3, "values": {"loss": 0.5}}'),
        Frame(0, Kind.NOTE, 0.0, b'{"text": "The log is full."}'),
        Frame(0, Kind.INPUT_REQUEST, 0.0, b'{"prompt": "name? ", "password": false, "id": 1}'),
        Frame(0, Kind.METRICS, 0.0, b"not json"),
    )
    eventually(lambda: job.questions)
    assert job.tracked.facts.metrics == {"loss": 0.5, "step": 3}
    assert job.tracked.facts.losses == [0.5]
    assert job.tracked.facts.notes == ["The log is full."]
    twin.tell(a_record(state="succeeded", attempt=1))
    shim.end()
    assert job.has_ended()
    assert job.sent.messages == []


def test_one_thread_serves_every_job_and_ends_with_the_relay(relay: Relay, twin: TwinDaemon, tmp_path: Path) -> None:
    for number in range(5):
        twin.records[number + 1] = a_record(id=number + 1, state="succeeded")
    jobs = [Followed(relay, tmp_path / str(number), id=number + 1) for number in range(5)]
    assert all(job.has_ended() for job in jobs)
    assert [t.name for t in threading.enumerate()].count("jupysched-relay") == 1
    relay.close()
    assert "jupysched-relay" not in [t.name for t in threading.enumerate()]


def test_a_relay_that_is_closed_leaves_nobody_waiting(relay: Relay, twin: TwinDaemon, tmp_path: Path) -> None:
    twin.records[7] = a_record()
    job = Followed(relay, tmp_path)
    eventually(lambda: twin.heard)
    relay.close()
    assert job.tracked.ended.is_set()


def test_a_forked_child_has_no_relay(relay: Relay, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(relay, "_pid", os.getpid() + 1)
    with pytest.raises(JupyschedError, match="forked child"):
        Followed(relay, tmp_path)
