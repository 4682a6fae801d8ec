"""What lies in a job's directory is told to its owner's page, and secrets of its environment to nobody."""

import json
import socket
from pathlib import Path

from jupysched import spool
from jupysched.server import spools
from jupysched.spool import Kind, pack_frame
from jupysched.wire.records import JobRecord


def an_attempt(directory: Path, *texts: str, number: int = 1) -> Path:
    """An attempt that has printed these, and has not ended."""
    attempt = directory / f"a{number}"
    attempt.mkdir(parents=True)
    (attempt / "frames").write_bytes(b"".join(pack_frame(Kind.STDOUT, 1.0, t.encode()) for t in texts))
    return attempt


def test_outputs_are_read_on_from_where_they_were_left(tmp_path: Path) -> None:
    attempt = an_attempt(tmp_path, "one\n", "two\n")
    first = spools.read_outputs(7, str(tmp_path), 1, 0)
    assert ([o.text for o in first.ops], first.ended) == (["one\ntwo\n"], False)
    with open(attempt / "frames", "ab") as file:
        file.write(pack_frame(Kind.STDOUT, 2.0, b"three\n"))
    (attempt / "exit.json").write_text("{}")
    second = spools.read_outputs(7, str(tmp_path), 1, first.end)
    assert ([o.text for o in second.ops], second.ended) == (["three\n"], True)
    assert spools.read_outputs(7, str(tmp_path), 1, second.end).ended


def test_an_attempt_has_not_ended_for_a_page_that_has_more_to_read(tmp_path: Path) -> None:
    attempt = an_attempt(tmp_path, *("x" * 200_000 + "\n" for _ in range(4)))
    (attempt / "exit.json").write_text("{}")
    at, pieces, ended = 0, 0, False
    while not ended:
        piece = spools.read_outputs(7, str(tmp_path), 1, at)
        at, pieces, ended = piece.end, pieces + 1, piece.ended
    assert pieces > 1
    assert at == (attempt / "frames").stat().st_size


def test_what_has_not_started_shows_nothing(tmp_path: Path) -> None:
    snapshot, _ = spools.take_snapshot(7, str(tmp_path), 1)
    assert (snapshot.ops, snapshot.end, snapshot.ended) == ([], 0, False)


def test_a_snapshot_says_from_where_to_follow_on(tmp_path: Path) -> None:
    attempt = an_attempt(tmp_path, "a", "b\n")
    snapshot, _ = spools.take_snapshot(7, str(tmp_path), 1)
    assert ([o.text for o in snapshot.ops], snapshot.end) == (["ab\n"], (attempt / "frames").stat().st_size)


def test_a_question_is_told_until_it_is_answered_and_the_answer_reaches_the_shim(tmp_path: Path) -> None:
    attempt = an_attempt(tmp_path)
    question = json.dumps({"prompt": "name? ", "password": False, "id": 2}).encode()
    (attempt / "frames").write_bytes(pack_frame(Kind.INPUT_REQUEST, 1.0, question))
    asks = spools.take_snapshot(7, str(tmp_path), 1)[0].asks
    assert asks is not None
    assert (asks.text, asks.display_id) == ("name? ", "2")
    assert not spools.answer(str(tmp_path), 1, 2, "Ada")  # nobody listens
    with socket.socket(socket.AF_UNIX) as shim:
        shim.bind(str(attempt / spool.CONTROL))
        shim.listen()
        assert spools.answer(str(tmp_path), 1, 2, "Ada")
        connection, _ = shim.accept()
        with connection, connection.makefile() as lines:
            assert json.loads(lines.readline()) == {"op": "input", "id": 2, "value": "Ada"}
    (attempt / "exit.json").write_text("{}")
    assert spools.take_snapshot(7, str(tmp_path), 1)[0].asks is None


def test_details_tell_attempts_and_files_and_hide_secrets(tmp_path: Path) -> None:
    attempt = an_attempt(tmp_path, "x\n")
    said = {
        "code": 1,
        "started_at": 1.0,
        "ended_at": 2.0,
        "end": {"outcome": "error", "ename": "ValueError", "evalue": "no"},
    }
    (attempt / spool.EXIT).write_text(json.dumps(said))
    launch = {
        "cell": "train()",
        "executable": "/py",
        "cwd": "/w",
        "env": {"HF_TOKEN": "abc", "PATH": "/bin", "MY_PASSWORD": "x"},
    }
    (tmp_path / spool.LAUNCH).write_text(json.dumps(launch))
    detail = spools.detail(JobRecord(id=1, user="ann", name="n", state="failed", attempt=1, directory=str(tmp_path)))
    assert detail.environment == {"HF_TOKEN": "(hidden)", "MY_PASSWORD": "(hidden)", "PATH": "/bin"}
    assert [(a.number, a.outcome, a.error) for a in detail.attempts] == [(1, "error", "ValueError: no")]
    assert set(detail.files) == {"launch.json", "a1/frames", "a1/exit.json"}
    assert "abc" not in repr(detail)
