"""Whoever imports jupysched, or walks through one of its doors, pays for that door alone."""

import json
import subprocess
import sys

import pytest

from tests.house.source import ROOT

#: What a job, a kernel and a server extension must not pay for because jupysched is there.
HEAVY = ("IPython", "asyncio", "bokeh", "dask", "dask_cuda", "distributed", "ipykernel", "jupyter_server", "msgspec", "numpy", "pandas",
         "pynvml", "sqlite3", "tornado", "torch")  # fmt: skip
#: Never needed on the side of the user.
CLUSTER = ("cuda", "dask", "dask_cuda", "distributed", "torch")


def loaded_by(code: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter has loaded after the code."""
    ask = f"{code}\nimport sys, json; print(json.dumps(sorted({{name.partition('.')[0] for name in sys.modules}})))"
    ran = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


def test_importing_jupysched_loads_nothing_heavy() -> None:
    assert loaded_by("import jupysched; jupysched.__version__") & set(HEAVY) == set()


@pytest.mark.slow
def test_what_jupyter_asks_at_start_loads_nothing_heavy() -> None:
    assert loaded_by("import jupysched; jupysched._jupyter_labextension_paths()") & set(HEAVY) == set()
    asked = loaded_by("import jupysched; jupysched._jupyter_server_extension_points()")
    assert asked & {*CLUSTER, "bokeh", "numpy", "pandas"} == set()


@pytest.mark.parametrize("door", ["log", "checkpoint", "restored", "should_stop"])
def test_the_doors_of_a_job_load_nothing_heavy(door: str) -> None:
    assert loaded_by(f"import jupysched; jupysched.{door}") & set(HEAVY) == set()


@pytest.mark.slow
@pytest.mark.parametrize("module", ["jupysched.client", "jupysched.magic", "jupysched.server", "jupysched.cli"])
def test_the_side_of_the_user_never_loads_dask_or_torch(module: str) -> None:
    assert loaded_by(f"import {module}") & set(CLUSTER) == set()


def test_every_door_opens() -> None:
    import jupysched

    shut = []
    for name in jupysched.__all__:
        try:
            getattr(jupysched, name)
        except (AttributeError, ImportError) as problem:
            shut.append(f"{name}: {problem}")
    assert shut == []


def test_what_is_not_there_is_said_as_python_says_it() -> None:
    import jupysched

    with pytest.raises(AttributeError, match="module 'jupysched' has no attribute 'sumbit'"):
        jupysched.sumbit  # noqa: B018  asking is the test
