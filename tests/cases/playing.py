"""Plays one case that a notebook can play alone, as a plain cell or as a job, and says what was not as expected."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from tests.cases.case import FOLDER, Case
from tests.cases.expectations import unmet
from tests.cases.notebook import KernelDied, Notebook
from tests.cases.outputs import Outputs


@dataclass
class Verdict:
    """How a case went."""

    #: sentences; empty if everything is as expected
    bad: list[str] = field(default_factory=list)
    seen: Outputs | None = None


def play(case: Case, *, product: bool) -> Verdict:
    """Play the case in a fresh kernel: under `%%gpujob ... --wait`, or as a plain cell."""
    with Notebook(case["id"], files=case.get("files"), workdir=case.get("workdir", "")) as notebook:
        for code in case.get("setup", []):
            must_run(notebook, code, within_s=120)
        body = str(case["cell"])
        if product:
            must_run(notebook, "%load_ext jupysched")
            body = f"%%gpujob {case['magic_args']} --wait\n{body}"
        expect = expected(case, product=product)
        presses = tuple(case.get("interact", {}).values())
        settle_s = case.get("local", {}).get("settle_s", 0.3)
        try:
            seen = notebook.run(body, within_s=case.get("timeout_s", 100), interrupts_s=presses, settle_s=settle_s)
        except KernelDied:
            return Verdict(bad=[] if expect.get("kernel_dies") else ["the kernel died"])
        if expect.get("kernel_dies"):
            return Verdict(bad=["the kernel should have died"], seen=seen)
        for code in case.get("after", []):
            must_run(notebook, code)
        outcome = "failed" if seen.error else "done"
        return Verdict(bad=unmet(seen, expect, outcome=outcome, evaluate=notebook.evaluate), seen=seen)


def must_run(notebook: Notebook, code: str, *, within_s: float = 60) -> Outputs:
    """Run a cell that is not what the case is about. Raises AssertionError if it ends in an error."""
    seen = notebook.run(code, within_s=within_s)
    if seen.error:
        raise AssertionError(f"{code[:60]!r} failed: {seen.error['ename']}: {seen.error['evalue']}")
    return seen


def expected(case: Case, *, product: bool) -> dict[str, Any]:
    """Return what to expect there: `local.expect` is merged over `expect` for a plain cell, null meaning 'do not check'."""
    expect = dict(case["expect"])
    if not product:
        over = case.get("local", {}).get("expect") or {}
        expect = {key: value for key, value in (expect | over).items() if value is not None}
    if expect.get("status") in ("rejected", "cancelled"):
        if product:
            expect["status"] = "failed"  # the waiting cell shows an error
        else:
            del expect["status"]
    if expect.get("product_status_any"):
        expect.pop("status", None)
    return expect


def probe(case: Case) -> list[str]:
    """Return where (fake) NVML does not behave as the fixture of the case describes."""
    path = str(FOLDER / f"{case['id']}.yaml")
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, str(FOLDER), path], capture_output=True, text=True, timeout=60, check=False
    )
    return json.loads(ran.stdout) if ran.returncode == 0 else [ran.stderr[-300:]]


PROBE = r"""
import json, sys, yaml
folder, path = sys.argv[1:]
sys.path.insert(0, folder)
import fake_nvml
case = yaml.safe_load(open(path, encoding="utf-8"))
fixture, bad = case["fixture"], []
for state in fixture.get("nvml_sequence", [fixture.get("nvml")]):
    if state is None:
        continue
    nvml = fake_nvml.install(state)
    if "nvml_sequence" in fixture:
        try:
            nvml.nvmlInit()
            for index in range(nvml.nvmlDeviceGetCount()):
                nvml.nvmlDeviceGetUUID(nvml.nvmlDeviceGetHandleByIndex(index))
        except nvml.NVMLError as error:
            if not state.get("init_error"):
                bad.append(repr(error))
for call in case.get("probe", []):
    try:
        args = [call["pid"]] if "pid" in call else []
        if call["call"] == "nvmlDeviceGetHandleByIndex":
            args = [call["device"]]
        elif "device" in call:
            args = [nvml.nvmlDeviceGetHandleByIndex(call["device"])]
        said = getattr(nvml, call["call"])(*args)
        if "error" in call:
            bad.append([call, "no error"])
        elif "value" in call and said != call["value"]:
            bad.append([call, said])
        elif "value_bytes" in call and said != call["value_bytes"].encode():
            bad.append([call, str(said)])
        elif "value_util" in call and [said.gpu, said.memory] != call["value_util"]:
            bad.append([call, str(said)])
        elif "value_mem" in call and [said.total, said.used] != call["value_mem"]:
            bad.append([call, str(said)])
    except nvml.NVMLError as error:
        if type(error).__name__ != call.get("error"):
            bad.append([call, type(error).__name__])
print(json.dumps(bad))
"""
