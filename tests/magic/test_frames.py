"""After an error of a job or of ours, a debugger finds the user's own frames or none."""

import sys
from typing import Any

import pytest

from jupysched import magic
from jupysched.magic.desk import Desk
from jupysched.magic.frames import RESULT, without_call


@pytest.fixture
def loaded(shell: Any, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The shell, with the magics."""
    monkeypatch.setattr("jupysched.magic.upkeep.begin_upkeep", lambda: None)
    magic.load(shell)
    yield shell
    magic.unload(shell)


def functions() -> list[str]:
    """The functions in which a debugger could stop, from the outermost on."""
    found, link = [], sys.last_traceback
    while link is not None:
        found.append(link.tb_frame.f_code.co_name)
        link = link.tb_next
    return found


def test_where_only_a_magic_called_us_there_is_nothing_to_debug(loaded: Any) -> None:
    loaded.run_cell("1 / 0")
    assert functions()
    loaded.run_cell("%%gpujob --gpus banana\nx = 1")
    assert not hasattr(sys, "last_traceback")
    assert not hasattr(sys, "last_value")


def test_where_a_function_of_the_user_called_us_it_is_the_last_frame(loaded: Any) -> None:
    loaded.run_cell("import jupysched\ndef mine():\n    mine_too = 1\n    jupysched.submit(5)\nmine()")
    assert functions()[-2:] == ["<module>", "mine"]


def test_an_error_of_the_user_keeps_all_its_frames(loaded: Any) -> None:
    loaded.run_cell("def mine():\n    return 1 / 0\nmine()")
    assert functions()[-1] == "mine"


def test_the_line_that_calls_a_submitted_function_is_not_the_users() -> None:
    lines = [
        "head",
        f"\x1b[32mIn[9]\x1b[39m\n----> 1 {RESULT} = \x1b[31mjupysched_call\x1b[39m[0]()",
        "def f(): 1/0",
        "tail",
    ]
    assert without_call(lines) == ["head", "def f(): 1/0", "tail"]
