"""What IPython keeps of a cell that showed a result: `_`, `__`, `___`, `_n` and `Out[n]`. Knows its display hook; knows no jobs."""

from __future__ import annotations

from typing import Any


def keep(shell: Any, number: int, value: Any) -> None:
    """Let the notebook remember that cell `number` showed this value, as if it had been computed here.

    `Out[n]` is always the cell's. `_` is the value of the cell with the highest number: a result that lands late does not take it
    away from a cell that showed one meanwhile."""
    hook, kept = shell.displayhook, shell.user_ns.get("_oh")
    if kept is None or not hasattr(hook, "update_user_ns"):
        return
    if all(other <= number for other in kept):
        now = shell.execution_count
        shell.execution_count += number - hook.prompt_count
        try:
            hook.check_for_underscore()
            hook.update_user_ns(value)
        finally:
            shell.execution_count = now
    elif hook.do_full_cache:
        kept[number] = shell.user_ns[f"_{number}"] = value
