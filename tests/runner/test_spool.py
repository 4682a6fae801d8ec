"""Frames survive being torn anywhere, and an attempt's directory says truly what became of it."""

import json
import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from jupysched import spool
from jupysched.spool import Frame

times = st.floats(min_value=0, max_value=4e9)
frames = st.lists(st.tuples(st.integers(1, 6), times, st.binary(max_size=60)), max_size=6)


@given(frames)
def test_what_was_packed_is_read_whatever_byte_the_file_ends_at(written: list[tuple[int, float, bytes]]) -> None:
    packed = [spool.pack_frame(*frame) for frame in written]
    ends = [sum(map(len, packed[: n + 1])) for n in range(len(packed))]
    data = b"".join(packed)
    for torn in range(len(data) + 1):
        whole = [Frame(end, *frame) for end, frame in zip(ends, written, strict=True) if end <= torn]
        assert spool.unpack_frames(data[:torn]) == whole


@given(frames, st.data())
def test_reading_goes_on_where_it_stopped(written: list[tuple[int, float, bytes]], draw: st.DataObject) -> None:
    data = b"".join(spool.pack_frame(*frame) for frame in written)
    torn = draw.draw(st.integers(0, len(data)))
    first = spool.unpack_frames(data[:torn])
    offset = first[-1].end if first else 0
    second = spool.unpack_frames(data[offset:], offset)
    assert [tuple(frame)[1:] for frame in first + second] == written


def test_a_frame_larger_than_the_limit_is_read_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "frames").write_bytes(spool.pack_frame(1, 0.0, b"x" * 1000) + spool.pack_frame(2, 0.0, b"y"))
    assert [f.payload for f in spool.read_frames(str(tmp_path / "frames"), 0, limit=100)] == [b"x" * 1000]
    assert spool.read_frames(str(tmp_path / "absent")) == []


@given(st.text(max_size=40))
def test_a_cut_never_divides_a_character(text: str) -> None:
    data = text.encode("utf-8", "replace")
    for at in range(len(data) + 1):
        whole = data[: at - spool.cut_utf8(data[:at])]
        assert whole.decode() in text
        assert at - len(whole) < 4


@given(st.binary(max_size=40))
def test_at_most_three_bytes_are_held_back_of_whatever(data: bytes) -> None:
    assert 0 <= spool.cut_utf8(data) <= min(3, len(data))


def test_an_attempt_is_known_by_what_lies_in_its_directory(tmp_path: Path) -> None:
    path = str(tmp_path / "a1")
    assert spool.attempt_answer(path) is None
    os.mkdir(path)
    assert spool.attempt_answer(path) == "lost"
    me = {"pid": os.getpid(), "start": spool.process_start(os.getpid()), "boot": spool.boot_id()}
    for wrong in ({"start": 1}, {"boot": "another"}, {"pid": 2**22 + 1}):
        spool.write_json(f"{path}/{spool.SHIM}", {**me, **wrong})
        assert spool.attempt_answer(path) == "lost"
    spool.write_json(f"{path}/{spool.SHIM}", me)
    assert spool.attempt_answer(path) == "attached"
    spool.write_json(f"{path}/{spool.EXIT}", {"code": 0}, durable=True)
    assert spool.attempt_answer(path) == "ended"


def test_a_write_leaves_the_old_or_the_new_and_no_third_name(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    for value in ({"n": 1}, {"n": 2, "long": "x" * 100_000}):
        spool.write_json(str(path), value)
        assert spool.read_json(str(path)) == json.loads(path.read_text()) == value
    assert os.listdir(tmp_path) == ["x.json"]
