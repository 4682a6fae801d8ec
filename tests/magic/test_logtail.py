"""The end of a log, as plain text that disturbs nothing beside it."""

from pathlib import Path

from jupysched.magic.logtail import MOST_BYTES, MOST_LINES, LogTail
from jupysched.spool import FRAMES, Kind, pack_frame


def log(folder: Path, *payloads: bytes, kind: Kind = Kind.STDOUT) -> Path:
    """Add frames to attempt 1 of the job in this folder."""
    path = folder / "a1" / FRAMES
    path.parent.mkdir(exist_ok=True)
    with path.open("ab") as file:
        for payload in payloads:
            file.write(pack_frame(kind, 1.0, payload))
    return path


def test_it_grows_with_the_log(tmp_path: Path) -> None:
    tail = LogTail(str(tmp_path), 1)
    assert tail.read() == ""
    log(tmp_path, b"one\n", b"two\n")
    log(tmp_path, b"{}", kind=Kind.METRICS)
    assert tail.read() == "one\ntwo"
    log(tmp_path, b"wrong\n", kind=Kind.STDERR)
    assert tail.read() == "one\ntwo\nwrong"


def test_of_a_long_log_the_last_lines_are_kept_and_the_rest_is_not_read(tmp_path: Path) -> None:
    path = log(tmp_path, *(b"x" * 60_000 + b"\n" for _ in range(100)), *(b"line %d\n" % i for i in range(1000)))
    size = path.stat().st_size
    tail = LogTail(str(tmp_path), 1)
    lines = tail.read().split("\n")
    assert (len(lines), lines[-1]) == (MOST_LINES, "line 999")
    assert tail._offset == size
    assert len(tail._kept) <= MOST_BYTES


def test_a_torn_frame_waits_for_its_end(tmp_path: Path) -> None:
    path = log(tmp_path, b"whole\n")
    frame = pack_frame(Kind.STDOUT, 2.0, b"later\n")
    with path.open("ab") as file:
        file.write(frame[:7])
    tail = LogTail(str(tmp_path), 1)
    assert tail.read() == "whole"
    with path.open("ab") as file:
        file.write(frame[7:])
    assert tail.read() == "whole\nlater"


def test_what_colours_paints_over_or_turns_text_is_gone(tmp_path: Path) -> None:
    log(tmp_path, b"\x1b[31mred\x1b[0m\r\n", b"10%\r50%\r100%\n", "a\u202eb\x00c\td\n".encode(), b"\xff\n")
    assert LogTail(str(tmp_path), 1).read() == "red\n100%\nabc\td\n\ufffd"
