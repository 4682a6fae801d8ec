"""Everything a job writes is kept once and in order, and no reader can hold it up."""

import json
import os
import re
import resource
import signal
import socket
from pathlib import Path

import pytest

from jupysched.runner.recorder import Reader, Recorder
from jupysched.spool import Kind, read_frames, unpack_frames
from tests.runner.node import Node, is_alive
from tests.waiting import eventually

pytestmark = pytest.mark.leaky


def test_of_a_hundred_thousand_lines_none_is_lost_or_split(node: Node) -> None:
    job = node.run("for i in range(100_000):\n    print('line', i)")
    assert job.stdout == "".join(f"line {i}\n" for i in range(100_000))
    assert len(job.frames) < 10_000


def test_one_line_of_fifty_megabytes_arrives_whole(node: Node) -> None:
    job = node.run("print('é' * 25_000_000)")
    assert len(job.stdout) == 25_000_001
    assert set(job.stdout) == {"é", "\n"}


def test_no_frame_divides_a_character(node: Node) -> None:
    job = node.run("import os\nfor byte in 'aé漢🧪z'.encode() * 300:\n    os.write(1, bytes([byte]))")
    assert "".join(frame.payload.decode() for frame in job.frames) == "aé漢🧪z" * 300


def test_raw_bytes_stay_what_they_are(node: Node) -> None:
    job = node.run("import os, sys\nos.write(1, b'raw[\\xff\\xfe]\\n')\nsys.stdout.buffer.write(b'half[\\xc3');")
    assert b"".join(frame.payload for frame in job.frames) == b"raw[\xff\xfe]\nhalf[\xc3"


def test_text_without_a_line_end_is_shown_while_the_cell_runs(node: Node) -> None:
    job = node.job("print('so far', end='')\nimport time\ntime.sleep(60)")
    job.start()
    job.read_until("so far").close()
    job.tell(op="stop", grace_s=[0, 0])
    job.follow()


def test_a_printed_line_is_shown_while_c_code_holds_the_interpreter(node: Node) -> None:
    job = node.job("print('before')\nimport ctypes\nctypes.PyDLL(None).sleep(60)")
    job.start()
    job.read_until("before").close()
    job.tell(op="stop", grace_s=[0, 0])
    job.follow()


def test_children_write_where_the_cell_writes(node: Node) -> None:
    job = node.run(
        "import subprocess, sys\nprint('a')\nsubprocess.run(['echo', 'b'])\nsubprocess.run(['echo', 'c'], stdout=sys.stdout)\nprint('d')"
    )
    assert job.stdout == "a\nb\nc\nd\n"


def test_a_reader_may_come_late_come_again_and_read_from_any_offset(node: Node) -> None:
    job = node.job("print('one')\nimport sys\nprint(input('go'))", allow_stdin=True)
    job.start()
    with job.read_until("go"):
        first = read_frames(str(job.path() / "frames"))[0]
        job.tell(op="input", id=1, value="two")
        frames = job.follow(first.end)
    assert [frame.payload for frame in frames if frame.kind == Kind.STDOUT] == [b"two\n"]


def test_a_reader_that_sleeps_holds_up_neither_the_job_nor_other_readers(node: Node) -> None:
    job = node.job("import time\ntime.sleep(0.5)\nfor i in range(40):\n    print('x' * 999_999)\nprint('all')")
    job.start()
    sleeper = job.connect()
    sleeper.sendall(b'{"op":"read","from":0}\n')
    job.follow()
    assert len(job.stdout) == 40_000_000 + 4
    assert job.outcome == "ok"
    sleeper.settimeout(20)
    data = b""
    while part := sleeper.recv(1 << 20):
        data += part
    sleeper.close()
    assert (job.path() / "frames").read_bytes().startswith(data)


def test_a_shim_does_not_grow_with_a_reader_that_sleeps(node: Node) -> None:
    job = node.job("for i in range(100):\n    print('x' * 999_999)\nprint('all')\nimport time; time.sleep(60)")
    job.start()
    sleeper = job.connect()
    sleeper.sendall(b'{"op":"read","from":0}\n')
    shim = job.pids()["pid"]
    eventually(lambda: (job.path() / "frames").stat().st_size > 100_000_000)
    status = Path(f"/proc/{shim}/status").read_text()
    assert int(re.findall(r"VmHWM:\s+(\d+)", status)[0]) < 120_000
    sleeper.close()
    job.tell(op="stop", grace_s=[0, 0])
    job.follow()


