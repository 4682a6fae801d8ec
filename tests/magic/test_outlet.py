"""What a job shows reaches the cell: whole, in order, and whatever bytes it wrote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched.magic import outlet as module
from jupysched.magic.outlet import Outlet
from jupysched.spool import Frame, Kind
from tests.magic.records import Sent, message, out


def shown(*frames: Frame, hold_error: bool = False, execution_count: int | None = None) -> Sent:
    """Return what these frames send."""
    sent = Sent()
    outlet = Outlet(sent.send, job=7, hold_error=hold_error, execution_count=execution_count)
    for frame in frames:
        outlet.take(frame)
    outlet.close()
    return sent


def test_neighbours_on_one_stream_become_one_message() -> None:
    assert shown(out("a\n"), out("b\n")).messages == [("stream", {"name": "stdout", "text": "a\nb\n"})]


def test_streams_and_displays_keep_their_order() -> None:
    sent = shown(out("a"), out("b", err=True), message("display_data", data={"text/plain": "c"}), out("d"))
    assert sent.kinds == ["stream", "stream", "display_data", "stream"]
    assert [c.get("text") for _, c in sent.messages] == ["a", "b", None, "d"]


def test_the_first_text_waits_for_nothing_and_more_of_it_waits_a_little() -> None:
    sent = Sent()
    outlet = Outlet(sent.send, job=7)
    assert outlet.due_in() is None
    outlet.take(out("a"))
    assert outlet.due_in() == 0
    outlet.flush()
    outlet.take(out("b"))
    due = outlet.due_in()
    assert due is not None
    assert 0 < due <= module.QUICK_S


def test_in_a_flood_that_lasts_messages_are_fewer() -> None:
    outlet = Outlet(Sent().send, job=7)
    for _ in range(int(module.BURST) + 50):
        outlet.take(out("a"))
        outlet.flush()
    outlet.take(out("b"))
    due = outlet.due_in()
    assert due is not None
    assert module.QUICK_S < due <= module.COALESCE_S


@given(st.lists(st.tuples(st.booleans(), st.text(max_size=5)), max_size=20))
def test_text_arrives_once_and_in_order_on_each_stream(parts: list[tuple[bool, str]]) -> None:
    parts = [(err, text.encode("utf-8", "replace").decode()) for err, text in parts]
    sent = shown(*(out(text, err=err) for err, text in parts))
    assert sent.text("stdout") == "".join(text for err, text in parts if not err)
    assert sent.text("stderr") == "".join(text for err, text in parts if err)


@given(st.lists(st.binary(max_size=8), max_size=8))
def test_no_bytes_stop_what_follows(parts: list[bytes]) -> None:
    assert shown(*(out(part) for part in parts), out("\nend")).text().endswith("\nend")


@pytest.mark.parametrize(
    "payload", [b"\xff", b"{", b"[]", b'{"type": "display_data"}', b'{"type": "comm_open", "content": {}}', b"[" * 5000]
)
def test_a_message_that_cannot_be_read_costs_itself_alone(payload: bytes) -> None:
    assert shown(Frame(0, Kind.MESSAGE, 0.0, payload), out("end")).messages == [
        ("stream", {"name": "stdout", "text": "end"})
    ]


def test_half_a_surrogate_pair_is_replaced_and_a_whole_one_kept() -> None:
    frame = Frame(
        0, Kind.MESSAGE, 0.0, b'{"type":"display_data","content":{"data":{"text/plain":"a\\ud800b\\ud83d\\ude00"}}}'
    )
    assert shown(frame).messages[0][1]["data"]["text/plain"] == "a\ufffdb😀"


def test_a_result_has_the_number_of_the_submitting_cell() -> None:
    sent = shown(message("execute_result", data={"text/plain": "1"}, execution_count=1), execution_count=12)
    assert sent.messages[0][1]["execution_count"] == 12


def test_updates_and_clears_have_the_fields_their_messages_need() -> None:
    sent = shown(message("clear_output"), message("update_display_data", data={}, transient={"display_id": "x"}))
    assert sent.messages[0] == ("clear_output", {"wait": False})
    assert sent.messages[1][1]["metadata"] == {}


def test_an_error_that_will_be_raised_is_not_shown_twice() -> None:
    sent = Sent()
    outlet = Outlet(sent.send, job=7, hold_error=True)
    outlet.take(message("error", ename="ValueError", evalue="x", traceback=["t"]))
    outlet.close()
    assert sent.messages == []
    assert outlet.error == {"ename": "ValueError", "evalue": "x", "traceback": ["t"]}


def test_the_error_of_an_attempt_that_is_tried_again_is_shown() -> None:
    sent = Sent()
    outlet = Outlet(sent.send, job=7, hold_error=True)
    outlet.take(message("error", ename="ValueError", evalue="x", traceback=["t"]))
    outlet.new_attempt()
    assert sent.kinds == ["error"]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cap of 100 bytes at the beginning and 40 at the end."""
    monkeypatch.setattr(module, "HEAD_BYTES", 100)
    monkeypatch.setattr(module, "TAIL_BYTES", 40)


@pytest.mark.usefixtures("small")
def test_text_below_the_cap_is_whole() -> None:
    assert shown(out("x" * 60), out("y" * 40)).text() == "x" * 60 + "y" * 40


@pytest.mark.usefixtures("small")
def test_of_too_much_text_head_and_tail_are_kept_and_a_sentence_says_where_the_rest_is() -> None:
    text = "".join(f"line {n:03}\n" for n in range(100))
    sent = shown(*(out(text[i : i + 9]) for i in range(0, len(text), 9)))
    assert sent.text() == text[:100] + text[-40:]
    assert "%gpujob logs 7" in sent.text("stderr")
    assert sent.messages[-1] == ("stream", {"name": "stdout", "text": text[-40:]})


@pytest.mark.usefixtures("small")
@given(st.lists(st.text(alphabet="aé€😀", min_size=1, max_size=40), min_size=1, max_size=20))
def test_the_cap_splits_no_character(parts: list[str]) -> None:
    assert "\ufffd" not in shown(*(out(part) for part in parts)).text()


@pytest.mark.usefixtures("small")
def test_text_that_was_cleared_does_not_count() -> None:
    frames = [frame for n in range(20) for frame in (message("clear_output", wait=True), out(f"{n}" * 30))]
    assert shown(*frames).text("stderr") == ""
