"""The verbs by which GPUs are governed: policy, limits, shares, reservations, usage. Asks the daemon, decides nothing."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from jupysched import words
from jupysched.cli_parts import add_verb, print_json, say
from jupysched.client import Client
from jupysched.core.errors import BadRequest
from jupysched.sim.trace import write_trace
from jupysched.wire.records import UsageRecord
from jupysched.wire.requests import Reserve


def add_verbs(verbs: Any) -> None:
    """Add them to the command line."""
    policy = add_verb(verbs, "policy", _policy, "show, list or set the policy", reads=True)
    policy.add_argument("action", nargs="?", choices=["show", "list", "set"], default="show")
    policy.add_argument("name", nargs="?")
    policy.add_argument("settings", nargs="*", metavar="setting=value")
    add_verb(verbs, "usage", _usage, "who uses, and has used, how much", reads=True)
    limit = add_verb(verbs, "limit", _limit, "what a user, group or class may use at most (admins)", reads=True)
    limit.add_argument("scope", help="user:ann, user:* (each user), group:vision, class:low")
    limit.add_argument(
        "limits",
        nargs="*",
        metavar="limit=number",
        help="gpus, running, pending, time_s, gpu_minutes_day, gpu_minutes_week; none: take the limits away",
    )
    share = add_verb(
        verbs, "share", _share, "what a user or group is entitled to beside the others (admins)", reads=True
    )
    share.add_argument("scope", help="user:ann, group:vision")
    share.add_argument("share", type=float, help="2 is entitled to twice what 1 is; 0 takes the entry away")
    share.add_argument("--parent", default="", help="the group it belongs to")
    reserve = add_verb(
        verbs, "reserve", _reserve, "keep GPUs for a class or a demo (admins); without arguments: list", reads=True
    )
    reserve.add_argument("name", nargs="?")
    reserve.add_argument("--for", dest="scope", default="", help="user:ann, group:course")
    reserve.add_argument("--gpus", type=int, help="how many; 0 ends the reservation")
    reserve.add_argument("--from", dest="start", help="2026-12-01T14:00 (local time)")
    reserve.add_argument("--to", dest="end", help="2026-12-01T16:00")
    history = add_verb(verbs, "history", _history, "this site's past as a trace for `jupysched simulate` (admins)")
    history.add_argument("action", choices=["export"])
    history.add_argument("file", help="where it goes: .csv or .csv.gz")


def pairs(given: Sequence[str]) -> dict[str, str]:
    """name=value words. Raises BadRequest."""
    found = {}
    for word in given:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise BadRequest(f"{word!r} is not of the form name=value.")
        found[name] = value
    return found


def _policy(options: argparse.Namespace) -> int:
    if options.action != "set" and options.name:
        raise BadRequest(
            f"`jupysched policy {options.action}` takes no name.",
            hint=f"`jupysched policy set {options.name}` sets one.",
        )
    if options.action == "set" and not options.name:
        raise BadRequest("`jupysched policy set` needs the name of a policy; `jupysched policy list` shows them.")
    with Client() as client:
        name = options.name if options.action == "set" else None
        found = client.policy(name, pairs(options.settings))
    if options.json:
        return print_json(found)
    if options.action == "list":
        return say("\n".join(f"{'*' if n == found.name else ' '} {n}" for n in found.known))
    return say(" ".join([found.name, *(f"{k}={v}" for k, v in found.settings.items())]))


def _usage(options: argparse.Namespace) -> int:
    with Client() as client:
        found = client.usage()
    return print_json(found) if options.json else say(usage_table(found))


def usage_table(usage: Sequence[UsageRecord]) -> str:
    """One scope a line, GPU-hours."""
    head = ("who", "GPUs", "running", "waiting", "GPU-hours", "today", "this week", "share", "limits")
    rows = [
        (
            u.scope,
            f"{u.gpus:g}",
            str(u.running),
            str(u.pending),
            f"{u.gpu_seconds / 3600:.1f}",
            f"{u.gpu_seconds_today / 3600:.1f}",
            f"{u.gpu_seconds_week / 3600:.1f}",
            "" if u.share is None else f"{u.share:g}",
            " ".join(f"{k}={v:g}" for k, v in u.limits.items()),
        )
        for u in usage
    ]
    return words.columns([head, *rows])


def _limit(options: argparse.Namespace) -> int:
    limits = {}
    for name, value in pairs(options.limits).items():
        try:
            limits[name] = float(value)
        except ValueError:
            raise BadRequest(f"{name} is {value!r}; expected a number.") from None
    with Client() as client:
        found = client.limit(options.scope, limits)
    return print_json(found) if options.json else say(usage_table(found))


def _share(options: argparse.Namespace) -> int:
    with Client() as client:
        found = client.share(options.scope, options.share, parent=options.parent)
    return print_json(found) if options.json else say(usage_table(found))


def _reserve(options: argparse.Namespace) -> int:
    if options.name is not None and options.gpus is None:
        raise BadRequest("How many GPUs? Say --gpus N to keep N, or --gpus 0 to end the reservation.")
    with Client() as client:
        if options.name is None:
            found = client.reservations()
        else:
            found = client.reserve(
                Reserve(
                    name=options.name,
                    scope=options.scope,
                    gpus=options.gpus,
                    starts_at=_time(options.start, "--from") if options.gpus else 0.0,
                    ends_at=_time(options.end, "--to") if options.gpus else 0.0,
                )
            )
    if options.json:
        return print_json(found)
    if not found:
        return say("Nothing is reserved.")
    head = ("name", "for", "GPUs", "from", "to")
    rows = [(r.name, r.scope, str(r.gpus), words.clock(r.starts_at), words.clock(r.ends_at)) for r in found]
    return say(words.columns([head, *rows]))


def _history(options: argparse.Namespace) -> int:
    with Client() as client:
        jobs = client.history()
    try:
        write_trace(jobs, options.file)
    except OSError as error:
        raise BadRequest(f"{options.file} cannot be written: {error}.") from error
    return say(f"{len(jobs)} jobs in {options.file}.")


def _time(text: str | None, option: str) -> float:
    if text is None:
        raise BadRequest(f"{option} is missing; expected a time such as 2026-12-01T14:00.")
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        raise BadRequest(f"{option} is {text!r}; expected a time such as 2026-12-01T14:00.") from None
