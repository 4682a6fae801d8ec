"""A job gets ready while its shim does, and begins its cell only when the shim is ready too."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched import spool
from jupysched.runner import job, shim, stdin
from jupysched.runner.outputs import Channel


class Pipe:
    def __init__(self) -> None:
        self.read_end, self.write_end = os.pipe()

    def lines(self) -> list[dict[str, object]]:
        os.set_blocking(self.read_end, False)
        return [json.loads(line) for line in os.read(self.read_end, 1 << 16).splitlines()]


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    made = Pipe()
    yield made
    for end in (made.read_end, made.write_end):
        os.close(end)


class NoChannel(Channel):
    """Takes questions and shows them to nobody."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    def send(self, kind: int, content: dict[str, object]) -> bool:
        self.asked.set()
        return True


def test_a_job_whose_shim_finds_the_disk_full_has_its_order_and_is_never_let_go(
    tmp_path: Path, pipe: Pipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.chdir(tmp_path)  # it is left again: a shim works in its attempt's directory
    monkeypatch.setattr(spool, "write_json", full)
    order = {"directory": str(tmp_path), "attempt": 1}
    waiting = shim.Waiting(os.getpid(), 0, pipe.write_end, 0, 0, b"")
    answer, attempt = shim._begin(order, waiting, -1, {})
    assert (answer["ok"], attempt) == (False, None)
    assert "No space left on device" in answer["error"]
    assert [order] == pipe.lines()
    assert not (tmp_path / "a1").exists()


def test_an_order_and_the_word_that_came_with_it_are_two(pipe: Pipe) -> None:
    os.write(pipe.write_end, b'{"attempt":1}\n{"op":"go"}\n')
    line, rest = job._read_order(pipe.read_end)
    assert {"attempt": 1} == json.loads(line)
    stdin.Stdin(NoChannel(), pipe.read_end, rest, allowed=True).wait_for_go()


def test_a_question_before_the_cell_takes_its_answer_and_no_other_word(pipe: Pipe) -> None:
    channel = NoChannel()
    asking = stdin.Stdin(channel, pipe.read_end, b"", allowed=True)
    os.write(pipe.write_end, b'{"op":"go"}\n{"op":"input","id":1,"value":"blue"}\n')
    assert "blue" == asking._request("colour? ", secret=False)
    asking.wait_for_go()
