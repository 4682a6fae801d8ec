"""Directories of jobs as a notebook would make them, for cells of one line or two."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from jupysched import spool
from jupysched.core.job import JobId
from jupysched.core.resources import Gpu
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pack import pack_inputs
from jupysched.ports import StartOrder

ROOT = Path(__file__).parents[2]
#: prints its number and what it was told, a line every 50 ms, for 5 seconds
LINES = "import time\nfor n in range(100):\n    print('line', n, flush=True)\n    time.sleep(0.05)"
FOREVER = "import time\nprint('up', flush=True)\ntime.sleep(600)"


def job_directory(home: Path, name: str, cell: str, *, executable: str = sys.executable) -> Path:
    """Return a new job directory in `home`. Writes: launch.json, input.pickle, objects."""
    directory = home / "jobs" / name
    directory.mkdir(parents=True)
    launch = {
        "executable": executable, "prefix": sys.prefix, "cwd": str(home), "env": _environ(), "sys_path": [str(ROOT)],
        "umask": 0o022, "argv": [executable], "preload": [], "cell": cell, "cell_name": "Cell In[1]", "execution_count": 1,
        "interactivity": "last_expr", "allow_stdin": False, "matplotlib_inline": False, "objects": str(home / "objects"),
        "out_names": None, "name": name,
    }  # fmt: skip
    (directory / "launch.json").write_text(json.dumps(launch))
    (home / "objects").mkdir(exist_ok=True)
    pack_inputs(cell, {}, objects=ObjectStore(home / "objects")).write(directory / "input.pickle")
    return directory


def _environ() -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "PYTHONPATH": str(ROOT),
        "IPYTHONDIR": os.environ.get("IPYTHONDIR", ""),
    }


def an_order(directory: Path, gpus: Sequence[Gpu], *, job: int, attempt: int = 1) -> StartOrder:
    """Return the order to start an attempt."""
    return StartOrder(
        job=JobId(job),
        attempt=attempt,
        directory=str(directory),
        uid=os.getuid(),
        gpus=tuple(gpus),
        name=directory.name,
    )


def printed(directory: Path, attempt: int = 1) -> str:
    """Return what an attempt has written to stdout so far."""
    frames = spool.read_frames(str(directory / f"a{attempt}" / spool.FRAMES))
    return b"".join(frame.payload for frame in frames if frame.kind == spool.Kind.STDOUT).decode()
