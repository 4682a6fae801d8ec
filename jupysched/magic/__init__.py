"""%%gpujob and its kin in a notebook: what a cell becomes, how it is followed, and how its results come in.

Reaches the daemon through `jupysched.client` only.
"""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["load", "unload"]


def load(shell: Any) -> None:
    """Make the magics known to this IPython shell. Loading again changes nothing."""
    from jupysched.magic.desk import desk
    from jupysched.magic.magics import GpuMagics
    from jupysched.magic.upkeep import begin_upkeep

    mine = desk()
    mine.shell = shell
    if getattr(shell, "_jupysched_desk", None) is mine:
        return
    shell._jupysched_desk = mine
    shell._jupysched_magics = GpuMagics(shell, mine)
    shell._jupysched_magics.register()
    for name, function in _events(mine):
        shell.events.register(name, function)
    begin_upkeep()


def _events(mine: Any) -> list[tuple[str, Any]]:
    from jupysched.magic.failure import after_cell

    return [
        ("pre_run_cell", mine.landings.before_cell),
        ("post_run_cell", mine.landings.after_cell),
        ("post_run_cell", after_cell),
    ]


def unload(shell: Any) -> None:
    """Take the magics away and end the relay; jobs go on."""
    mine = getattr(shell, "_jupysched_desk", None)
    if mine is None:
        return
    for name, function in _events(mine):
        with contextlib.suppress(ValueError):
            shell.events.unregister(name, function)
    shell._jupysched_magics.forget()
    shell._jupysched_desk = None
    mine.close()
