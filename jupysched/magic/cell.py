"""The way into one cell's outputs, from any thread, also after the cell returned. Knows Jupyter messages; knows nothing of jobs.

Threads that print land in whichever cell runs; so each message names the request that submitted the job as its parent, which
puts it under the right cell, on screen and in what is saved.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import Any, Protocol

Content = dict[str, Any]


class Cell(Protocol):
    """Where messages go."""

    #: the number in In[n]
    execution_count: int

    def send(self, kind: str, content: Content) -> None:
        """Show one message: stream, display_data, update_display_data, execute_result, clear_output, error."""
        ...


def number_in(shell: Any) -> int:
    """The n of In[n] of the cell that runs now: what its result is numbered by. The shell's own count is the next cell's already."""
    return max(1, int(shell.displayhook.prompt_count)) if shell is not None else 1


class KernelCell:
    """A cell of a notebook, named by the request that is being served while this is made."""

    #: a result that it shows is kept as Out[n]
    is_remembered = True

    def __init__(self, shell: Any) -> None:
        self._kernel = shell.kernel
        self._parent = self._kernel.get_parent()
        self._pid = os.getpid()
        self.execution_count = number_in(shell)

    @property
    def allows_input(self) -> bool:
        """May the front end be asked for a line?"""
        return bool(self._parent.get("content", {}).get("allow_stdin", False))

    @property
    def keeps_late_output(self) -> bool:
        """Does the front end show what comes after the cell returned? nbclient, nbconvert and papermill drop it."""
        return self.allows_input

    def origin(self) -> dict[str, str]:
        """Which notebook, cell and kernel this is, as far as they can be known."""
        metadata = self._parent.get("metadata", {})
        found = {
            "cell_id": str(metadata.get("cellId", "")),
            "notebook": os.environ.get("JPY_SESSION_NAME", ""),
            "kernel_id": _kernel_id(self._kernel),
        }
        return {name: value for name, value in found.items() if value}

    def send(self, kind: str, content: Content) -> None:
        # A forked child of the kernel shares the socket's number and nothing else.
        if os.getpid() != self._pid:
            return
        kernel = self._kernel
        kernel.session.send(kernel.iopub_socket, kind, content, parent=self._parent, ident=kernel._topic(kind))


def _kernel_id(kernel: Any) -> str:
    """kernel-<id>.json is the only place where a kernel reads its own id."""
    name = os.path.basename(str(getattr(kernel.parent, "connection_file", "") or ""))
    return name[len("kernel-") : -len(".json")] if name.startswith("kernel-") and name.endswith(".json") else ""


class PlainCell:
    """A terminal, the output of a program without a shell, or whatever has taken the place of the notebook's streams (`%%capture`)."""

    allows_input = False

    def __init__(self, shell: Any) -> None:
        self.execution_count = number_in(shell)
        self._display: Any = getattr(shell, "display_pub", None)
        #: what a block captures is in its variable, not in Out[n]
        self.is_remembered = type(self._display).__name__ != "CapturingDisplayPublisher"
        self._streams = {"stdout": sys.stdout, "stderr": sys.stderr}
        #: a captured cell ends when its block ends; a terminal goes on
        self.keeps_late_output = self.is_remembered

    def origin(self) -> dict[str, str]:
        """There is no notebook."""
        return {}

    def send(self, kind: str, content: Content) -> None:
        if kind == "stream":
            self._write(content["name"], content["text"])
        elif kind in ("display_data", "execute_result", "update_display_data"):
            self._show(kind, content)
        elif kind == "error":
            self._write("stderr", "\n".join(content.get("traceback", [])) + "\n")

    def _write(self, name: str, text: str) -> None:
        stream = self._streams[name]
        encoding = getattr(stream, "encoding", None) or "utf-8"
        # A closed stream belongs to a block that has ended.
        with contextlib.suppress(ValueError, OSError):
            stream.write(text.encode(encoding, "replace").decode(encoding))
            stream.flush()

    def _show(self, kind: str, content: Content) -> None:
        data = content["data"]
        if type(self._display).__name__ == "CapturingDisplayPublisher":
            self._display.publish(
                data,
                content.get("metadata", {}),
                update=kind == "update_display_data",
                transient=content.get("transient", {}),
            )
        elif "text/plain" in data:
            head = f"Out[{self.execution_count}]: " if kind == "execute_result" else ""
            self._write("stdout", f"{head}{data['text/plain']}\n")


def current(shell: Any) -> KernelCell | PlainCell:
    """The cell that runs now in this shell."""
    is_notebook = getattr(shell, "kernel", None) is not None and hasattr(shell.kernel, "iopub_socket")
    is_captured = type(getattr(shell, "display_pub", None)).__name__ == "CapturingDisplayPublisher"
    return KernelCell(shell) if is_notebook and not is_captured else PlainCell(shell)
