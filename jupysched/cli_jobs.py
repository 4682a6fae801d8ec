"""How a command line is read: which word was meant, and which jobs `12` and `last` are. Knows words; knows no verb."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import Any

from jupysched.client import Client
from jupysched.core.errors import NoSuchJob

#: jobs of the user that `last` looks at
MOST_JOBS = 1000
#: how like a word must be to be taken for a misspelling: bogus is not logs
NEAR = 0.7
WHICH = "its number, or `last` for your newest one"


class Parser(argparse.ArgumentParser):
    """One that says which word may have been meant."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            given = sys.argv[1:] if args is None else list(args)
            self._of_verb(given).error(self._of_unknown(unknown[0].partition("=")[0], given))
        return found

    def _of_unknown(self, word: str, given: Sequence[str]) -> str:
        if not word.startswith("-"):
            return f"{word!r} is one word too many"
        known = [option for action in self._of_verb(given)._actions for option in action.option_strings]
        near = difflib.get_close_matches(word, known, n=1, cutoff=NEAR)
        return f"there is no option {word}" + (f"; did you mean {near[0]}?" if near else "")

    def _of_verb(self, given: Sequence[str]) -> argparse.ArgumentParser:
        """The parser of the verb that was given; this one without a verb."""
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                return next((action.choices[word] for word in given if word in action.choices), self)
        return self

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = [str(choice) for choice in action.choices]
            near = difflib.get_close_matches(str(value), known, n=1, cutoff=NEAR)
            raise argparse.ArgumentError(
                action,
                f"there is no {value!r}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"),
            )


def job_word(word: str) -> int | None:
    """A job's number; None for the newest. Raises as argparse wants it."""
    if word == "last":
        return None
    if not word.isdecimal():
        raise argparse.ArgumentTypeError(f"{word!r} names no job; expected its number, or `last`")
    return int(word)


def at_least_one(word: str) -> int:
    """A whole number of at least 1. Raises as argparse wants it."""
    if not word.isdecimal() or int(word) < 1:
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number of at least 1")
    return int(word)


def numbers(client: Client, words: Sequence[int | None]) -> list[int]:
    """The jobs that these words stand for. Raises NoSuchJob."""
    newest = _newest(client) if None in words else 0
    return [newest if word is None else word for word in words]


def _newest(client: Client) -> int:
    mine = [job.id for job in client.jobs(limit=MOST_JOBS).jobs if job.mine]
    if not mine:
        raise NoSuchJob("You have no jobs yet.", hint="Begin a cell with %%gpujob.")
    return max(mine)


def in_a_terminal(sentence: str) -> str:
    """Where an error names a magic, the verb that does the same here."""
    said = sentence.replace("`%gpujobs`", "`jupysched queue`").replace(
        "`%%gpujob?` lists", "`jupysched submit --help` lists"
    )
    return said.replace("`%gpujob ", "`jupysched ")
