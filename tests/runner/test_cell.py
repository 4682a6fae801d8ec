"""A cell in a job shows and brings back what it would in the notebook."""

import pytest

from tests.runner.node import Node

pytestmark = pytest.mark.leaky


def test_text_displays_and_result_stand_in_the_order_in_which_they_were_made(node: Node) -> None:
    cell = """
import os
print("one")
display({"text/plain": "shown"}, raw=True)
os.write(1, b"two\\n")
display({"text/plain": "again"}, raw=True)
print("three")
40 + 2
"""
    job = node.run(cell)
    assert job.sequence() == [
        "text:one\n",
        "display_data",
        "text:two\n",
        "display_data",
        "text:three\n",
        "execute_result",
    ]
    assert job.messages("execute_result")[0] == {"data": {"text/plain": "42"}, "metadata": {}, "execution_count": 5}


def test_many_displays_between_many_lines_keep_their_places(node: Node) -> None:
    cell = "for i in range(300):\n    print(i)\n    display({'text/plain': str(i) * 3000}, raw=True)"
    job = node.run(cell)
    expected = [part for i in range(300) for part in (f"text:{i}\n", "display_data")]
    assert job.sequence() == expected
    assert [m["data"]["text/plain"] for m in job.messages("display_data")] == [str(i) * 3000 for i in range(300)]


@pytest.mark.parametrize(("interactivity", "results"), [("last_expr", ["'b'"]), ("all", ["1", "'b'"]), ("none", [])])
def test_the_notebooks_interactivity_holds(node: Node, interactivity: str, results: list[str]) -> None:
    job = node.run("1\n'b'", interactivity=interactivity)
    assert [m["data"]["text/plain"] for m in job.messages("execute_result")] == results


def test_a_semicolon_hides_the_result(node: Node) -> None:
    assert node.run("1 + 1;").messages("execute_result") == []


def test_displays_are_updated_and_cleared_as_a_kernel_says_it(node: Node) -> None:
    cell = """
from IPython.display import clear_output, display
handle = display({"text/plain": "a"}, raw=True, display_id="here")
handle.update({"text/plain": "b"}, raw=True)
clear_output(wait=True)
"""
    job = node.run(cell)
    assert [m["transient"] for m in job.messages("display_data")] == [{"display_id": "here"}]
    assert [m["data"] for m in job.messages("update_display_data")] == [{"text/plain": "b"}]
    assert job.messages("clear_output") == [{"wait": True}]


def test_an_error_has_the_lines_of_the_cell_and_goes_out_as_a_message_too(node: Node) -> None:
    job = node.run("x = 1\ndef broken():\n    return x / 0\nbroken()")
    assert (job.outcome, job.end["ename"], job.end["evalue"]) == ("error", "ZeroDivisionError", "division by zero")
    assert "Cell In[5], line 4" in job.error_text()
    assert "----> 3     return x / 0" in job.error_text()
    assert job.messages("error") == [{key: job.end[key] for key in ("ename", "evalue", "traceback")}]
    assert job.exit is not None
    assert job.exit["code"] == 1
    assert job.landed()["x"] == 1


def test_a_syntax_error_names_the_line(node: Node) -> None:
    cell = node.job("x = 1")
    launch = (cell.directory / "launch.json").read_text().replace('"x = 1"', '"x = 1\\ny = ("')
    (cell.directory / "launch.json").write_text(launch)
    cell.start()
    cell.follow()
    assert cell.end["ename"] == "SyntaxError"
    assert "line 2" in cell.error_text()


def test_an_exception_group_keeps_its_name(node: Node) -> None:
    assert node.run("raise ExceptionGroup('several', [ValueError(1)])").end["ename"] == "ExceptionGroup"


def test_top_level_await_works(node: Node) -> None:
    job = node.run("import asyncio\nx = await asyncio.sleep(0.01, result=7)\nx")
    assert job.messages("execute_result")[0]["data"]["text/plain"] == "7"


def test_magics_and_shell_lines_work(node: Node) -> None:
    cell = "%cd /tmp\n!echo from shell\nlines = !echo a; echo b\n%env SOME_NAME=v\nprint(lines)\n%timeit -n1 -r1 pass"
    job = node.run(cell)
    assert job.outcome == "ok"
    assert "from shell" in job.stdout
    assert "['a', 'b']" in job.stdout
    assert "per loop" in job.stdout


