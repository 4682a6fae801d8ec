"""What a cell shows as its result is `_` and `Out[n]` in the notebook, as after a plain cell."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.cases.notebook import Notebook
from tests.magic.kernel import ended

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives for the whole file, and its zygote forks a pair ahead of each job"),
]


def holds(notebook: Notebook, *expressions: str) -> None:
    """Each expression is true in the notebook."""
    asked = {f"e{i}": expression for i, expression in enumerate(expressions)}
    answers = notebook.evaluate(asked)
    assert {asked[name]: answer for name, answer in answers.items()} == dict.fromkeys(expressions, "True")


def test_the_value_is_kept_as_after_a_plain_cell_and_aliases_hold(notebook: Notebook) -> None:
    notebook.run("model = [1]; here = get_ipython().execution_count")
    seen = notebook.run("%%gpujob --wait\nmodel.append(2)\nmade = {'m': model}\n[model, made]")
    assert seen.result == "\n[[1, 2], {'m': [1, 2]}]"
    holds(
        notebook, "_ is Out[here]", "globals()[f'_{here}'] is _", "_[0] is model", "_[1] is made", "made['m'] is model",
        "model == [1, 2]",
    )  # fmt: skip
    notebook.run("%%gpujob --wait\nmodel")
    holds(notebook, "_ is model", "Out[here + 1] is model", "__ is Out[here]")
    assert notebook.run("_").result == "\n[1, 2]"


def test_a_cell_without_a_result_leaves_the_last_one_alone(notebook: Notebook) -> None:
    notebook.run("'before'")
    notebook.run("%%gpujob --wait\nx = 1")
    notebook.run("%%gpujob --wait\nx + 1;")
    notebook.run("%%gpujob --wait --out x\nx += 1\n'not asked for'")
    holds(notebook, "_ == 'before'", "x == 2")
    notebook.run("%%gpujob --wait --out _\nx += 1\n'asked for'")
    holds(notebook, "_ == 'asked for'", "x == 2")


def test_what_cannot_travel_is_said_and_costs_only_itself(notebook: Notebook) -> None:
    seen = notebook.run("%%gpujob --wait\ny = 3\n(n for n in 'ab')")
    assert "The value of the cell's last line did not come back: a generator can't travel." in seen.stderr
    assert seen.error is None
    holds(notebook, "y == 3")


def test_a_detached_cell_is_kept_when_it_lands_and_takes_nothing_from_later_cells(notebook: Notebook) -> None:
    notebook.run("import os; here = get_ipython().execution_count; os.mkfifo('one'); os.mkfifo('two')")
    first = notebook.run("%%gpujob\nopen('one').read()\n'late'", allow_stdin=True)
    second = notebook.run("%%gpujob\nopen('two').read()\n'later'", allow_stdin=True)
    notebook.run("'mine'")
    notebook.run("for name in ('one', 'two'):\n    with open(name, 'w') as go:\n        go.write('!')")
    for seen in (first, second):
        ended(notebook, seen)
    notebook.listen_until(
        lambda: notebook.evaluate({"a": "here in Out and here + 1 in Out"}) == {"a": "True"},
        within_s=20,
        what="landing",
    )
    holds(notebook, "Out[here] == 'late'", "Out[here + 1] == 'later'", "_ == 'mine'")
    third = notebook.run("%%gpujob\n'newest'", allow_stdin=True)
    ended(notebook, third)
    notebook.run("pass")
    holds(notebook, "_ == 'newest'", "__ == 'mine'")


def test_a_figure_is_shown_once(notebook: Notebook) -> None:
    notebook.run("%matplotlib inline\nimport matplotlib.pyplot as plt")
    seen = notebook.run("%%gpujob --wait\nplt.plot([1, 2])")
    after = notebook.run("kept = _[0].figure")
    assert [len([d for d in shown.displays if "image/png" in d]) for shown in (seen, after)] == [1, 0]
    holds(notebook, "len(kept.axes) == 1", "not plt.get_fignums()")


def test_a_notebook_without_a_reader_goes_on_with_the_value(own_home: Path, tmp_path: Path) -> None:
    cells = ["%load_ext jupysched", "%%gpujob\nsum(range(5))", "assert _ == 10 and Out[2] is _\n_ + 1"]
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    NotebookClient(made, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}).execute()
    result = made.cells[1].outputs[-1]
    assert (result["output_type"], result["execution_count"], made.cells[1].execution_count) == ("execute_result", 2, 2)
    assert made.cells[2].outputs[0]["data"]["text/plain"] == "11"


def test_attaching_keeps_it_under_the_cell_that_attached(notebook: Notebook) -> None:
    notebook.run("%%gpujob --wait --name kept\nvalue = [1]\nvalue")
    notebook.run("%reset -f\n%reload_ext jupysched\nhere = get_ipython().execution_count")
    with Notebook("magic-attached") as other:
        other.run("%load_ext jupysched")
        seen = other.run("%gpujob attach last --wait")
        assert seen.result == "\n[1]"
        holds(other, "Out[2] is value", "_ is value")
