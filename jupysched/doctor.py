"""Checks an installation and says what to mend. Reads; changes nothing."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass

from jupysched import places
from jupysched.client import Client
from jupysched.core.errors import JupyschedError

LEAST_FREE_BYTES = 1 << 30
NO_DRIVER = "No NVIDIA driver was found"
#: there where the machine has a GPU of NVIDIA's, whatever its driver does
GPU_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    said: str


def findings(client: Client) -> list[Finding]:
    """Everything that was looked at, in the order a person would mend it."""
    return [_home(), _disk(), *_daemon(client), *_modules()]


def _home() -> Finding:
    path = places.home()
    mode = path.stat().st_mode & 0o777
    return Finding(
        what="home",
        ok=mode & 0o077 == 0,
        said=f"{path}" + ("" if mode & 0o077 == 0 else f" is open to others (mode {mode:o}): chmod 700"),
    )


def _disk() -> Finding:
    free = shutil.disk_usage(places.home()).free
    return Finding(
        what="disk", ok=free >= LEAST_FREE_BYTES, said=f"{free / (1 << 30):.1f} GiB free for payloads and outputs"
    )


def _daemon(client: Client) -> list[Finding]:
    try:
        found = client.hello()
        gpus = client.gpus()
    except JupyschedError as error:
        return [Finding(what="daemon", ok=False, said=str(error))]
    kind = "CPU slots (no GPU was found)" if found.kind == "cpu_slot" else "GPUs"
    result = [
        Finding(
            what="daemon",
            ok=True,
            said=f"{found.mode}, pid {found.pid}, version {found.version}, policy {found.policy}",
        ),
        Finding(what="GPUs", ok=bool(gpus), said=f"{len(gpus)} {kind}"),
    ]
    result += [Finding(what=g.label, ok=False, said=g.drained) for g in gpus if g.drained]
    result += [
        Finding(what=g.label, ok=True, said=f"in use outside jupysched: {'; '.join(g.foreign)}")
        for g in gpus
        if g.foreign
    ]
    return result + [_notice(notice) for notice in found.notices]


def _notice(said: str) -> Finding:
    """What the daemon has to say of itself. No driver where there is no GPU is how a laptop is: nothing to mend."""
    is_plain = NO_DRIVER in said and not any(os.path.exists(path) for path in GPU_FILES)
    return Finding(what="notice", ok=is_plain, said=f"{said} CPU slots stand in for GPUs." if is_plain else said)


def _modules() -> list[Finding]:
    found = []
    for name, what in (("jupyterlab", "the sidebar"), ("torch", "import torch"), ("dask_cuda", "the GPU cluster")):
        there = importlib.util.find_spec(name) is not None
        needed = name == "dask_cuda" and os.path.exists("/dev/nvidia0")
        found.append(
            Finding(
                what=name,
                ok=there or not needed,
                said="installed" if there else f"not installed ({what} is not available)",
            )
        )
    return found
