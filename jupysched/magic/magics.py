"""%%gpujob, %gpujob and %gpujobs as IPython knows them. Knows IPython; what they do stands in submit, waiting and verbs."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from jupysched import variables
from jupysched.core.errors import BadRequest
from jupysched.magic import args, card, cell, preview, table
from jupysched.magic.args import Asked, read_line, split
from jupysched.magic.desk import AnyCell, Desk
from jupysched.magic.submit import dry_run, submit
from jupysched.magic.verbs import VERBS_HELP, Verbs
from jupysched.magic.waiting import Waiting
from jupysched.magic.work import is_empty

MOST_ROWS = 30
#: what asks for help instead of a job
_HELP_WORDS = frozenset({"--help", "-h"})
_NO_BODY = re.compile(r"\s*%%gpujob(?:[ \t][^\n]*)?\s*")


class GpuMagics:
    """The doors to the queue in a notebook."""

    def __init__(self, shell: Any, desk: Desk) -> None:
        self._shell = shell
        self._desk = desk

    def register(self) -> None:
        """Make the shell know them."""
        for kind, name, function in self._all():
            self._shell.register_magic_function(function, magic_kind=kind, magic_name=name)
        self._shell.input_transformers_cleanup.insert(0, give_body)

    def forget(self) -> None:
        """Take them away again."""
        for kind, name, _ in self._all():
            self._shell.magics_manager.magics[kind].pop(name, None)
        if give_body in self._shell.input_transformers_cleanup:
            self._shell.input_transformers_cleanup.remove(give_body)

    def _all(self) -> list[tuple[str, str, Callable[..., None]]]:
        return [
            ("cell", "gpujob", self.gpujob_cell),
            ("line", "gpujob", self.gpujob),
            ("line", "gpujobs", self.gpujobs),
        ]

    def gpujob_cell(self, line: str, body: str) -> None:
        # The docstring is made below, from the options' table.
        if _HELP_WORDS & set(split(line)):
            self._say(args.help_text())
            return
        asked = read_line(line)
        if is_empty(body):
            raise BadRequest(
                "The cell is empty: there is nothing to run.", hint="Write the cell's code below the %%gpujob line."
            )
        here = cell.current(self._shell)
        if asked.dry_run:
            record, draft = dry_run(self._desk, asked, body, cell=here)
            here.send("stream", {"name": "stdout", "text": preview.words(asked, record, draft.packed, draft.missing)})
            return
        waits = asked.wait or not here.keeps_late_output or bool(variables.is_on("JUPYSCHED_WAIT"))
        self._run(asked, body, here, waits=waits)

    def _run(self, asked: Asked, body: str, here: AnyCell, *, waits: bool) -> None:
        job = submit(self._desk, asked, body, cell=here, allow_stdin=waits and here.allows_input)
        waiting = Waiting(self._desk, job, here) if waits else None
        try:
            self._desk.add(job, here)
            here.send("display_data", card.content(job.record_at_submission, job.facts))
            self._desk.follow(job, cell=here, waits=waits, ask=waiting.ask if waiting else None, is_fresh=True)
        except KeyboardInterrupt:
            # Stop was pressed in the instant between: a job that nobody follows must not run.
            job.cancel()
            raise
        if waiting is not None:
            waiting.until_ended()

    def gpujob(self, line: str) -> None:
        Verbs(self._desk, cell.current(self._shell)).run(line)

    def gpujobs(self, line: str) -> None:
        """My jobs: running, waiting in their order, held, ended. `%gpujobs --all` shows everybody's."""
        given = split(line)
        if _HELP_WORDS & set(given):
            self._say(self.gpujobs.__doc__ or "")
            return
        if unknown := [word for word in given if word != "--all"]:
            raise BadRequest(f"{unknown[0]!r} is no option of %gpujobs.", hint="`--all` shows everybody's jobs.")
        page = self._desk.call(lambda client: client.jobs(limit=1000))
        chosen = [record for record in page.jobs if record.mine or given]
        here = cell.current(self._shell)
        # Where nobody sits before the notebook (nbconvert, papermill) a table that lives is a dead box in what they save.
        if chosen and isinstance(here, cell.KernelCell) and here.allows_input and find_spec("ipywidgets"):
            from jupysched.magic import table_widget

            table_widget.display(self._desk, here, page.jobs, everybodys=bool(given))
            return
        here.send("display_data", table.content(chosen[:MOST_ROWS], total=len(chosen)))

    def _say(self, text: str) -> None:
        cell.current(self._shell).send("stream", {"name": "stdout", "text": f"{text}\n"})


GpuMagics.gpujob_cell.__doc__ = args.help_text()
GpuMagics.gpujob.__doc__ = f"""Look at jobs and change them.

{VERBS_HELP}
"""


def give_body(lines: list[str]) -> list[str]:
    """An input transformer: IPython refuses a cell magic without a body before it is asked, so `%%gpujob --help` gets an empty line."""
    return [*lines, "\n", "\n"] if _NO_BODY.fullmatch("".join(lines)) else lines


# Who asks whether a cell is complete (a terminal, a console) must not hear that its body is there already.
give_body.has_side_effects = True  # type: ignore[attr-defined]
