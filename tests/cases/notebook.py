"""A notebook without a front end: one fresh kernel, its folder, its cells and what is shown under each. Knows nothing of cases."""

import contextlib
import os
import queue
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from jupyter_client import KernelManager

from tests.cases.outputs import Outputs


class KernelDied(Exception):
    """The kernel is gone."""


class Notebook:
    """One open notebook. Use it as a context: whatever it started is gone at the end, unless it left the notebook's folder."""

    def __init__(self, name: str, *, files: dict[str, str] | None = None, workdir: str = "") -> None:
        self.base = Path(tempfile.mkdtemp(prefix=f"case-{name}-"))
        self.folder = self.base / "w" / workdir
        self.folder.mkdir(parents=True)
        for path, text in (files or {}).items():
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(text, encoding="utf-8")
        #: outputs by the request that they answer
        self._cells: dict[str, Outputs] = {}
        self._is_open = False

    def __enter__(self) -> "Notebook":
        try:
            self.open()
        except BaseException:
            self._sweep()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()
        self._sweep()

    def open(self) -> None:
        """Start a fresh kernel in the notebook's folder."""
        environment = os.environ | {
            "IPYTHONDIR": str(self.base / "ip"),
            "MPLCONFIGDIR": str(self.base / "mpl"),
            "PYTHONFAULTHANDLER": "",
            "PATH": os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"],
        }
        self._manager = KernelManager(kernel_name="python3")
        self._manager.shutdown_wait_time = 3
        with (self.base / "kernel.log").open("ab") as log:
            self._manager.start_kernel(cwd=str(self.folder), env=environment, stdout=log, stderr=log)
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=90)

        self._is_open = True

    def close(self) -> None:
        """End the kernel, as closing and shutting down the notebook does. Nothing if it is closed."""
        if not self._is_open:
            return
        self._is_open = False
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=False)

    def interrupt(self) -> None:
        """Press the stop button."""
        self._manager.interrupt_kernel()

    def send(self, code: str, *, allow_stdin: bool = False) -> Outputs:
        """Ask for a cell to be run, and return what will be shown under it."""
        seen = Outputs()
        request = self._client.execute(code, store_history=True, allow_stdin=allow_stdin)
        self._cells[request] = seen
        return seen

    def run(
        self,
        code: str,
        *,
        allow_stdin: bool = False,
        within_s: float = 60.0,
        interrupts_s: tuple[float, ...] = (),
        settle_s: float = 0.0,
    ) -> Outputs:
        """Run a cell to its end, pressing the stop button at the given seconds; `settle_s` more for what comes late.

        Raises TimeoutError, and KernelDied.
        """
        seen = self.send(code, allow_stdin=allow_stdin)
        presses = sorted(interrupts_s)
        while seen.idle_at is None or time.time() - seen.idle_at < settle_s:
            if presses and time.time() - seen.asked_at >= presses[0]:
                presses.pop(0)
                self.interrupt()
            if time.time() - seen.asked_at > within_s:
                raise TimeoutError(f"no answer within {within_s:g} s to: {code[:80]}")
            self.listen()
        self._error_of_reply(seen)
        return seen

    def listen(self, *, wait_s: float = 0.2) -> None:
        """Take one message of the kernel, or none within `wait_s`. Raises KernelDied."""
        if not self._is_open:
            threading.Event().wait(wait_s)
            return
        try:
            message = self._client.get_iopub_msg(timeout=wait_s)
        except queue.Empty:
            if not self._manager.is_alive():
                raise KernelDied from None
            return
        if message["msg_type"] == "update_display_data":
            for seen in self._cells.values():
                seen.update(message["content"])
        elif (parent := message["parent_header"].get("msg_id")) in self._cells:
            self._cells[parent].take(message)

    def listen_until(self, ask: Callable[[], object], *, within_s: float, what: str) -> None:
        """Take messages until `ask` says yes. Raises TimeoutError."""
        deadline = time.time() + within_s
        while not ask():
            if time.time() > deadline:
                raise TimeoutError(f"{what}: not within {within_s:g} s")
            self.listen(wait_s=0.05)

    def listen_for(self, seconds: float) -> None:
        """Take messages for so long."""
        deadline = time.time() + seconds
        while (left_s := deadline - time.time()) > 0:
            self.listen(wait_s=min(left_s, 0.2))

    def evaluate(self, expressions: dict[str, str]) -> dict[str, str]:
        """Return the truth of each expression in the notebook: "True", "False" or the error."""
        asked = {name: f"bool({expression})" for name, expression in expressions.items()}
        request = self._client.execute("", silent=True, user_expressions=asked)
        answers = self._reply(request)["user_expressions"]
        return {
            name: answer["data"]["text/plain"] if answer["status"] == "ok" else f"{answer['ename']}: {answer['evalue']}"
            for name, answer in answers.items()
        }

    def _error_of_reply(self, seen: Outputs) -> None:
        """Errors that only the reply tells (a cell refused before it ran) count as shown."""
        request = next(request for request, outputs in self._cells.items() if outputs is seen)
        reply = self._reply(request)
        if reply["status"] == "error" and seen.error is None:
            seen.error = reply

    def _reply(self, request: str) -> dict[str, Any]:
        while True:
            reply = self._client.get_shell_msg(timeout=60)
            if reply["parent_header"].get("msg_id") == request:
                return reply["content"]

    def _sweep(self) -> None:
        """Stop what still works in the notebook's folder, and remove that.

        multiprocessing's resource tracker takes names in /dev/shm away once its parents are gone: it goes last, or they stay.
        """
        for spared in ("resource_tracker", None):
            for pid in self._left(spared):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            deadline = time.time() + 1.0
            while spared and list(self._left(None)) and time.time() < deadline:
                threading.Event().wait(0.05)
        shutil.rmtree(self.base, ignore_errors=True)

    def _left(self, spared: str | None) -> Iterator[int]:
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                with contextlib.suppress(OSError):
                    inside = os.readlink(f"/proc/{entry}/cwd").startswith(str(self.base))
                    if inside and not (spared and spared in Path(f"/proc/{entry}/cmdline").read_text(errors="replace")):
                        yield int(entry)
