"""`jupysched submit FILE args` runs the file as `python FILE args` would, and `--wait` ends as it ends."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from jupysched import cli
from jupysched.client import Client
from tests.leaks import temporary_home
from tests.waiting import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.real_time,
    pytest.mark.leaky("the daemon lives for the whole file"),
]

COMMAND = [sys.executable, "-c", "import sys; from jupysched.cli import main; sys.exit(main())", "submit"]
PROGRAM = '''"""What it is."""
from __future__ import annotations
import json, multiprocessing, os, sys
import beside

def square(x: Unknown) -> None:
    return x * x

if __name__ == "__main__":
    found = [sys.argv, __name__, __file__, __doc__, os.getcwd(), sys.path[0], beside.x]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found.append(pool.map(square, [3]))
    print(json.dumps(found))
    print("aside", file=sys.stderr)
    kept = open(__file__)
    if len(sys.argv) > 2:
        sys.exit(int(sys.argv[2]))
"a value that nobody prints"
'''


@pytest.fixture(scope="module", autouse=True)
def house():
    with temporary_home() as home, pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYSCHED_HOME", str(home))
        patch.setenv("JUPYSCHED_CPU_SLOTS", "2")
        yield home


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "program.py").write_text(PROGRAM)
    (tmp_path / "inner" / "beside.py").write_text("x = 'found'\n")
    return tmp_path


def submitted(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command, run in this folder."""
    return subprocess.run([*COMMAND, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def test_a_file_finds_what_python_would_have_given_it(folder: Path) -> None:
    words = ("inner/program.py", "--gpus", "0", "-x")
    plain = subprocess.run(
        [sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    job = submitted(folder, "--wait", "--time", "1h", *words)
    assert (job.stdout, job.returncode) == (plain.stdout, plain.returncode)
    assert json.loads(job.stdout)[0] == list(words)
    assert "aside\n" in job.stderr
    assert "--gpus goes to inner/program.py; what is meant for the job stands before the file." in job.stderr


def test_nothing_of_a_program_is_kept_unless_it_is_asked_for(folder: Path) -> None:
    (folder / "made.py").write_text("x, y = 1, open(__file__)\n")
    assert submitted(folder, "--wait", "made.py").returncode == 0
    assert submitted(folder, "--wait", "--out", "x", "made.py").returncode == 0
    with Client() as client:
        newest = sorted(client.jobs().jobs, key=lambda job: job.id)[-2:]
        assert [job.exit.returned if job.exit else None for job in newest] == [[], ["x"]]


@pytest.mark.parametrize(
    ("body", "code", "said"),
    [
        ("import sys; sys.exit(3)", 3, "SystemExit: 3"),
        ("def f():\n    return 1 / 0\nf()", 1, "ZeroDivisionError: division by zero"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL"),
    ],
)
def test_a_program_that_fails_is_told_by_the_exit_code_and_a_sentence(
    folder: Path, body: str, code: int, said: str
) -> None:
    (folder / "fails.py").write_text(body)
    job = submitted(folder, "--wait", "fails.py")
    assert job.returncode == code
    assert re.search(rf"jupysched: job \d+ \(fails\.py\) failed after 0:\d\d: .*{said}", job.stderr)
    if "1 / 0" in body:
        assert f"{folder}/fails.py:2" in job.stderr
        assert "\x1b" not in job.stderr


def test_an_interrupt_cancels_what_is_waited_for(folder: Path) -> None:
    (folder / "endless.py").write_text("print('began', flush=True)\nwhile True: pass\n")
    with subprocess.Popen(
        [*COMMAND, "--wait", "endless.py"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == "began\n"
        waiting.send_signal(signal.SIGINT)
        _, said = waiting.communicate(timeout=60)
    assert waiting.returncode == 130
    assert "Traceback" not in said
    number = int(re.findall(r"job (\d+)", said)[-1])
    with Client() as client:
        eventually(lambda: client.job(number).state == "cancelled", what="the end of the job")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bad.py",), "bad.py is no Python program: line 2: '(' was never closed. x = ("),
        (("nope.py",), "nope.py cannot be read: No such file or directory."),
        (("inner",), "inner cannot be read: Is a directory."),
        (("--gpus", "banana", "good.py"), "--gpus is 'banana'; expected a whole number"),
        (("--gpu", "2", "good.py"), "there is no option --gpu; did you mean --gpus?"),
        (("lesson.ipynb",), "lesson.ipynb is a notebook, no Python program. `jupyter execute` runs it"),
        ((), "required: FILE"),
    ],
)
def test_what_cannot_be_submitted_is_said_in_a_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    (folder / "bad.py").write_text("y = 1\nx = (\n")
    (folder / "good.py").write_text("y = 1\n")
    monkeypatch.chdir(folder)
    try:
        code = cli.main(["submit", *words])
    except SystemExit as error:
        code = error.code
    assert code == 2
    assert said in capsys.readouterr().err


def test_a_dry_run_queues_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    with Client() as client:
        before = client.jobs().total
        assert cli.main(["submit", "--dry-run", "--time", "2h", "inner/program.py"]) == 0
        assert client.jobs().total == before
    assert "would ask for 1 GPU and at most 2 h" in capsys.readouterr().out
