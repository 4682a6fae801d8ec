"""The CSV of a panel, as the page's own JavaScript writes it."""

import csv
import io
import json
import shutil
import subprocess
from typing import Any

import pytest

from jupysched.panels.files import AS_CSV

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node runs the page's JavaScript")


def written(*sources: tuple[str, dict[str, list[Any]]]) -> list[list[str]]:
    given = json.dumps([[label, {"data": data}] for label, data in sources])
    code = f"const sources = {given};\n{AS_CSV}\nprocess.stdout.write(text);"
    ran = subprocess.run(["node", "-e", code], capture_output=True, check=True)
    return list(csv.reader(io.StringIO(ran.stdout.decode(), newline="")))


def test_times_are_readable_and_what_is_unknown_is_empty() -> None:
    rows = written(
        ("", {"time": [1_800_000_000_000, 1_800_000_001_500], "value": [0.5, None], "_colour": ["red", "blue"]})
    )
    assert rows == [["time", "value"], ["2027-01-15T08:00:00.000Z", "0.5"], ["2027-01-15T08:00:01.500Z", ""]]


def test_series_of_the_same_columns_are_one_table_and_others_begin_another() -> None:
    rows = written(("GPU 0", {"a": [1]}), ("GPU 1", {"a": [2, 3]}), ("", {"job": [7], "name": ["n"]}))
    assert rows == [["series", "a"], ["GPU 0", "1"], ["GPU 1", "2"], ["GPU 1", "3"], [], ["job", "name"], ["7", "n"]]


def test_a_row_of_nothing_is_left_out() -> None:
    assert written(("GPU 0", {"time": [None], "a": [None]})) == [["series", "time", "a"]]


@pytest.mark.parametrize("name", ["=cmd|'/c calc'!A1", "+1", "-1", "@x", "\tx", "\rx"])
def test_a_name_never_becomes_a_formula(name: str) -> None:
    assert written(("", {"name": [name]})) == [["name"], ["'" + name]]


@pytest.mark.parametrize("name", ['say "hi", twice', "two\nlines", "a,b", "\u202eevil", "<img onerror>"])
def test_any_name_comes_back_as_it_was(name: str) -> None:
    assert written((name, {"name": [name]})) == [["series", "name"], [name, name]]


def test_a_negative_number_is_a_number() -> None:
    assert written(("", {"value": [-1.5]})) == [["value"], ["-1.5"]]
