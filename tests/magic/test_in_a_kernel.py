"""A notebook cell as a job, for real: kernel, daemon, runner, and what a person would see."""

import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from jupysched.client import Client
from tests.cases.notebook import Notebook
from tests.cases.outputs import without_colours
from tests.magic.kernel import ended

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives for the whole file, and its zygote forks a pair ahead of each job"),
]


def test_a_waiting_cell_is_a_cell(notebook: Notebook) -> None:
    notebook.run("x = 1")
    seen = notebook.run("%%gpujob --wait\nx += 1\nprint('hello')\nx")
    assert (seen.stdout, seen.result, seen.error) == ("hello\n", "\n2", None)
    assert notebook.evaluate({"x": "x == 2"}) == {"x": "True"}
    assert seen.card is not None
    assert seen.card["state"] == "succeeded"
    assert seen.card["returned"] == ["x"]


def test_a_failed_cell_fails_alike_and_its_variables_come_back(notebook: Notebook) -> None:
    plain = notebook.run("def f(a):\n    return a / 0\ny = 5\nf(1)")
    notebook.run("del y")
    job = notebook.run("%%gpujob --wait\ny = 5\nf(1)")
    assert plain.error is not None
    assert job.error is not None
    assert (job.error["ename"], job.error["evalue"]) == (plain.error["ename"], plain.error["evalue"])
    traceback = without_colours("\n".join(job.error["traceback"]))
    assert "return a / 0" in traceback
    assert "jupysched" not in traceback
    assert notebook.evaluate({"y": "y == 5"}) == {"y": "True"}


def test_a_detached_cell_returns_at_once_and_fills_while_others_run(notebook: Notebook) -> None:
    first = notebook.run(
        "%%gpujob\nimport time\nfor i in range(5):\n    print(i)\n    time.sleep(0.1)\nz = i\nz", allow_stdin=True
    )
    assert first.stdout != "0\n1\n2\n3\n4\n"
    other = notebook.run("print('other')")
    assert other.stdout == "other\n"
    ended(notebook, first)
    assert (first.stdout, first.result) == ("0\n1\n2\n3\n4\n", "\n4")
    assert notebook.evaluate({"z": "z == 4"}) == {"z": "True"}
    assert other.stdout == "other\n"


def test_clear_output_and_display_updates_work_in_a_detached_cell(notebook: Notebook) -> None:
    seen = notebook.run(
        "%%gpujob\nfrom IPython.display import clear_output, display\nprint('gone')\nclear_output(wait=True)\n"
        "h = display('first', display_id=True)\nh.update('second')", allow_stdin=True,
    )  # fmt: skip
    ended(notebook, seen)
    assert [bundle["text/plain"] for bundle in seen.displays] == ["'second'"]
    assert "gone" not in seen.text


def test_no_handle_enters_the_outputs_and_it_is_reachable(notebook: Notebook) -> None:
    seen = notebook.run("%%gpujob --name reach\nw = 3", allow_stdin=True)
    assert seen.result is None
    ended(notebook, seen)
    notebook.run("import jupysched\njob = jupysched.jobs()[-1]\nvalue = job.result()")
    assert notebook.evaluate(
        {"a": "job.name == 'reach'", "b": "job.state == 'succeeded'", "c": "value == {'w': 3}"}
    ) == dict.fromkeys("abc", "True")


def test_an_interrupt_cancels_and_variables_so_far_come_back(notebook: Notebook) -> None:
    started = time.monotonic()
    seen = notebook.run(
        "%%gpujob --wait\nimport time\nn = 0\nprint('looping')\nwhile True:\n    n += 1\n    time.sleep(0.02)",
        interrupts_s=(1.5,),
    )
    assert seen.error is not None
    assert seen.error["ename"] == "KeyboardInterrupt"
    assert seen.stdout == "looping\n"
    assert time.monotonic() - started < 10
    assert notebook.evaluate({"n": "n > 3"}) == {"n": "True"}
    assert seen.card is not None
    assert seen.card["state"] == "cancelled"


def test_a_second_interrupt_ends_what_ignores_the_first(notebook: Notebook) -> None:
    seen = notebook.run(
        "%%gpujob --wait\nimport time, signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\ntime.sleep(60)",
        interrupts_s=(1.5, 2.5, 3.5),
    )
    assert seen.error is not None
    assert seen.error["ename"] == "KeyboardInterrupt"
    assert seen.idle_at is not None
    assert seen.idle_at - seen.asked_at < 15


