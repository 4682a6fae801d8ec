"""The client finds the next daemon by itself, and sends nothing twice."""

import socket
import threading
from pathlib import Path

import pytest

from jupysched import transport
from jupysched.client import Client
from jupysched.core.errors import DaemonMissing
from jupysched.wire import messages as msg
from jupysched.wire import requests as ask


def serve_one(listener: socket.socket, *, answer_to: int | None) -> threading.Thread:
    """A daemon that takes one connection, hears one submission, answers it if it has this number, and is gone."""

    def run() -> None:
        connection, _ = listener.accept()
        with connection:
            splitter = transport.Splitter()
            while not splitter.feed(connection.recv(1 << 16)):
                pass
            if answer_to is not None:
                answer = msg.Answer(number=answer_to, value=msg.encode_value([answer_to]))
                connection.sendall(transport.frame(msg.encode(answer)))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def listener(tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        made.listen()
        yield made


SPEC = ask.SpecRecord(name="x", directory="/nowhere")


def test_a_submission_goes_to_the_next_daemon_if_the_last_one_ended_between_two_calls(listener, tmp_path):
    client = Client(socket=tmp_path / "s", start=False, timeout_s=10)
    first = serve_one(listener, answer_to=1)
    client.submit(SPEC)
    first.join(10)
    second = serve_one(listener, answer_to=2)
    assert client.submit(SPEC) == [2]
    client.close()
    second.join(10)


def test_a_submission_that_may_have_been_taken_is_not_sent_again(listener, tmp_path):
    client = Client(socket=tmp_path / "s", start=False, timeout_s=10)
    first = serve_one(listener, answer_to=None)
    with pytest.raises(DaemonMissing, match="went away while it was asked"):
        client.submit(SPEC)
    first.join(10)
