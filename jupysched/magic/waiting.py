"""A cell that ends as its job ends. Knows the kernel's main thread: interrupts, questions, what is raised. Queues nothing."""

from __future__ import annotations

import contextlib
import json
import queue
from typing import Any

from jupysched import spool
from jupysched.core.errors import JupyschedError
from jupysched.magic import failure
from jupysched.magic.desk import AnyCell, Desk
from jupysched.magic.job import Job

#: what the relay's thread says to the cell that waits: a question with its attempt's directory, or None at the end
Word = tuple[dict[str, Any], str] | None


class Waiting:
    """One waiting cell."""

    def __init__(self, desk: Desk, job: Job, cell: AnyCell) -> None:
        self._desk = desk
        self._job = job
        self._cell = cell
        # Its get() in the main thread gives way to a signal at once.
        self._words: queue.SimpleQueue[Word] = queue.SimpleQueue()
        self._interrupts = 0

    def ask(self, request: dict[str, Any], path: str) -> None:
        """Called by the relay with a question of the job."""
        self._words.put((request, path))

    def until_ended(self) -> None:
        """Return when the job has succeeded, with its results landed. Raises what the job raised, or KeyboardInterrupt."""
        self._job.call_when_ended(lambda: self._words.put(None))
        while True:
            try:
                word = self._words.get()
                if word is None:
                    break
                self._answer(*word)
            except KeyboardInterrupt:
                self._interrupted()
        self._land()
        error: BaseException | None
        if self._interrupts:
            error = failure.interrupted(self._job.end)
        else:
            error = self._job.error
        if error is not None:
            raise error

    def _interrupted(self) -> None:
        """The first one interrupts the job; each one more takes the next step towards its end."""
        self._interrupts += 1
        while True:
            try:
                with contextlib.suppress(JupyschedError):
                    self._job.cancel()
            except KeyboardInterrupt:
                self._interrupts += 1
                continue
            return

    def _answer(self, request: dict[str, Any], path: str) -> None:
        """Ask the person in front of the notebook."""
        kernel = self._desk.shell.kernel
        ask = kernel.getpass if request.get("password") else kernel.raw_input
        try:
            value = ask(str(request.get("prompt", "")))
        except EOFError:
            value = "\x04"
        line = json.dumps({"op": "input", "id": request.get("id"), "value": value}).encode() + b"\n"
        with contextlib.suppress(OSError), spool.connect_control(path) as connection:
            connection.sendall(line)

    def _land(self) -> None:
        """Results come in at once: the cell that asked for them is the one that waits."""
        self._desk.land(self._job)
        for note in self._job.facts.notes:
            self._cell.send("stream", {"name": "stderr", "text": f"{note}\n"})
