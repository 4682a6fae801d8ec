"""What can't travel, and what to do instead. Knows types by name, so that it imports none of them."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

CREATE_INSIDE = "Create it inside the cell."

#: full type name -> (what it is, what to do)
REFUSED: dict[str, tuple[str, str]] = {
    "builtins.generator": ("a generator", "Make it a list, or create it in the cell."),
    "builtins.async_generator": ("an asynchronous generator", "Make it a list, or create it in the cell."),
    "builtins.coroutine": ("a coroutine", "Create and await it in the cell."),
    "builtins.frame": ("a stack frame", CREATE_INSIDE),
    "builtins.traceback": ("a traceback", CREATE_INSIDE),
    "_io.TextIOWrapper": ("an open file", "Open it inside the cell."),
    "_io.BufferedReader": ("an open file", "Open it inside the cell."),
    "_io.BufferedWriter": ("an open file", "Open it inside the cell."),
    "_io.BufferedRandom": ("an open file", "Open it inside the cell."),
    "_io.FileIO": ("an open file", "Open it inside the cell."),
    "ipykernel.iostream.OutStream": ("an output stream", "Use sys.stdout inside the cell."),
    "_thread.lock": ("a lock", CREATE_INSIDE),
    "_thread.RLock": ("a lock", CREATE_INSIDE),
    "_thread._local": ("thread-local data", CREATE_INSIDE),
    "threading.Thread": ("a thread", CREATE_INSIDE),
    "threading.Timer": ("a thread", CREATE_INSIDE),
    "_socket.socket": ("a socket", CREATE_INSIDE),
    "socket.socket": ("a socket", CREATE_INSIDE),
    "ssl.SSLSocket": ("a socket", CREATE_INSIDE),
    "subprocess.Popen": ("a running process", "Start it inside the cell."),
    "sqlite3.Connection": ("a database connection", "Connect inside the cell."),
    "sqlite3.Cursor": ("a database cursor", "Connect inside the cell."),
    "_asyncio.Task": ("an asyncio task", "Create it inside the cell."),
    "_asyncio.Future": ("an asyncio future", "Create it inside the cell."),
    "select.epoll": ("an epoll object", CREATE_INSIDE),
    "mmap.mmap": ("a memory map", CREATE_INSIDE),
    "IPython.core.interactiveshell.InteractiveShell": ("the notebook's shell", "Use get_ipython() in the cell."),
    "ipykernel.zmqshell.ZMQInteractiveShell": ("the notebook's shell", "Use get_ipython() in the cell."),
    "torch.utils.tensorboard.writer.SummaryWriter": ("a SummaryWriter", CREATE_INSIDE),
}


class Refused(Exception):
    """Raised while pickling: this object can't travel."""

    def __init__(self, value: object, what: str, hint: str) -> None:
        super().__init__(f"{what} can't travel")
        self.value = value
        self.what = what
        self.hint = hint


def full_name(cls: type) -> str:
    """Return module.qualname of a type."""
    return f"{cls.__module__}.{cls.__qualname__}"


def refuse(value: object) -> None:
    """Raise Refused if objects of this type never travel."""
    known = REFUSED.get(full_name(type(value)))
    if known is not None:
        raise Refused(value, *known)


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (suffix, part): what hangs below a value, as Python would write it."""
    if isinstance(value, dict):
        for key, item in list(value.items()):
            yield f"[{key!r}]" if isinstance(key, str | int | float | bytes | bool | tuple) else "[...]", item
        for key in list(value):
            if not isinstance(key, str | int | float | bytes | bool):
                yield f".key({type(key).__name__})", key
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            yield f"[{position}]", item
    elif isinstance(value, set | frozenset):
        for item in value:
            yield "{...}", item
    held = getattr(value, "__dict__", None)
    if isinstance(held, dict) or type(held).__name__ == "mappingproxy":
        for name, item in list(held.items()):  # type: ignore[union-attr]
            if not (isinstance(value, type) and name in {"__dict__", "__weakref__"}):
                yield f".{name}", item
    for cls in type(value).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in {"__dict__", "__weakref__"} and hasattr(value, name):
                yield f".{name}", getattr(value, name)
    yield from _callable_parts(value)


def _callable_parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, types.FunctionType):
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=False):
            try:
                yield f".<{name}>", cell.cell_contents
            except ValueError:
                continue
        yield from ((f".__defaults__[{n}]", d) for n, d in enumerate(value.__defaults__ or ()))
    elif isinstance(value, types.MethodType):
        yield ".__self__", value.__self__
        yield ".__func__", value.__func__
    elif isinstance(value, functools.partial):
        yield ".func", value.func
        yield from ((f".args[{n}]", a) for n, a in enumerate(value.args))
        yield from ((f".keywords[{n!r}]", a) for n, a in value.keywords.items())
