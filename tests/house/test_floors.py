"""Imports point down only, and what starts fast or runs beside a user's code stays light."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source import PACKAGE, ROOT, imports_anywhere, imports_at_load, modules, name, tree

#: They live in the job's process, or are read there, before anything of the user is: the standard library must do.
STANDARD_LIBRARY_ONLY = [
    path for under in ("runner", "spool.py") if (PACKAGE / under).exists() for path in modules(under)
]
THEIR_OWN = ("jupysched", "jupysched.runner", "jupysched.spool")


@pytest.mark.slow
def test_the_floors_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    ran = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("path", STANDARD_LIBRARY_ONLY, ids=name)
def test_the_runner_and_the_spool_load_the_standard_library_only(path: Path) -> None:
    foreign = [
        f"{name(path)}:{line} imports {module}: move it into the function that needs it"
        for module, line in imports_at_load(tree(path))
        if module.partition(".")[0] not in sys.stdlib_module_names
        and not module.startswith(THEIR_OWN[1:])
        and module != THEIR_OWN[0]
    ]
    assert foreign == []


#: One foreign thing each, and the modules that speak to it. Strangers to each other.
ADAPTERS = {
    "the journal on disk": ("sqlite_",),
    "NVML": ("nvml_", "gpu_watch", "processes"),
    "agents, and what carries orders to them": (
        "agent",
        "cpu_slots",
        "dask_",
        "exit_words",
        "launcher_",
        "local_cluster",
        "notices",
    ),
    "users of this machine": ("local_users",),
    "users of the Hub": ("hub_",),
    "the clock": ("system_clock",),
    "the readings on disk": ("sample_",),
    "processes of jobs on CPU slots": ("slot_meter",),
}


def adapter_of(module: str) -> str:
    """Return the foreign thing that a module of adapters/ speaks to."""
    found = [thing for thing, starts in ADAPTERS.items() if module.startswith(starts)]
    assert len(found) == 1, (
        f"jupysched.adapters.{module} belongs to {found or 'no adapter'}: see ADAPTERS in {__name__}"
    )
    return found[0]


@pytest.mark.parametrize("path", [path for path in modules("adapters") if path.stem != "__init__"], ids=name)
def test_adapters_are_strangers_to_each_other(path: Path) -> None:
    own = adapter_of(path.relative_to(PACKAGE / "adapters").parts[0].removesuffix(".py"))
    others = [
        f"{name(path)}:{line} imports {module}"
        for module, line in imports_anywhere(tree(path))
        if module.startswith("jupysched.adapters.") and adapter_of(module.split(".")[2]) != own
    ]
    assert others == []