def test_input_is_asked_for_in_the_notebook_when_the_cell_waits(notebook: Notebook) -> None:
    seen = notebook.send("%%gpujob --wait\nwho = input('name? ')\nprint('hello', who)", allow_stdin=True)
    deadline = time.monotonic() + 30
    while not notebook._client.stdin_channel.msg_ready():
        assert time.monotonic() < deadline
        notebook.listen(wait_s=0.05)
    question = notebook._client.get_stdin_msg(timeout=5)
    assert question["content"]["prompt"] == "name? "
    notebook._client.input("ann")
    notebook.listen_until(lambda: seen.idle_at, within_s=30, what="the end")
    assert seen.stdout == "hello ann\n"


def test_after_a_restart_another_kernel_attaches(notebook: Notebook) -> None:
    with Notebook("magic-other") as other:
        other.run("%load_ext jupysched\nbase = 10")
        submitting = other.run(
            "%%gpujob --name far\nimport time\nfor i in range(6):\n    print('line', i)\n    time.sleep(0.1)\nfar = base + i",
            allow_stdin=True,
        )
        assert submitting.card is not None
        number = submitting.card["job"]
        other.close()
        # That kernel is gone; its job is not.
        seen = notebook.run(f"%gpujob attach {number} --wait")
    assert seen.stdout == "".join(f"line {i}\n" for i in range(6))
    assert notebook.evaluate({"far": "far == 15"}) == {"far": "True"}
    fetched = notebook.run(f"del far\n%gpujob fetch {number}")
    assert "far" in fetched.stdout
    assert notebook.evaluate({"far": "far == 15"}) == {"far": "True"}


def test_a_daemon_that_goes_away_is_brought_back_and_nothing_is_lost(notebook: Notebook) -> None:
    seen = notebook.run(
        "%%gpujob\nimport time\nfor i in range(15):\n    print('line', i)\n    time.sleep(0.1)\nkept = i",
        allow_stdin=True,
    )
    notebook.listen_until(lambda: "line 2" in seen.stdout, within_s=20, what="the first lines")
    with Client(start=False) as client:
        client.shutdown()
    ended(notebook, seen)
    assert seen.stdout == "".join(f"line {i}\n" for i in range(15))
    assert seen.card is not None
    assert seen.card["state"] == "succeeded"
    assert notebook.evaluate({"kept": "kept == 14"}) == {"kept": "True"}


def test_a_function_is_submitted_and_awaited(notebook: Notebook) -> None:
    notebook.run("import jupysched\nk = 2\ndef double(a, plus=0):\n    return a * k + plus")
    seen = notebook.run("job = jupysched.submit(double, 20, kwargs={'plus': 2}, gpus=1, time='1h')\nawait job")
    assert seen.error is None
    assert seen.result == "\n42"


def test_a_cell_that_fails_in_a_function_says_so_when_awaited(notebook: Notebook) -> None:
    notebook.run("import jupysched\ndef bad():\n    raise ValueError('no')")
    seen = notebook.run("jupysched.submit(bad).result()")
    assert seen.error is not None
    assert (seen.error["ename"], seen.error["evalue"]) == ("ValueError", "no")


def test_a_hundred_thousand_lines_arrive_whole(notebook: Notebook) -> None:
    seen = notebook.run("%%gpujob\nfor i in range(100_000): print(i)", allow_stdin=True)
    ended(notebook, seen, within_s=60)
    assert seen.stdout == "".join(f"{i}\n" for i in range(100_000))


def test_a_kernel_with_a_live_job_ends_at_once(own_home: Path) -> None:
    with Notebook("magic-exit") as other:
        other.run("%load_ext jupysched")
        other.run("%%gpujob\nimport time\ntime.sleep(2)", allow_stdin=True)
        started = time.monotonic()
        other.close()
        assert time.monotonic() - started < 3


def test_a_forked_child_says_nothing_under_the_cell(notebook: Notebook) -> None:
    seen = notebook.run(
        "%%gpujob\nimport time\nfor i in range(5):\n    print(i)\n    time.sleep(0.1)", allow_stdin=True
    )
    notebook.run(
        "import os\npid = os.fork()\nif pid == 0:\n    import time; time.sleep(0.3); os._exit(0)\nos.waitpid(pid, 0)"
    )
    ended(notebook, seen)
    assert seen.stdout == "0\n1\n2\n3\n4\n"


def test_a_notebook_that_is_executed_without_a_reader_waits_and_keeps_everything(
    own_home: Path, tmp_path: Path
) -> None:
    cells = [
        "%load_ext jupysched\nx = 1",
        "%%gpujob\nimport time\ntime.sleep(0.3)\nprint('printed')\nx += 1\nx",
        "assert x == 2",
    ]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(made, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [output["output_type"] for output in made.cells[1].outputs]
    assert kinds == ["display_data", "stream", "execute_result"]
    shown = made.cells[1].outputs[0]["data"]
    assert "succeeded" in shown["text/plain"]
    assert "x is back in the notebook." in shown["text/html"]
    nbformat.validate(made)