def test_a_child_that_keeps_the_pipes_open_is_not_waited_for(node: Node) -> None:
    job = node.run("import os, time\nif os.fork() == 0:\n    time.sleep(600)\n    os._exit(0)\nprint('done')")
    assert (job.outcome, job.stdout, job.exit and job.exit["swept"]) == ("ok", "done\n", 1)


def test_a_child_that_never_stops_writing_is_not_listened_to_for_ever(node: Node) -> None:
    job = node.run("import subprocess\nsubprocess.Popen(['yes'], start_new_session=True)\nx = 1;")
    assert (job.outcome, job.exit and job.exit["swept"]) == ("ok", 1)


def test_a_disk_that_takes_no_more_costs_output_but_not_the_job() -> None:
    def small() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))

    node = Node(before=small)
    try:
        job = node.run("print('head')\nfor i in range(20_000):\n    print('line', i, 'x' * 50)\nx = 'kept'")
        assert job.exit is not None
        assert (job.outcome, job.exit["code"]) == ("ok", 0)
        assert re.fullmatch(r"[\d,]+ bytes of output were not kept: the disk was full\.", job.exit["notes"][0])
        assert job.stdout.startswith("head\nline 0 ")
        assert job.exit["frames"] == (job.path() / "frames").stat().st_size == job.frames[-1].end
        assert job.landed()["x"] == "kept"
    finally:
        node.close()


def test_past_the_limit_one_note_says_so_and_messages_still_pass(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "frames"), limit=100)
    for _ in range(5):
        recorder.record(Kind.STDOUT, b"x" * 60)
    recorder.record(Kind.MESSAGE, b"{}")
    recorder.close()
    frames = read_frames(str(tmp_path / "frames"))
    assert [frame.kind for frame in frames] == [Kind.STDOUT, Kind.STDOUT, Kind.NOTE, Kind.MESSAGE]
    assert recorder.over_limit == 180
    assert json.loads(frames[2].payload)["text"] == "Output past 100 bytes is counted but not kept."
    assert recorder.notes() == ["180 bytes of output past the limit of 100 were not kept."]


def test_a_full_disk_is_counted_and_said_when_there_is_room_again(tmp_path: Path) -> None:
    recorder = Recorder("/dev/full")
    recorder.record(Kind.STDOUT, b"lost")
    assert (recorder.size, recorder.unwritten) == (0, 4)
    spare = Recorder(str(tmp_path / "frames"))
    recorder._file, spare._file = spare._file, recorder._file
    recorder.record(Kind.STDOUT, b"kept")
    recorder.close()
    spare.close()
    assert [f.kind for f in read_frames(str(tmp_path / "frames"))] == [Kind.STDOUT, Kind.NOTE]


def test_a_reader_is_fed_from_the_file_and_told_nothing_twice(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path / "frames"))
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    recorder.readers[ours.fileno()] = Reader(ours, 0)
    with ours, theirs:
        for text in (b"a", b"b"):
            recorder.record(Kind.STDOUT, text)
            assert recorder.push() == []
        assert [frame.payload for frame in unpack_frames(theirs.recv(1000))] == [b"a", b"b"]
        theirs.close()
        recorder.record(Kind.STDOUT, b"c")
        assert [reader.connection for reader in recorder.push()] == [ours]
    recorder.close()


def test_a_stopped_reader_process_is_no_different(node: Node) -> None:
    job = node.job("for i in range(20):\n    print('y' * 999_999)\nz = 1")
    job.start()
    with job.connect() as connection:
        connection.sendall(b'{"op":"read","from":0}\n')
        reader = os.fork()
        if reader == 0:
            os.kill(os.getpid(), signal.SIGSTOP)
            os._exit(0)
    job.follow()
    os.kill(reader, signal.SIGKILL)
    os.waitpid(reader, 0)
    assert job.outcome == "ok"
    assert not is_alive(reader)