def test_warnings_look_as_in_a_kernel(node: Node) -> None:
    job = node.run("import warnings\nwarnings.warn('old', DeprecationWarning)\nwarnings.warn('mind')")
    assert "5.py:2: DeprecationWarning: old\n  warnings.warn('old', DeprecationWarning)\n" in job.stderr
    assert "UserWarning: mind" in job.stderr


def test_input_fails_at_once_and_says_why(node: Node) -> None:
    job = node.run("from getpass import getpass\nname = input('name? ')")
    assert job.end["ename"] == "StdinNotImplementedError"
    assert "input() is not available in a queued job" in job.end["evalue"]
    assert job.end["notes"] == []


def test_input_is_answered_where_the_front_end_allows_it(node: Node) -> None:
    job = node.job("name = input('name? ')\nprint('hello', name)", allow_stdin=True)
    job.start()
    with job.read_until('"prompt": "name? "'):
        job.tell(op="input", id=1, value="Ada")
        job.follow()
    assert job.stdout == "hello Ada\n"


@pytest.mark.parametrize("leave", ["import sys; sys.exit(0)", "import sys; sys.exit()", "exit()", "quit()"])
def test_a_deliberate_exit_is_a_good_end_without_a_word(node: Node, leave: str) -> None:
    job = node.run(f"best = 0.9\n{leave}\nbest = 0")
    assert (job.outcome, job.stderr, job.messages("error")) == ("ok", "", [])
    assert job.landed()["best"] == 0.9


@pytest.mark.parametrize(("code", "exit_code"), [("3", 3), ("'no data folder'", 1), ("300", 1)])
def test_another_exit_is_an_error(node: Node, code: str, exit_code: int) -> None:
    job = node.run(f"import sys\npart = [1]\nsys.exit({code})")
    assert (job.outcome, job.end["ename"], job.end["exit_code"]) == ("error", "SystemExit", exit_code)
    assert job.end["evalue"] == code.strip("'")
    assert job.landed()["part"] == [1]


def test_threads_that_are_not_daemons_are_waited_for(node: Node) -> None:
    cell = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
pool = ThreadPoolExecutor(1)
pool.submit(lambda: (time.sleep(0.2), print("pooled")))
threading.Thread(target=lambda: (time.sleep(0.3), print("late"))).start()
threading.Thread(target=lambda: time.sleep(60), daemon=True).start()
print("main")
"""
    job = node.run(cell)
    assert job.stdout.split() == ["main", "pooled", "late"]


def test_exit_functions_run_and_their_words_are_kept(node: Node) -> None:
    assert node.run("import atexit\natexit.register(print, 'bye')\nprint('body')").stdout == "body\nbye\n"


def test_a_forked_child_that_falls_out_of_the_cell_is_not_the_job(node: Node) -> None:
    cell = """
import os
child = os.fork() == 0
if not child:
    os.wait()
    print("parent")
x = 1
if child:
    raise ValueError("in the child")
"""
    job = node.run(cell)
    assert (job.outcome, job.stdout, job.messages("error")) == ("ok", "parent\n", [])
    assert "ValueError" in job.stderr


def test_closing_the_standard_descriptors_costs_nothing(node: Node) -> None:
    job = node.run("import os\nos.close(1); os.close(2)\nz = 3\nz")
    assert job.outcome == "ok"
    assert job.landed()["z"] == 3
    assert len(job.messages("execute_result")) == 1


def test_the_main_module_is_the_cells(node: Node) -> None:
    cell = "import sys\nx = 5\nprint(__name__, sys.modules['__main__'].x, sys.argv, get_ipython() is not None, '__file__' in globals())"
    assert node.run(cell).stdout == "__main__ 5 ['kernel'] True False\n"


def test_figures_are_shown_by_show_and_at_the_end(node: Node) -> None:
    cell = "import matplotlib.pyplot as plt\nplt.plot([1]); plt.show()\nprint('between')\nplt.plot([2]);"
    job = node.run(cell)
    assert job.sequence() == ["display_data", "text:between\n", "display_data"]
    assert all(m["data"]["image/png"].startswith("iVBOR") for m in job.messages("display_data"))


@pytest.mark.parametrize("module", ["tqdm.auto", "tqdm.notebook"])
def test_bars_are_text_because_no_browser_listens(node: Node, module: str) -> None:
    job = node.run(
        f"from {module} import tqdm, trange\nfor i in tqdm(range(3), desc='bar'): pass\nfor i in trange(2): pass"
    )
    assert (job.outcome, job.messages("display_data")) == ("ok", [])
    assert "bar: 100%" in job.stderr
    assert "3/3" in job.stderr


def test_text_inside_an_output_widget_is_not_lost(node: Node) -> None:
    job = node.run("import ipywidgets as w\nout = w.Output()\ndisplay(out)\nwith out:\n    print('inside')")
    assert job.stdout == "inside\n"
    assert all("widget-view" not in mime for m in job.messages("display_data") for mime in m["data"])


def test_broken_unicode_and_odd_metadata_never_raise(node: Node) -> None:
    cell = """
