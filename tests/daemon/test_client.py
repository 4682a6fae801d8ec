"""The client finds the next daemon by itself, and sends nothing twice that would mean more than once."""

import fcntl
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from jupysched import transport
from jupysched.client import Client
from jupysched.core.errors import DaemonMissing
from jupysched.wire import messages as msg
from jupysched.wire import requests as ask
from tests.faults.standing import processes_with


def serve(listener: socket.socket, *answers: object, asked: list[ask.Request] | None = None) -> threading.Thread:
    """Daemons, one connection each: they hear one request, answer it if they have an answer, and are gone."""

    def run() -> None:
        for answer in answers:
            connection, _ = listener.accept()
            with connection:
                splitter, heard = transport.Splitter(), []
                while not heard:
                    heard = splitter.feed(connection.recv(1 << 16))
                if asked is not None:
                    asked.append(msg.decode_call(heard[0]).ask)
                if answer is not None:
                    number = msg.decode_call(heard[0]).number
                    said = msg.Answer(number=number, value=msg.encode_value(answer))
                    connection.sendall(transport.frame(msg.encode(said)))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


@pytest.fixture
def listener(tmp_path: Path):
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "s"))
        made.listen()
        yield made


@pytest.fixture
def client(tmp_path: Path, listener: socket.socket):
    with Client(socket=tmp_path / "s", start=False, timeout_s=10) as made:
        yield made


SPEC = ask.SpecRecord(name="x", directory="/nowhere")


def test_a_submission_goes_to_the_next_daemon_if_the_last_one_ended_between_two_calls(listener, client):
    first = serve(listener, [1])
    client.submit(SPEC)
    first.join(10)
    second = serve(listener, [2])
    assert client.submit(SPEC) == [2]
    second.join(10)


def test_what_may_be_asked_twice_is_asked_again_if_the_daemon_went_before_it_answered(listener, client):
    daemons = serve(listener, None, msg.JobsPage(jobs=[], total=3))
    assert client.jobs().total == 3
    daemons.join(10)  # the last one is gone, and the client sees it: else its next request dies with that one already
    daemons = serve(listener, None, [])
    assert client.hold(1) == []
    daemons.join(10)


def test_a_submission_is_sent_again_with_its_key_and_each_has_its_own(listener, client):
    asked: list[ask.Request] = []
    for answer in ([3], [4]):
        daemons = serve(listener, None, answer, asked=asked)
        assert answer == client.submit(SPEC)
        daemons.join(10)
    first, again, other, _ = asked
    assert first == again
    assert isinstance(first, ask.Submit)
    assert isinstance(other, ask.Submit)
    assert "" != first.key != other.key


@pytest.mark.parametrize("verb", [ask.Cancel, ask.Release])
def test_what_would_mean_more_the_second_time_says_that_it_is_the_first(listener, client, verb):
    asked: list[ask.Request] = []
    daemons = serve(listener, None, [], asked=asked)
    client.call(verb(jobs=[1]))
    daemons.join(10)
    assert asked == [verb(jobs=[1]), verb(jobs=[1], again=True)]


def test_it_is_asked_again_once_and_then_it_is_said(listener, client):
    daemons = serve(listener, None, None)
    with pytest.raises(DaemonMissing, match="went away while it was asked"):
        client.jobs()
    daemons.join(10)


@pytest.mark.parametrize("request_", [ask.Submit(jobs=[SPEC]), ask.Requeue(jobs=[1]), ask.Shutdown()])
def test_what_may_have_been_taken_and_means_more_the_second_time_is_not_sent_again(listener, client, request_):
    first = serve(listener, None)
    with pytest.raises(DaemonMissing, match="went away while it was asked"):
        client.call(request_)
    first.join(10)
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()


@pytest.fixture
def dying(home: Path):
    """What a daemon leaves for a moment when it is killed: a socket that takes connections and drops them."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(home / "api.sock"))
        made.listen()
        is_over = threading.Event()

        def drop() -> None:
            while not is_over.is_set():
                made.accept()[0].close()

        thread = threading.Thread(target=drop, daemon=True)
        thread.start()
        name = made.getsockname()
        os.link(name, name + ".kept")  # the next daemon takes the name
        yield home
        is_over.set()
        with socket.socket(socket.AF_UNIX) as last:
            last.connect(name + ".kept")
        thread.join(10)


@pytest.mark.leaky("the daemon of the test is ended with its home")
def test_a_client_that_reaches_a_dying_daemon_gets_its_answer_from_a_new_one(dying: Path) -> None:
    with Client() as client:
        pid = client.hello().pid
    assert processes_with("jupysched.daemon", dying) == [pid]


@pytest.mark.leaky("the daemon of the test is ended with its home")
def test_a_daemon_waits_for_the_one_before_it_to_end(home: Path) -> None:
    with open(home / "daemon.lock", "w", encoding="utf-8") as lock:
        lock.write("4711")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        read_end, write_end = os.pipe()
        command = [sys.executable, "-m", "jupysched.daemon", "--ready-fd", str(write_end)]
        with subprocess.Popen(command, pass_fds=[write_end], stderr=subprocess.PIPE, text=True) as daemon:
            os.close(write_end)
            assert daemon.stderr is not None
            assert "A daemon (pid 4711) has the lock" in daemon.stderr.readline()
            fcntl.flock(lock, fcntl.LOCK_UN)
            with os.fdopen(read_end, "rb") as ready:
                assert ready.read(5) == b"ready"
            with Client() as client:
                client.shutdown()


def test_a_second_daemon_beside_one_that_listens_is_refused(home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener, open(home / "daemon.lock", "w", encoding="utf-8") as lock:
        listener.bind(str(home / "api.sock"))
        listener.listen()
        fcntl.flock(lock, fcntl.LOCK_EX)
        ran = subprocess.run([sys.executable, "-m", "jupysched.daemon"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (
        1,
        f"A daemon (pid unknown) is already there for {home}.",
    )
