"""A notebook and its job as two real processes, each with an IPython shell. Knows no daemon: it is the whole way of
variables and nothing else. Run as a script it plays one side; `play` starts the notebook's side and returns what was
seen."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
ROOT = HERE.parents[2]


def play(case: dict[str, Any], folder: Path, *, timeout_s: float = 120) -> dict[str, Any]:
    """Return what happened: {"status", "stdout", "error", "vars", "landing", "seconds", ...}."""
    work = folder / str(case.get("workdir", "work"))
    work.mkdir(parents=True)
    for name, text in case.get("files", {}).items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "case.json").write_text(json.dumps(case), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "IPYTHONDIR": str(folder / "ipython")}
    done = subprocess.run(
        [sys.executable, str(HERE), "notebook", str(folder)],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    try:
        return json.loads((folder / "seen.json").read_text())
    except FileNotFoundError:
        raise AssertionError(
            f"the notebook's side ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        ) from None


def _shell() -> Any:
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    config = Config()
    config.HistoryManager.enabled = False
    main = sys.modules["__main__"]
    fresh = type(sys)("__main__")
    sys.modules["__main__"] = fresh
    shell = InteractiveShell.instance(config=config, user_module=fresh, user_ns=vars(fresh))
    shell.keep = main
    return shell


def _run(shell: Any, text: str) -> str | None:
    result = shell.run_cell(text, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    return None if error is None else f"{type(error).__name__}: {error}"


def notebook(folder: Path) -> None:
    from jupysched.namespace.errors import NamespaceError
    from jupysched.namespace.land import land, load_values
    from jupysched.namespace.objects import ObjectStore
    from jupysched.namespace.pack import pack_inputs

    case = json.loads((folder / "case.json").read_text())
    sys.path[0] = ""
    shell = _shell()
    seen: dict[str, Any] = {"status": "done", "error": None, "seconds": {}}
    objects = ObjectStore(folder / "objects")
    for text in case.get("setup", []):
        error = _run(shell, text)
        if error:
            raise RuntimeError(f"setup failed: {error}")
    start = time.perf_counter()
    try:
        packed = pack_inputs(case["cell"], shell, objects=objects, in_names=case.get("in_names", ()))
    except NamespaceError as error:
        seen.update(status="rejected", error=str(error))
        packed = None
    if packed is not None:
        packed.write(folder / "input.pickle")
        seen["seconds"]["pack"] = time.perf_counter() - start
        seen["report"] = [(t.name, t.type_name, t.nbytes) for t in packed.report]
        seen["nbytes"] = packed.nbytes
        (folder / "a1").mkdir(exist_ok=True)
        (folder / "sys_path.json").write_text(json.dumps(sys.path))
        done = subprocess.run(
            [sys.executable, str(HERE), "job", str(folder)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env={**os.environ, "NOTEBOOK_SCRIPT": str(HERE)},
        )
        seen.update(stdout=done.stdout, stderr=done.stderr)
        for text in case.get("meanwhile", []):
            _run(shell, text)
        if (folder / "a1" / "job.json").exists():
            seen.update(json.loads((folder / "a1" / "job.json").read_text()))
            start = time.perf_counter()
            landing = land(folder / "a1" / "result.pickle", shell.user_ns, packed.sent, objects)
            seen["seconds"]["land"] = time.perf_counter() - start
            seen["landing"] = {k: getattr(landing, k) for k in ("landed", "conflicts", "failures", "deleted")}
            seen["values"] = sorted(landing.values)
            if case.get("load_values"):
                shell.user_ns["loaded"] = load_values(
                    folder / "a1" / "result.pickle", objects, shell.user_ns, input_path=folder / "input.pickle"
                )
        else:
            seen["status"] = "died"
    for text in case.get("after", []):
        error = _run(shell, text)
        if error:
            seen.setdefault("after", []).append(error)
    seen["vars"] = {}
    for name, text in case.get("expect", {}).get("vars", {}).items():
        try:
            seen["vars"][name] = bool(eval(str(text), shell.user_ns))
        except Exception as error:
            seen["vars"][name] = f"{type(error).__name__}: {error}"
    (folder / "seen.json").write_text(json.dumps(seen, default=str))


def job(folder: Path) -> None:
    sys.path[:] = [*json.loads((folder / "sys_path.json").read_text())]
    import matplotlib_inline  # noqa: F401  what a zygote would have

    from jupysched.namespace.diff import pack_changes
    from jupysched.namespace.objects import ObjectStore
    from jupysched.namespace.unpack import load_inputs

    case = json.loads((folder / "case.json").read_text())
    shell = _shell()
    objects = ObjectStore(folder / "objects")
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    baseline = load_inputs(folder / "input.pickle", shell.user_ns, objects)
    seconds["load"] = time.perf_counter() - start
    start = time.perf_counter()
    error = _run(shell, case["cell"])
    seconds["cell"] = time.perf_counter() - start
    start = time.perf_counter()
    returned = pack_changes(folder / "a1" / "result.pickle", shell.user_ns, baseline, objects, case.get("out_names"))
    seconds["changes"] = time.perf_counter() - start
    answer = {
        "status": "failed" if error else "done",
        "error": error,
        "returned": returned.names,
        "notes": returned.notes,
        "job_seconds": seconds,
    }
    sys.stdout.flush()
    (folder / "a1" / "job.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    try:
        {"notebook": notebook, "job": job}[sys.argv[1]](Path(sys.argv[2]))
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
