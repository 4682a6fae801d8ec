"""Runs the quick start in a real kernel, reports its jobs, and writes it as HTML. Knows nbclient; knows no scheduling."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from jupysched import words
from jupysched.client import Client
from jupysched.core.errors import BadRequest
from jupysched.magic.api import RESULT
from jupysched.wire.records import JobRecord

NOTEBOOK = "01-quickstart.ipynb"
TIMEOUT_S = 600


def find_notebook() -> Path:
    """The quick start: in the clone, or where the package was installed to."""
    for folder in (
        Path.cwd() / "notebooks",
        Path(__file__).parent.parent / "notebooks",
        Path(sys.prefix) / "share/jupysched/notebooks",
    ):
        if (folder / NOTEBOOK).exists():
            return folder / NOTEBOOK
    raise BadRequest(f"The quick start ({NOTEBOOK}) lies neither here nor beside the package.")


def run(output: str) -> int:
    """Exit code 0 only if every cell did what it should. Writes: the executed notebook as HTML."""
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError
    from nbconvert import HTMLExporter

    path, folder = find_notebook(), Path(output).resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadRequest(f"{output} cannot be written: {folder} is no folder that you may write to.")
    client = Client()
    daemon = client.hello()
    print(
        f"daemon: pid {daemon.pid}, {daemon.gpus} {'CPU slots (no GPU was found)' if daemon.kind == 'cpu_slot' else 'GPUs'}"
    )
    before = {j.id for j in client.jobs(limit=10_000).jobs}
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    print(f"running {path.name} in a real kernel ...", flush=True)
    failed = ""
    try:
        NotebookClient(
            notebook, timeout=TIMEOUT_S, kernel_name="python3", resources={"metadata": {"path": str(path.parent)}}
        ).execute()
    except CellExecutionError as error:
        failed = str(error)
    jobs = sorted((j for j in client.jobs(limit=10_000).jobs if j.id not in before), key=lambda j: j.id)
    for job in jobs:
        print("  " + report(job))
    html, _ = HTMLExporter().from_notebook_node(notebook)  # type: ignore[no-untyped-call]
    Path(output).write_text(html, encoding="utf-8")
    print(f"wrote {output}")
    if failed:
        print(failed, file=sys.stderr)
        return 1
    if not jobs:
        print("the notebook queued no job", file=sys.stderr)
        return 1
    return 0


def report(job: JobRecord) -> str:
    """Name, where it ran, waited, ran, last loss, what came back."""
    names = job.exit.returned if job.exit else []
    returned = "what the function returned" if names == [RESULT] else ", ".join(names) or "nothing"
    parts = [
        f"job {job.id} {job.name}",
        words.state(job),
        words.where(job) or "never started",
        f"waited {words.duration(job.waited_s)}",
        f"ran {words.duration(job.ran_s)}" if job.ran_s is not None else "",
        words.metric(job),
        f"came back: {returned}",
    ]
    return " · ".join(p for p in parts if p)
