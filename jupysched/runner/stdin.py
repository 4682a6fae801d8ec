"""What `input()` and `getpass()` do in a job, and the shim's word that the cell may begin: what comes in after the order.

Knows how a cell asks and where the answer comes in. Must not know who answers. Where nobody can, it fails at once: a
job that waits for a keyboard holds a GPU for nothing.
"""

from __future__ import annotations

import builtins
import getpass
import itertools
import json
import os
from typing import Any

from jupysched.runner.outputs import Channel
from jupysched.spool import Kind

REFUSAL = (
    "input() is not available in a queued job: nobody may be there to answer. "
    "Ask before the cell and use the variable in it."
)


class Stdin:
    """The questions of one cell."""

    def __init__(self, channel: Channel, answers: int, rest: bytes, *, allowed: bool) -> None:
        """`rest` came with the order and was not part of it."""
        self._channel = channel
        self._answers = answers
        self._allowed = allowed
        self._numbers = itertools.count(1)
        self._rest = rest
        self._may_go = False

    def install(self) -> None:
        """Make `input` and `getpass` ask through the spool."""

        def input(prompt: object = "", /) -> str:  # noqa: A001 - its name is how it is pickled: as the kernel's own
            return self._request(str(prompt), secret=False)

        def ask_secret(prompt: str = "Password: ", stream: object = None, *, echo_char: str | None = None) -> str:
            return self._request(str(prompt), secret=True)

        input.__module__, input.__qualname__ = "builtins", "input"
        ask_secret.__module__, ask_secret.__name__, ask_secret.__qualname__ = "getpass", "getpass", "getpass"
        builtins.input, getpass.getpass = input, ask_secret

    def wait_for_go(self) -> None:
        """Return when the shim is ready for whatever the cell does; end where there is no shim any more."""
        try:
            while not self._may_go:
                self._next_answer()
        except EOFError:
            os._exit(1)

    def _request(self, prompt: str, *, secret: bool) -> str:
        if not self._allowed:
            from IPython.core.error import StdinNotImplementedError

            raise StdinNotImplementedError(REFUSAL)
        number = next(self._numbers)
        self._channel.send(Kind.INPUT_REQUEST, {"prompt": prompt, "password": secret, "id": number})
        while True:
            answer = self._next_answer()
            if answer.get("op") == "input" and answer.get("id") in (number, None):
                return str(answer.get("value", ""))

    def _next_answer(self) -> dict[str, Any]:
        while b"\n" not in self._rest:
            part = os.read(self._answers, 1 << 16)
            if not part:
                raise EOFError("input() got no answer: the job's shim is gone")
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        self._may_go = self._may_go or answer.get("op") == "go"
        return answer
