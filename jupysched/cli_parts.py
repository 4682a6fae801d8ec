"""What the verbs of the command line share: how one is added, how its answer is printed."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import msgspec

Verb = Callable[[argparse.Namespace], int]


def add_verb(verbs: Any, name: str, verb: Verb, text: str, *, reads: bool = False) -> argparse.ArgumentParser:
    """The parser of one verb; those that read take --json."""
    parser: argparse.ArgumentParser = verbs.add_parser(name, help=text, description=text)
    parser.set_defaults(verb=verb)
    if reads:
        parser.add_argument("--json", action="store_true", help="print records as JSON")
    return parser


def print_json(value: Any) -> int:
    """Records as JSON, on standard output."""
    return say(json.dumps(msgspec.to_builtins(value), indent=2, ensure_ascii=False))


def say(text: str) -> int:
    """A text on standard output; the exit code of a verb that did what it should."""
    sys.stdout.write(f"{text}\n")
    return 0
