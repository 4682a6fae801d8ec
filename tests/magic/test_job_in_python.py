"""A job as Python holds it, in a real notebook: by its number, with what it prints, with what is said of its end."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.notebook import Notebook
from tests.cases.outputs import without_colours
from tests.magic.kernel import ended

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives for the whole file, and its zygote forks a pair ahead of each job"),
]

FUNCTION = """
import jupysched, os
os.path.exists('go') or os.mkfifo('go')
def work(x):
    print('one', flush=True)
    open('go').read()
    print('two')
    return x + 1
"""


def test_a_functions_prints_appear_live_under_the_cell_that_waits_and_once(notebook: Notebook) -> None:
    notebook.run(FUNCTION)
    assert notebook.run("job = jupysched.submit(work, 1)").text == ""
    waiting = notebook.send("job.result()")
    notebook.listen_until(lambda: "one" in waiting.stdout, within_s=30, what="the first line, while the function runs")
    assert "two" not in waiting.stdout
    with open(notebook.folder / "go", "w") as go:
        go.write("!")
    notebook.listen_until(lambda: waiting.idle_at, within_s=30, what="the result")
    assert (waiting.stdout, waiting.result) == ("one\ntwo\n", "\n2")
    again = notebook.run("job.wait(), job.result()")
    assert (again.stdout, again.result) == ("", "\n(True, 2)")


def test_a_submission_that_is_shown_has_its_prints_under_its_own_card(notebook: Notebook) -> None:
    notebook.run("import jupysched")
    seen = notebook.run("jupysched.submit(lambda: print('here'))", allow_stdin=True)
    ended(notebook, seen)
    assert seen.stdout == "here\n"
    assert seen.card is not None
    assert seen.card["state"] == "succeeded"
    assert notebook.run("_.result()").stdout == ""


def test_prints_of_what_had_ended_before_are_not_lost(notebook: Notebook) -> None:
    notebook.run("import jupysched, time\njob = jupysched.submit(lambda: print('early') or 3)")
    notebook.run("while job.state != 'succeeded': time.sleep(0.05)")
    seen = notebook.run("await job")
    assert (seen.stdout, seen.result) == ("early\n", "\n3")


def test_a_functions_error_shows_the_function_and_nothing_of_ours(notebook: Notebook) -> None:
    notebook.run("import jupysched\ndef bad():\n    print('before')\n    return 1 / 0")
    seen = notebook.run("job = jupysched.submit(bad)\njob.result()")
    assert seen.error is not None
    traceback = without_colours("\n".join(seen.error["traceback"]))
    assert (seen.stdout, seen.error["ename"]) == ("before\n", "ZeroDivisionError")
    assert "return 1 / 0" in traceback
    assert "jupysched_result" not in traceback
    shown = notebook.run("job.show()")
    assert shown.stdout == "before\n"
    assert shown.error is not None
    assert "jupysched_result" not in "".join(shown.error["traceback"])


def test_any_job_is_had_by_its_number_from_any_notebook(notebook: Notebook) -> None:
    notebook.run("import jupysched\njob = jupysched.submit(lambda: print('said') or {'a': 1})\njob.result()")
    notebook.run("%%gpujob --wait\nmade = [1]\nprint('cell')")
    first = int(notebook.run("print(job.id)").stdout)
    with Notebook("magic-number") as other:
        other.run(f"import jupysched\njob = jupysched.job({first})")
        seen = other.run("job.state, job.result(), [o['text'] for o in job.outputs], job.wait()")
        assert seen.result == "\n('succeeded', {'a': 1}, ['said\\n'], True)"
        assert other.run("job.show()").stdout == "said\n"
        assert other.run("jupysched.job('last').result()").result == "\n{'made': [1]}"
        shown = other.run("jupysched.job()")
        assert shown.card is not None
        assert (shown.card["job"], shown.stdout) == (first + 1, "")
        # A function's result is no variable of a notebook that asks for it.
        other.run("%load_ext jupysched")
        fetched = other.run(f"%gpujob fetch {first}")
        assert f"jupysched.job({first}).result()" in fetched.stdout
        assert other.evaluate({"a": "'jupysched_result' not in globals()"}) == {"a": "True"}
        wrong = other.run("jupysched.job('banana')")
        assert wrong.error is not None
        assert wrong.error["evalue"] == "'banana' names no job; expected its number, or 'last'."


def test_a_program_without_a_notebook_sees_the_same(own_home: Path, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import jupysched\ndef work(x):\n    print('in work')\n    return x * 2\n"
        "job = jupysched.submit(work, 4)\nprint(job.result())\njupysched.job(job.id).show()\n"
    )
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("job ")] == ["in work", "8", "in work"]
    assert "(work): succeeded" in done.stdout


def test_waiting_in_vain_is_a_sentence_and_the_job_goes_on(notebook: Notebook) -> None:
    notebook.run(FUNCTION)
    seen = notebook.run("job = jupysched.submit(work, 1)\njob.result(timeout=0)")
    assert seen.error is not None
    assert "\n".join(seen.error["traceback"]).count("\n") == 0
    caught = notebook.run(
        "try:\n    job.result(timeout=0)\nexcept TimeoutError as error:\n    print(error)\njob.cancel()"
    )
    assert "(work) is " in caught.stdout
    assert (caught.result or "").split(" · ")[2].startswith(("stopping", "cancelled"))


def test_threads_wait_as_well_and_print_nowhere(notebook: Notebook) -> None:
    notebook.run("import jupysched, time\nfrom concurrent.futures import ThreadPoolExecutor")
    seen = notebook.run(
        "def slow(x):\n    time.sleep(0.3)\n    print('slow', x)\n    return x\n"
        "jobs = [jupysched.submit(slow, n) for n in range(2)]\n"
        "with ThreadPoolExecutor() as pool:\n    found = list(pool.map(lambda job: job.result(), jobs))\nfound"
    )
    assert (seen.stdout, seen.result) == ("", "\n[0, 1]")
    again = notebook.run("import asyncio\nawait asyncio.gather(*jobs)")
    assert (sorted(again.stdout.splitlines()), again.result) == (["slow 0", "slow 1"], "\n[0, 1]")


def test_what_is_queued_again_prints_again_where_it_is_waited_for(notebook: Notebook) -> None:
    notebook.run("%load_ext jupysched\nimport jupysched\njob = jupysched.submit(lambda: print('once more') or 4)")
    assert notebook.run("job.result()").stdout == "once more\n"
    notebook.run("%gpujob requeue last")
    again = notebook.run("job.result()")
    assert (again.stdout, again.result) == ("once more\n", "\n4")


def test_stop_ends_the_waiting_and_not_the_job(notebook: Notebook) -> None:
    notebook.run(FUNCTION)
    seen = notebook.send("job = jupysched.submit(work, 1)\njob.result()")
    notebook.listen_until(lambda: "one" in seen.stdout, within_s=30, what="the function's beginning")
    notebook.interrupt()
    notebook.listen_until(lambda: seen.idle_at, within_s=30, what="the end of the waiting")
    assert seen.error is not None
    assert seen.error["ename"] == "KeyboardInterrupt"
    assert "goes on; its cancel() ends it." in seen.error["evalue"]
    assert len(seen.error["traceback"]) == 1
    with open(notebook.folder / "go", "w") as go:
        go.write("!")
    assert notebook.run("job.result()").result == "\n2"


def test_cancelling_what_is_over_says_so_and_harms_nothing(notebook: Notebook) -> None:
    notebook.run("import jupysched\njob = jupysched.submit(lambda: 1)\njob.result()")
    said = r"has ended already \(succeeded in 0:\d\d\); there is nothing to cancel\."
    assert re.search(said, notebook.run("job.cancel()").result or "")
    assert re.search(said, notebook.run("%gpujob cancel last").stdout)
    for verb in ("hold", "release", "priority high"):
        refused = notebook.run(f"%gpujob {verb} last")
        assert refused.error is not None
        assert "has ended already (succeeded)" in refused.error["evalue"]
    assert notebook.run("job.state").result == "\n'succeeded'"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("import os; os._exit(0)", []),
        (
            "import os, subprocess\nsubprocess.Popen(['sleep', '100'], start_new_session=True)\nos.kill(os.getpid(), 9)",
            ["1 process that it had started was ended with it."],
        ),
    ],
)
def test_a_process_that_died_is_said_to_have_brought_nothing_back(
    notebook: Notebook, body: str, said: list[str]
) -> None:
    seen = notebook.run(f"%%gpujob --wait\nx = 1\n{body}")
    lost = "Its process ended before it could bring anything back: what the cell had changed is lost."
    assert seen.stderr.splitlines() == [lost, *said]
    assert seen.card is not None
    assert seen.card["notes"] == [lost, *said]
    assert "SIGKILL" in seen.card["why"] or "exit code 0" in seen.card["why"]


def test_after_a_failed_job_the_debugger_has_nothing_of_ours(notebook: Notebook) -> None:
    notebook.run("%%gpujob --wait\n1 / 0")
    seen = notebook.run("%debug")
    assert seen.error is None
    assert "nothing to debug" in seen.stderr
    assert "jupysched" not in seen.text
