"""A live kernel as a front end sees it: requests out, IOPub in. Knows jupyter_client; knows jobs only by their cards."""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Iterator
from typing import Any

from jupyter_client import KernelManager

MIME = "application/vnd.jupysched.job+json"
ENDED = ("succeeded", "failed", "cancelled")
Message = dict[str, Any]


class Notebook:
    """A kernel of the present environment; end it with `close`."""

    def __init__(self) -> None:
        self._manager = KernelManager(kernel_name="python3")
        self._manager.start_kernel(env=dict(os.environ), stderr=open(os.devnull, "wb"))  # noqa: SIM115
        self.client = self._manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=120)

    @property
    def pid(self) -> int:
        """The kernel's process."""
        return int(self._manager.provisioner.process.pid)  # type: ignore[union-attr]

    def close(self) -> None:
        self.client.stop_channels()
        self._manager.shutdown_kernel(now=True)

    def __enter__(self) -> Notebook:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def messages(self, code: str, *, patience_s: float = 120.0) -> Iterator[tuple[float, Message]]:
        """Run a cell; yield each of its messages with the seconds since it was sent. Ends when nobody asks any more."""
        began = time.perf_counter()
        request = self.client.execute(code, allow_stdin=True)
        deadline = time.monotonic() + patience_s
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=1)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") == request:
                yield time.perf_counter() - began, message
        raise TimeoutError(f"the cell's end did not come within {patience_s:g} s: {code[:60]!r}")

    def run(self, code: str, *, patience_s: float = 120.0) -> float:
        """Run a plain cell to its end; return its seconds. Raises what it raised."""
        for at, message in self.messages(code, patience_s=patience_s):
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
            if is_idle(message):
                return at
        raise AssertionError("unreachable")

    def value(self, expression: str) -> Any:
        """The value of an expression whose repr is a literal."""
        import ast

        for _, message in self.messages(expression):
            if message["msg_type"] == "execute_result":
                return ast.literal_eval(message["content"]["data"]["text/plain"])
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
        raise AssertionError("unreachable")

    def first_output_s(self, code: str, *, is_job: bool) -> float:
        """From sending the cell to its first printed text; then waits for its end."""
        first = None
        ended = idle = False
        for at, message in self.messages(code):
            if message["msg_type"] == "stream" and first is None:
                first = at
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
            ended = ended or card_state(message) in ENDED
            idle = idle or is_idle(message)
            if idle and (ended or not is_job):
                if first is None:
                    raise RuntimeError(f"the cell printed nothing: {code!r}")
                return first
        raise AssertionError("unreachable")


def is_idle(message: Message) -> bool:
    """Has the request been served?"""
    return message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"


def card_state(message: Message) -> str | None:
    """The state on a job's card; None for other messages."""
    if message["msg_type"] not in ("display_data", "update_display_data"):
        return None
    state = message["content"]["data"].get(MIME, {}).get("state")
    return None if state is None else str(state)


Timed = Callable[[], float]


def interleaved(rounds: int, **timed: Timed) -> dict[str, list[float]]:
    """Each function `rounds` times, in turns, so that a machine that drifts drifts for all of them. In milliseconds."""
    took: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(rounds):
        for name, function in timed.items():
            took[name].append(function() * 1e3)
    return took
