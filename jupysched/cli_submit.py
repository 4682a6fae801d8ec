"""`jupysched submit`: a Python file as a job. Knows its command line, and what is printed of the job when it is waited for."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import Any

from jupysched import words
from jupysched.cli_parts import add_verb, say
from jupysched.client import Client
from jupysched.logs import pieces, show
from jupysched.magic.options import OPTIONS
from jupysched.wire.records import JobRecord

#: where the words of the magic would mislead
_HELP = {
    "--wait": "print what it prints, and exit as it does; Ctrl-C cancels it",
    "--dry-run": "say what it would ask for and when it would start; queue nothing",
    "--out": "variables to keep for `%gpujob fetch` (default: none), separated by commas",
    "--after": "start when these jobs have succeeded: ids or `last`, separated by commas",
}
_NOT_HERE = ("--in",)


def add_submit(verbs: Any) -> None:
    """Add it to the command line."""
    submit = add_verb(verbs, "submit", _submit, "queue a Python file as a job")
    submit.usage = "jupysched submit [options] FILE [args ...]"
    submit.description = (
        "Queue a Python file as a job. It runs as `python FILE args` does, here and with this environment."
    )
    submit.allow_abbrev = False
    for option in OPTIONS:
        if option.word in _NOT_HERE:
            continue
        said = _HELP.get(option.word, option.help).replace("%", "%%")
        if option.metavar:
            submit.add_argument(option.word, metavar=option.metavar, help=said, dest=option.word)
        else:
            submit.add_argument(option.word, action="store_true", help=said, dest=option.word)
    submit.add_argument("file", metavar="FILE", help="a Python file")
    rest = submit.add_argument(
        "args", metavar="args", nargs=argparse.REMAINDER, help="arguments of the file (its sys.argv)"
    )
    rest.required = False


def _submit(options: argparse.Namespace) -> int:
    # Packing imports much: only who submits waits for it.
    from jupysched.magic.args import read_line
    from jupysched.magic.script import preview_script, read_script, submit_script

    script = read_script(options.file, options.args)
    asked = read_line(shlex.join(_given(vars(options))))
    _warn_of_misplaced(options.file, options.args)
    if asked.dry_run:
        return say(preview_script(script, asked))
    job = submit_script(script, asked)
    if asked.wait:
        print(words.one_line(job), file=sys.stderr)
        return _wait(job)
    return say(words.one_line(job))


def _given(values: dict[str, Any]) -> list[str]:
    found = []
    for option in OPTIONS:
        value = values.get(option.word)
        if value is True:
            found.append(option.word)
        elif isinstance(value, str):
            found.append(f"{option.word}={value}")
    return found


def _warn_of_misplaced(file: str, args: Sequence[str]) -> None:
    known = {option.word for option in OPTIONS}
    misplaced = [word for word in args if word.partition("=")[0] in known]
    if misplaced:
        print(
            f"jupysched: {misplaced[0]} goes to {file}; what is meant for the job stands before the file.",
            file=sys.stderr,
        )


def _wait(job: JobRecord) -> int:
    with Client() as client:
        try:
            for is_error, text in pieces(client, job, follow=True):
                show(text, sys.stderr if is_error else sys.stdout)
            ended = client.job(job.id)
        except KeyboardInterrupt:
            client.cancel(job.id)
            print(words.one_line(client.job(job.id)), file=sys.stderr)
            return 130
    if ended.state == "succeeded":
        return 0
    print(f"jupysched: {words.why(ended)}", file=sys.stderr)
    return _exit_code(ended)


def _exit_code(job: JobRecord) -> int:
    """As a shell would report it."""
    if job.exit is not None and job.exit.signal is not None:
        return 128 + job.exit.signal
    return (job.exit.code if job.exit is not None else None) or 1