print("surr[\\ud800]")
display({"text/plain": "\\ud800", "application/x": {1: float("nan"), "s": {1, 2}}}, raw=True)
raise RuntimeError("bad \\ud8ff")
"""
    job = node.run(cell)
    assert job.end["ename"] == "RuntimeError"
    assert job.stdout == "surr[\\ud800]\n"
    assert job.messages("display_data")[0]["data"]["application/x"] == {"1": "nan", "s": [1, 2]}


def test_a_fault_in_c_leaves_a_trace_under_the_cell(node: Node) -> None:
    job = node.run("import ctypes\nprint('about to crash')\nctypes.string_at(0)")
    assert job.exit is not None
    assert (job.exit["code"], job.exit["signal"], job.exit["end"]) == (None, 11, None)
    assert job.stdout == "about to crash\n"
    assert "Segmentation fault" in job.stderr
    assert '5.py", line 3' in job.stderr


def test_spawned_children_find_what_the_cell_and_the_notebook_defined(node: Node) -> None:
    scope: dict[str, object] = {"__name__": "__main__"}
    exec("RATE = 3\ndef scale(x):\n    return x * RATE", scope)
    names = {name: scope[name] for name in ("scale", "RATE")}
    cell = """
import multiprocessing as mp
print("body")
OFFSET = 1
def f(x):
    return scale(x) + OFFSET
with mp.get_context("spawn").Pool(1) as pool:
    print(pool.map(f, [1, 2]))
"""
    assert node.run(cell, names).stdout == "body\n[4, 7]\n"


def test_metrics_are_frames_of_their_own(node: Node) -> None:
    job = node.run(
        "import jupysched\njupysched.log(step=1, loss=0.5, worst=float('inf'))\nprint(jupysched.should_stop())"
    )
    import json

    (metrics,) = [json.loads(frame.payload) for frame in job.frames if frame.kind == 4]
    assert (metrics["step"], metrics["values"]) == (1, {"loss": 0.5, "worst": "inf"})
    assert job.stdout == "False\n"


def test_a_checkpoint_is_there_for_the_next_attempt(node: Node) -> None:
    job = node.run("import jupysched\nprint(jupysched.restored('none'))\njupysched.checkpoint({'epoch': 3})")
    assert job.stdout == "none\n"
    job.start(attempt=2)
    from tests.waiting import eventually

    eventually((job.path(2) / "exit.json").exists)
    assert b"{'epoch': 3}" in (job.path(2) / "frames").read_bytes()


def test_a_magics_complaint_is_one_line_and_no_traceback(node: Node) -> None:
    job = node.run("%no_such_magic")
    assert (job.outcome, job.end["ename"]) == ("error", "UsageError")
    assert job.messages("error") == []
    assert "UsageError: Line magic function" in job.stderr


def test_a_refused_question_is_shown_where_the_cell_asked(node: Node) -> None:
    job = node.run("input('who? ')")
    assert "input('who? ')" in job.error_text()
    assert "jupysched" not in job.error_text()


def test_a_name_that_should_come_back_and_is_not_there_is_named(node: Node) -> None:
    job = node.run("a = 1", out_names=["a", "b"])
    assert job.end["notes"] == ["'b' did not come back: there is no such variable at the end of the cell."]
