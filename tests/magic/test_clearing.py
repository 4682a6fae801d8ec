"""clear_output clears what the job showed; the card above it stays."""

from typing import Any

from jupysched.magic.outlet import Outlet
from jupysched.spool import Frame
from tests.magic.records import Sent, message, out

CARD = {"data": {"text/plain": "the card"}, "metadata": {}, "transient": {"display_id": "jupysched-7"}}


def shown(*frames: Frame, head: dict[str, Any] | None = CARD) -> list[str]:
    """Return what stands in the cell's messages, in short."""
    sent = Sent()
    outlet = Outlet(sent.send, job=7, head=lambda: head)
    for frame in frames:
        outlet.take(frame)
    outlet.close()
    return [_short(kind, content) for kind, content in sent.messages]


def _short(kind: str, content: dict[str, Any]) -> str:
    if kind == "clear_output":
        return "clear, wait" if content["wait"] else "clear"
    return str(content["text"] if kind == "stream" else content["data"]["text/plain"])


def test_the_card_is_shown_again_after_a_clearing() -> None:
    assert shown(out("a"), message("clear_output", wait=False), out("b")) == ["a", "clear", "the card", "b"]


def test_a_clearing_that_waits_takes_place_with_the_next_output_and_the_card_comes_first() -> None:
    picture = message("display_data", data={"text/plain": "new"})
    assert shown(out("a"), message("clear_output", wait=True), picture) == ["a", "clear, wait", "the card", "new"]
    assert shown(out("a"), message("clear_output", wait=True), out("b")) == ["a", "clear, wait", "the card", "b"]


def test_a_clearing_that_waits_for_nothing_clears_nothing() -> None:
    assert shown(out("a"), message("clear_output", wait=True)) == ["a"]


def test_an_update_is_no_new_output() -> None:
    update = message("update_display_data", data={"text/plain": "u"}, transient={"display_id": "x"})
    assert shown(out("a"), message("clear_output", wait=True), update, out("b")) == [
        "a",
        "u",
        "clear, wait",
        "the card",
        "b",
    ]


def test_where_there_is_no_card_only_the_clearing_is_sent() -> None:
    assert shown(out("a"), message("clear_output", wait=True), out("b"), head=None) == ["a", "clear, wait", "b"]
