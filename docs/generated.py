"""The generated blocks of the documents: `make docs` writes them, `make check` finds those that are out of date."""

from __future__ import annotations

import argparse
import inspect
import re

import msgspec

from jupysched import cli
from jupysched.core.states import REASONS, TRANSITIONS, JobState
from jupysched.daemon import settings
from jupysched.magic import args


def fenced(text: str, language: str = "text") -> str:
    """A code block."""
    return f"```{language}\n{text.rstrip()}\n```"


def magic_help() -> str:
    """What `%%gpujob?` shows."""
    return fenced(args.help_text())


def cli_help() -> str:
    """`jupysched --help`, and a line for each verb."""
    parser = cli.make_parser()
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=110, max_help_position=28)
    return fenced(parser.format_help())


def settings_table() -> str:
    """One row a setting: name, default, meaning (the comment above the field is its help line)."""
    source = inspect.getsource(settings.Settings)
    helps = dict(re.findall(r"#: (.+)\n    (\w+):", source))
    rows = ["| setting | default | meaning |", "|---|---|---|"]
    for found in msgspec.structs.fields(settings.Settings):
        meaning = next(text for text, name in helps.items() if name == found.name)
        rows.append(f"| `{found.name}` | `{found.default!r}` | {meaning} |")
    return "\n".join(rows)


def states() -> str:
    """The states, and where each can go."""
    rows = ["| state | may become |", "|---|---|"]
    for state in JobState:
        after = sorted(
            {t.value for (s, _), targets in TRANSITIONS.items() if s is state for t in targets if t is not state}
        )
        rows.append(f"| `{state.value}` | {', '.join(f'`{a}`' for a in after)} |")
    return "\n".join(rows)


def reasons() -> str:
    """Every reason with its sentence."""
    return "\n".join(["| reason | means |", "|---|---|", *(f"| `{r.value}` | {s} |" for r, s in REASONS.items())])
