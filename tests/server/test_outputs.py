"""What a spool holds becomes what the cell shows, whether it is read at once or as it comes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched.server.outputs import MOST_TEXT, Paper, Screen, ops_of
from jupysched.spool import Frame, Kind
from jupysched.wire.browser import Op


def frame(kind: Kind, payload: bytes | dict[str, object]) -> Frame:
    return Frame(0, kind, 0.0, payload if isinstance(payload, bytes) else json.dumps(payload).encode())


def out(text: str) -> Frame:
    return frame(Kind.STDOUT, text.encode())


def message(kind: str, **content: object) -> Frame:
    return frame(Kind.MESSAGE, {"type": kind, "content": content})


def shown(*frames: Frame) -> list[Op]:
    screen = Screen()
    screen.apply(ops_of(frames))
    return screen.ops


def test_neighbours_on_one_stream_are_one_output() -> None:
    ops = shown(out("a\n"), out("b\n"), frame(Kind.STDERR, b"e\n"), out("c\n"))
    assert [(o.name, o.text) for o in ops] == [("stdout", "a\nb\n"), ("stderr", "e\n"), ("stdout", "c\n")]


def test_a_display_is_updated_by_its_id() -> None:
    ops = shown(
        message("display_data", data={"text/plain": "1"}, metadata={}, transient={"display_id": "x"}),
        out("between\n"),
        message("update_display_data", data={"text/plain": "2"}, metadata={}, transient={"display_id": "x"}),
    )
    assert [o.output and o.output["data"] for o in ops] == [{"text/plain": "2"}, None]


def test_a_clear_that_waits_keeps_what_stands_until_more_comes() -> None:
    assert [o.text for o in shown(out("a"), message("clear_output", wait=True))] == ["a"]
    assert [o.text for o in shown(out("a"), message("clear_output", wait=True), out("b"))] == ["b"]
    assert shown(out("a"), message("clear_output", wait=False)) == []


def test_an_error_is_an_output_with_its_traceback() -> None:
    (op,) = shown(message("error", ename="ValueError", evalue="<img src=x>", traceback=["t"]))
    assert op.output == {"output_type": "error", "ename": "ValueError", "evalue": "<img src=x>", "traceback": ["t"]}


def test_notes_and_questions_are_no_outputs() -> None:
    screen = Screen()
    question = {"prompt": "name? ", "password": True, "id": 3}
    screen.apply(ops_of([frame(Kind.NOTE, {"text": "n"}), frame(Kind.INPUT_REQUEST, question)]))
    assert (screen.ops, screen.notes) == ([], ["n"])
    assert screen.asks == Op(op="input", text="name? ", name="password", display_id="3")
    screen.apply(ops_of([out("hello")]))
    assert screen.asks is None


def test_frames_that_nobody_understands_harm_no_other() -> None:
    broken = [frame(Kind.MESSAGE, b"{"), frame(Kind.METRICS, b"x"), Frame(0, 99, 0.0, b"?"), message("comm_open")]
    assert [o.text for o in shown(out("a"), *broken, out("b"))] == ["ab"]


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (["10%", "\r20%", "\r100%\n"], "100%\n"),
        (["abc\n", "12345\rxy\n"], "abc\nxy345\n"),
        (["ab\x08c"], "ac"),
        (["50%\r"], "50%\r"),
        (["abc", "\rx"], "xbc\rx"),
        (["50%\r", "60%"], "60%"),
        (["a\r\nb"], "a\nb"),
    ],
)
def test_what_was_overwritten_is_gone(printed: list[str], expected: str) -> None:
    assert shown(*map(out, printed))[0].text == expected


@given(st.lists(st.text(alphabet="ab\n\r", max_size=6), max_size=8))
def test_a_text_printed_in_pieces_stands_as_if_printed_at_once(pieces: list[str]) -> None:
    in_pieces, at_once, printed_again = Paper(), Paper(), Paper()
    for piece in pieces:
        in_pieces.write(piece)
    at_once.write("".join(pieces))
    assert in_pieces.text() == at_once.text()
    printed_again.write(at_once.text())
    assert printed_again.text() == at_once.text()


def test_a_gigabyte_of_text_does_not_reach_the_page() -> None:
    (op,) = shown(*[out("x" * 100_000 + "\n") for _ in range(40)], out("the end\n"))
    assert len(op.text) < MOST_TEXT
    assert op.text.endswith("the end\n")
    assert "characters are left out here" in op.text
