"""The surroundings of a job: exactly those of the notebook's kernel, and the GPUs that were granted.

Knows environment variables, working directory, import path, limits. Must not know how the job is started. Nothing is
inherited from a Dask worker, a daemon or a launcher: threads, affinity and library paths are the user's own.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterable
from typing import Any

#: Variables that act while the interpreter starts: a zygote serves jobs that agree on them.
_START_PREFIXES = ("PYTHON", "LD_", "LC_", "MALLOC_", "GLIBC_")
_START_NAMES = ("LANG", "LANGUAGE", "HOME", "VIRTUAL_ENV", "CONDA_PREFIX")
_THREADS = ("OMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "VECLIB_", "NUMEXPR_", "KMP_", "GOMP_", "NPY_")
#: Variables that act while a module is imported: they matter only to a zygote that has imported it.
_IMPORT_PREFIXES = {
    "numpy": _THREADS, "scipy": _THREADS, "sklearn": (*_THREADS, "SKLEARN_", "JOBLIB_", "LOKY_"), "pandas": _THREADS,
    "torch": (*_THREADS, "TORCH", "PYTORCH_", "ATEN_", "CUDA_MODULE_"), "matplotlib": ("MPL", *_THREADS),
}  # fmt: skip
#: Names that belong to the kernel's process and are wrong in any other.
_KERNEL_ONLY = ("JPY_PARENT_PID", "PYDEVD_IPYTHON_COMPATIBLE_DEBUGGING")
INLINE_BACKEND = "module://matplotlib_inline.backend_inline"


def import_key(env: dict[str, str], preload: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return the part of an environment that must be there before the interpreter starts and `preload` is imported."""
    prefixes = _START_PREFIXES + tuple(p for module in sorted(preload) for p in _IMPORT_PREFIXES.get(module, ()))
    return tuple(sorted((k, v) for k, v in env.items() if k.startswith(prefixes) or k in _START_NAMES))


def job_environment(launch: dict[str, Any], order: dict[str, Any]) -> dict[str, str]:
    """Return the whole environment of the job."""
    env = {k: v for k, v in launch.get("env", {}).items() if k not in _KERNEL_ONLY}
    if launch.get("matplotlib_inline"):
        env.setdefault("MPLBACKEND", INLINE_BACKEND)
    env.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    # Else the mere question torch.cuda.is_available() makes a context and holds the GPU's memory.
    env.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    # What was granted wins over what the user set: a job sees its own GPUs and no others.
    env.update(order.get("env", {}))
    return env


def apply_environment(env: dict[str, str]) -> None:
    """Make `os.environ`, and the C library's, exactly `env`."""
    timezone = os.environ.get("TZ")
    for name in [name for name in os.environ if name not in env]:
        del os.environ[name]
    for name, value in env.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    if os.environ.get("TZ") != timezone:
        time.tzset()


def apply_launch(launch: dict[str, Any]) -> list[str]:
    """Set umask, limits, working directory, arguments and import path; return sentences on what could not be."""
    notes: list[str] = []
    os.umask(launch.get("umask", 0o077))
    for name, (soft, hard) in launch.get("rlimits", {}).items():
        try:
            resource.setrlimit(getattr(resource, name), (soft, hard))
        except (ValueError, OSError, AttributeError) as error:
            notes.append(f"The limit {name} could not be set: {error}.")
    try:
        os.chdir(launch["cwd"])
    except OSError as error:
        notes.append(f"The notebook's folder {launch['cwd']} cannot be entered ({error.strerror}).")
    sys.argv[:] = launch.get("argv") or [""]
    if "sys_path" in launch:
        sys.path[:] = launch["sys_path"]
        sys.path_importer_cache.pop("", None)
    return notes


def free_affinity() -> None:
    """Let this process, and all it starts, run on every CPU that the machine allows."""
    try:
        os.sched_setaffinity(0, range(os.cpu_count() or 1))
    except OSError:
        return


def close_inherited() -> None:
    """Close all but the standard three: a pipe of a Dask worker that lives on here tells others that the worker does."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            with contextlib.suppress(OSError):  # the folder's own is closed already
                os.close(int(name))


def lift_limits() -> None:
    """Raise soft limits to the hard ones: what the cell set for itself must not keep its results from being written.

    Memory stays as limited as it was: the namespace decides what is worth bringing back from a full one.
    """
    for number in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        try:
            soft, hard = resource.getrlimit(number)
            if soft != hard:
                resource.setrlimit(number, (hard, hard))
        except (ValueError, OSError):
            continue
