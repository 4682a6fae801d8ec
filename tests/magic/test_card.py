"""The card says where a job stands, in words, and nothing that people wrote can leave its place."""

import json
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupysched import phrases
from jupysched.core.states import JobState
from jupysched.magic import card, table
from jupysched.wire.records import JobRecord, RequestRecord
from tests.magic.records import a_gpu, a_record, some_facts

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
HOSTILE = "<script>alert(1)</script>\"'>&amp;\u202eevil\u200b\x00\x1b[31m name"


def plain(record: JobRecord, **facts: Any) -> str:
    """Return the card as text."""
    return str(card.bundle(record, some_facts(**facts), now=NOON.astimezone())["text/plain"])


def html(record: JobRecord, **facts: Any) -> str:
    """Return the card as HTML."""
    return str(card.bundle(record, some_facts(**facts), now=NOON.astimezone())["text/html"])


class Tags(HTMLParser):
    """Which tags a page has, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    ("fields", "first", "second"),
    [
        ({"position": 1, "expected_start_at": "2026-11-30T12:05:00Z", "why": "needs 4 GPUs on one node; 2 are free"},
         "job 7 (resnet): waiting, 1st · starts about TIME", "needs 4 GPUs on one node; 2 are free."),
        ({"state": "held", "reason": "held_by_user"}, "job 7 (resnet): held", "held by its user."),
        ({"state": "running", "gpus": ["GPU 0"], "ran_s": 724.0, "request": RequestRecord(time_limit_s=7200)},
         "job 7 (resnet): running · GPU 0 · 12:04 of 2 h", ""),
        ({"state": "succeeded", "gpus": ["GPU 4"], "ran_s": 252.0, "waited_s": 8.0, "started_at": "2026-11-30T11:00:00Z"},
         "job 7 (resnet): succeeded in 4:12 · waited 0:08 · GPU 4", ""),
        ({"state": "failed", "ran_s": 41.0, "reason": "out_of_memory", "why": "Step 12 needed more than 80 GB."},
         "job 7 (resnet): failed after 0:41", "Step 12 needed more than 80 GB."),
        ({"state": "cancelled", "reason": "cancelled_by_user"}, "job 7 (resnet): cancelled", "cancelled by its user."),
    ],
)  # fmt: skip
def test_each_state_is_told_in_one_or_two_lines(fields: dict[str, Any], first: str, second: str) -> None:
    said = re.sub(r"about \d\d:\d\d", "about TIME", plain(a_record(**fields)))
    assert said == "\n".join(filter(None, [first, second]))


def test_what_came_back_is_told_before_and_after_it_landed() -> None:
    ended = a_record(state="succeeded")
    assert "model and history come back with the next cell." in plain(ended, returned=["model", "history"])
    assert "model is back in the notebook." in plain(ended, returned=["model"], has_landed=True)


def test_a_gpu_and_the_loss_are_live() -> None:
    said = plain(a_record(state="running", gpus=["GPU 0"]), gpus=[a_gpu()], metrics={"loss": 0.41234, "epoch": 7})
    assert "GPU 97 %, 48.9 of 80.0 GB" in said
    assert "epoch 7 · loss 0.4123" in said


def test_what_a_gpu_does_not_tell_is_not_zero() -> None:
    said = plain(a_record(state="running"), gpus=[a_gpu(utilization_percent=None, memory_used_bytes=None)])
    assert "GPU n/a" in said
    assert "0 %" not in said


def test_a_cpu_slot_has_no_gpu_line() -> None:
    assert "%" not in plain(a_record(state="running"), gpus=[a_gpu(kind="cpu_slot", label="CPU slot 0")])


def test_notes_stand_on_the_card() -> None:
    note = "x was changed in the notebook meanwhile; kept 7."
    assert note in plain(a_record(state="succeeded"), notes=[note])
    assert note in Tags(html(a_record(state="succeeded"), notes=[note])).text


@pytest.mark.parametrize("state", list(JobState))
def test_nothing_that_people_wrote_becomes_markup(state: JobState) -> None:
    record = a_record(
        state=state.value, name=HOSTILE, why=HOSTILE, gpus=[HOSTILE], nodes=[HOSTILE, "b"], metrics={HOSTILE: HOSTILE}
    )
    page = Tags(html(record, notes=[HOSTILE], returned=[HOSTILE], gpus=[a_gpu(label=HOSTILE), a_gpu(label="b")]))
    assert page.seen <= {"div", "b", "bdi", "span", "svg", "polyline"}
    assert page.open == []
    for hidden in "\u202e\u200b\x00\x1b":
        assert hidden not in page.text


@given(st.text())
def test_any_name_makes_a_card_that_is_short_and_can_be_sent(name: str) -> None:
    bundle = card.bundle(a_record(name=name), some_facts())
    json.dumps(bundle["text/html"]).encode()
    bundle["text/plain"].encode()
    assert len(phrases.short_name(name)) <= phrases.MOST_NAME


def test_the_long_name_is_there_to_be_read() -> None:
    assert f'title="{"A" * 150}"' in html(a_record(name="A" * 150))


def test_metrics_that_are_no_numbers_can_be_sent() -> None:
    bundle = card.bundle(
        a_record(state="running"), some_facts(metrics={"loss": float("nan")}, losses=[1.0, float("inf"), 0.5])
    )
    json.dumps(bundle[card.MIME]["metrics"], allow_nan=False)


def test_the_card_marks_its_cell_and_is_replaced_by_its_display_id() -> None:
    content = card.content(a_record(), some_facts())
    assert content["metadata"] == {"jupysched": {"job": 7}}
    assert content["transient"] == {"display_id": "jupysched-7"}
    assert content["data"][card.MIME]["job"] == 7
    assert set(content["data"]) == {card.MIME, "text/html", "text/plain"}


def test_losses_draw_a_line() -> None:
    assert "polyline" in html(a_record(state="running"), losses=[3.0, 2.0, 1.0], metrics={"loss": 1.0})
    assert "polyline" not in html(a_record(state="running"), losses=[3.0], metrics={"loss": 3.0})


def test_a_table_of_jobs_escapes_and_aligns() -> None:
    records = [a_record(name=HOSTILE, why=HOSTILE), a_record(id=12, name="b", state="running", gpus=["GPU 0"])]
    data = table.content(records, total=5)["data"]
    page = Tags(data["text/html"])
    assert page.seen <= {"table", "thead", "tbody", "tr", "th", "td", "bdi", "p"}
    assert "3 more" in data["text/plain"]
    lines = data["text/plain"].splitlines()
    assert lines[0].index("name") == lines[2].index("b ")


def test_an_empty_table_says_how_to_begin() -> None:
    assert "%%gpujob" in table.content([], total=0)["data"]["text/plain"]


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0:00"), (41, "0:41"), (252.9, "4:12"), (12_670, "3:31:10"), (187_200, "2 d 4:00:00")]
)
def test_durations_read_as_clocks(seconds: float, said: str) -> None:
    assert phrases.duration(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"), [(7200, "2 h"), (1800, "30 min"), (90, "90 s"), (5400, "1 h 30 min"), (1.5, "1.5 s")]
)
def test_limits_read_as_they_were_asked(seconds: float, said: str) -> None:
    assert phrases.limit(seconds) == said


@pytest.mark.parametrize(
    ("number", "said"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (112, "112th"), (21, "21st")]
)
def test_places_have_their_ending(number: int, said: str) -> None:
    assert phrases.ordinal(number) == said
