"""%gpujobs in a front end with widgets: a table that lives while it is looked at, with a button for what may be done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched.client import Client
from tests.leaks import temporary_home
from tests.magic.front_end import VIEW, FrontEnd

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives for the whole file, and its zygote forks a pair ahead of each job"),
]

HOSTILE = "<img src=x onerror=alert(1)>\u202etxt.exe\"'"


@pytest.fixture(scope="module", autouse=True)
def one_slot() -> Iterator[Path]:
    """One home and one daemon for this file."""
    with temporary_home() as home, pytest.MonkeyPatch.context() as environment:
        environment.setenv("JUPYSCHED_HOME", str(home))
        environment.setenv("JUPYSCHED_CPU_SLOTS", "1")
        yield home


@pytest.fixture
def front() -> Iterator[FrontEnd]:
    """A notebook of its own; its jobs are cancelled at the end."""
    with FrontEnd("magic-table") as made:
        made.run("%load_ext jupysched")
        yield made
        with Client() as client:
            page = client.jobs(states=["pending", "held", "starting", "running"])
            client.cancel(*(record.id for record in page.jobs))


def queued(front: FrontEnd, line: str = "", body: str = "import time; time.sleep(600)") -> int:
    """A job sent from the notebook; its number."""
    seen = front.run(f"%%gpujob {line}\n{body}", allow_stdin=True)
    assert seen.card is not None
    return int(seen.card["job"])


def state(job: int) -> str:
    with Client() as client:
        return str(client.job(job).state)


def reached(front: FrontEnd, job: int, wanted: str) -> None:
    front.listen_until(lambda: state(job) == wanted, within_s=40, what=f"job {job} is {wanted}")


def test_it_is_shown_in_three_forms_and_a_hostile_name_is_text_in_each(front: FrontEnd) -> None:
    front.run(f"import jupysched\nsent = jupysched.submit(print, name={HOSTILE!r})")
    table, seen = front.table()
    assert set(seen.displays[0]) == {"text/plain", "text/html", VIEW}
    said = [part for model in front.models.values() for part in model.values() if isinstance(part, str)]
    for text in (seen.displays[0]["text/html"], *said):
        assert "<img" not in text
        assert "\u202e" not in text
    assert any("&lt;img" in line for line, _ in front.rows(table).values())


def test_while_it_is_shown_it_follows_the_jobs_even_as_a_cell_runs_and_then_it_stops(front: FrontEnd) -> None:
    first = queued(front)
    table, _ = front.table()
    assert front.models[table]["_view_count"] == 0
    second = queued(front)
    front.listen_quietly(1.0)
    assert second not in front.rows(table)
    front.shows(table)
    front.listen_until(lambda: second in front.rows(table), within_s=20, what="the new job is in the table")
    busy = front.send("import time\nfor _ in range(3000): time.sleep(0.01)")
    with Client() as client:
        client.hold(second)
    front.listen_until(lambda: "held" in front.rows(table)[second][0], within_s=20, what="it is held in the table")
    assert busy.idle_at is None
    front.interrupt()
    front.listen_until(lambda: busy.idle_at is not None, within_s=20, what="the cell ends")
    front.shows(table, views=0)
    ended = {"ended": "__import__('sys').modules['jupysched.magic.table_widget']._tables[-1]._live._watching is None"}
    front.listen_until(lambda: front.evaluate(ended) == {"ended": "True"}, within_s=20, what="nobody watches")
    with Client() as client:
        client.release(second)
    front.listen_quietly(1.5)
    assert "held" in front.rows(table)[second][0]
    front.shows(table)
    front.listen_until(lambda: "waiting" in front.rows(table)[second][0], within_s=20, what="it is shown anew")
    assert first in front.rows(table)


def test_its_buttons_do_what_they_say(front: FrontEnd) -> None:
    running = queued(front, body="print('hello from', 'the job')\nimport time; time.sleep(600)")
    waiting = queued(front)
    reached(front, running, "running")
    table, _ = front.table()
    front.shows(table)

    def press(job: int, label: str) -> None:
        front.listen_until(
            lambda: label in front.rows(table)[job][1], within_s=20, what=f"job {job} has a button {label}"
        )
        front.press(front.rows(table)[job][1][label])

    press(waiting, "Hold")
    reached(front, waiting, "held")
    press(waiting, "↑")
    front.listen_until(lambda: "high" in front.rows(table)[waiting][0], within_s=20, what="its priority is high")
    front.listen_until(lambda: "↑" not in front.rows(table)[waiting][1], within_s=20, what="it is the highest")
    press(waiting, "Release")
    reached(front, waiting, "pending")
    press(running, "Log")
    front.listen_until(lambda: "hello from the job" in front.text(table, 4), within_s=20, what="the log is shown")
    press(running, "Log")
    front.listen_until(lambda: front.text(table, 4) == "", within_s=20, what="the log is shown no longer")
    press(running, "Cancel")
    front.listen_until(lambda: "Cancel? Press again" in front.rows(table)[running][1], within_s=20, what="it asks")
    assert state(running) == "running"
    press(running, "Cancel? Press again")
    front.listen_until(
        lambda: set(front.rows(table)[running][1]) == {"Queue again", "Log"},
        within_s=40,
        what="it can only be queued again",
    )
    press(running, "Queue again")
    reached(front, running, "pending")


def test_what_the_daemon_refuses_is_said_in_its_words(front: FrontEnd) -> None:
    queued(front)
    waiting = queued(front)
    # Never shown, the table does not follow: its buttons are those of before.
    table, _ = front.table()
    with Client() as client:
        client.cancel(waiting)
    front.press(front.rows(table)[waiting][1]["Hold"])
    front.listen_until(lambda: front.text(table, 3), within_s=20, what="something is said")
    assert f"Job {waiting} has ended already" in front.text(table, 3)


def test_old_tables_become_plain_and_leave_no_model_behind(front: FrontEnd) -> None:
    queued(front)
    first, seen = front.table()
    of_first = set(front.models)
    for _ in range(3):
        front.table()
    front.listen_until(lambda: first in front.closed, within_s=20, what="the first table is closed")
    front.listen_quietly(0.5)
    assert of_first - front.closed == set()
    assert set(seen.displays[0]) == {"text/plain", "text/html"}


def test_a_notebook_that_nobody_sits_before_gets_a_table_that_can_be_saved(front: FrontEnd) -> None:
    queued(front, body="pass")
    seen = front.run("%gpujobs", allow_stdin=False)
    assert set(seen.displays[0]) == {"text/plain", "text/html"}
    assert front.models == {}


def test_when_the_kernel_ends_its_tables_are_plain(front: FrontEnd) -> None:
    queued(front, body="pass")
    _, seen = front.table()
    front._client.shutdown()
    front.listen_until(lambda: VIEW not in seen.displays[0], within_s=20, what="the table is plain")
    assert "text/html" in seen.displays[0]


def test_while_the_daemon_is_away_it_says_so_and_then_goes_on(front: FrontEnd) -> None:
    job = queued(front, body="pass")
    reached(front, job, "succeeded")
    table, _ = front.table()
    front.shows(table)
    front.listen_until(lambda: "succeeded" in front.rows(table)[job][0], within_s=20, what="it has ended in the table")
    with Client() as client:
        client.shutdown()
    front.listen_until(lambda: "No daemon" in front.text(table, 3), within_s=30, what="it says that there is no daemon")
    with Client() as client:
        client.hello()
    front.listen_until(lambda: front.text(table, 3) == "", within_s=30, what="it says so no longer")
    another = queued(front, body="pass")
    front.listen_until(lambda: another in front.rows(table), within_s=30, what="it follows the new daemon")
