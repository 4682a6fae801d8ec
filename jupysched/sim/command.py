"""`jupysched simulate` and `jupysched history export`, as functions of their arguments. Prints, and writes reports."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from jupysched.core.errors import BadRequest
from jupysched.core.policies import POLICIES, check_policy, reads_of
from jupysched.core.policies.site import load_site_policies
from jupysched.sim.figures import Figures, figures_of
from jupysched.sim.promise import Promises
from jupysched.sim.sessions import hold_sessions
from jupysched.sim.table import rows_of, table
from jupysched.sim.trace import TraceJob, read_trace
from jupysched.sim.world import Run, Setup, World


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence; what there is, says --help."""

    def error(self, message: str) -> NoReturn:
        sys.stderr.write(f"{self.prog}: {message}; see {self.prog} --help\n")
        raise SystemExit(2)


def _at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds, 0 or more")
    return value


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is no setting; expected NAME=VALUE")
    return name, value


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="jupysched simulate",
        description="Try policies on a trace, in virtual time, with the code that the daemon runs.",
    )
    parser.add_argument("trace", help="a .csv or .csv.gz with job_id,user,submit_s,gpus,duration_s")
    parser.add_argument(
        "--policy",
        action="append",
        default=[],
        metavar="NAME",
        help=f"{', '.join(POLICIES)}; several by commas, or the option again (default: priority)",
    )
    parser.add_argument(
        "--gpus", type=_at_least_one, metavar="N", help="GPUs of the cluster (default: the widest job's)"
    )
    parser.add_argument(
        "--node-size",
        type=_at_least_one,
        default=8,
        metavar="N",
        help="GPUs of a node where jobs are packed (default 8)",
    )
    parser.add_argument(
        "--placement", choices=("count", "pack"), default="count", help="count GPUs alone, or pack jobs into nodes"
    )
    parser.add_argument(
        "--backfill",
        choices=("none", "skip", "easy"),
        help="who may pass the head of the queue (default: the policy's)",
    )
    parser.add_argument(
        "--preempt-overhead",
        type=_seconds,
        default=0.0,
        metavar="S",
        help="seconds lost each time a preempted job goes on (default 0)",
    )
    parser.add_argument(
        "--lengths",
        choices=("stated", "exact"),
        help="what the policy is told of lengths: stated limits, or the truth (default: exact for fifo with easy backfill, else stated)",
    )
    parser.add_argument(
        "--set", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="a setting of the policies"
    )
    parser.add_argument("--hold-sessions", action="store_true", help="what holding GPUs for whole sessions would cost")
    parser.add_argument("--promises", action="store_true", help="measure how far expected starts were off")
    parser.add_argument("--report", metavar="FILE.html", help="write one self-contained page with plots")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def run(argv: Sequence[str]) -> int:
    """Simulate; the exit code is 2 if the question makes no sense. Writes: the report, if asked for."""
    asked = _parser().parse_args(list(argv))
    policies = [name for text in asked.policy for name in text.split(",") if name] or ["priority"]
    settings: dict[str, str] = dict(asked.set)
    try:
        jobs = read_trace(asked.trace)
        _check(asked, jobs, policies, settings)
    except ValueError as error:
        sys.stderr.write(f"jupysched simulate: {error}\n")
        return 2
    if asked.hold_sessions:
        return _print_sessions(jobs, as_json=asked.json)
    results = [_simulate(jobs, policy, settings, asked) for policy in policies]
    outcomes = [(figures, promises) for figures, _, promises in results]
    text = json.dumps(rows_of(outcomes), indent=2) if asked.json else table(outcomes)
    sys.stdout.write(text + "\n")
    if asked.report:
        from jupysched.sim.report import write_report

        write_report(asked.report, asked.trace, [(figures, run) for figures, run, _ in results])
    return 0


def _check(
    asked: argparse.Namespace, jobs: Sequence[TraceJob], policies: Sequence[str], settings: Mapping[str, str]
) -> None:
    """Raises ValueError with the sentence that says what to do; before anything is simulated, for that may take long."""
    if not jobs:
        raise ValueError(f"{asked.trace} has no jobs, only its first line.")
    if asked.hold_sessions:
        return
    least = min(job.gpus for job in jobs)
    if asked.gpus is not None and asked.gpus < least:
        raise ValueError(f"All jobs of {asked.trace} ask for {least} GPUs or more; give --gpus {least} or more.")
    failures = load_site_policies()
    unknown = [name for name in policies if name not in POLICIES]
    if unknown:
        why = "".join(f" {name} could not be loaded: {said}." for name, said in failures.items())
        raise ValueError(f"There is no policy {', '.join(unknown)}; there are {', '.join(POLICIES)}.{why}")
    _check_settings(policies, settings)
    folder = Path(asked.report).absolute().parent if asked.report else None
    if folder is not None and (not os.access(folder, os.W_OK | os.X_OK) or Path(asked.report).is_dir()):
        raise ValueError(f"--report {asked.report}: no file can be written there; name one in a folder that is yours.")


def _check_settings(policies: Sequence[str], settings: Mapping[str, str]) -> None:
    """Of several policies, those that have a setting are given it."""
    for name, value in settings.items():
        having = [policy for policy in policies if name in reads_of(policy)]
        for policy in having or policies[:1]:
            try:
                check_policy(policy, {name: value})
            except BadRequest as error:
                raise ValueError(f"--set {name}={value}: {error}") from error


def _simulate(
    jobs: Sequence[TraceJob], policy: str, settings: dict[str, str], asked: argparse.Namespace
) -> tuple[Figures, Run, Promises | None]:
    gpus = asked.gpus or max(1, *(j.gpus for j in jobs))
    backfill = {"backfill": asked.backfill} if asked.backfill else {}
    exact = asked.lengths == "exact" or (asked.lengths is None and policy == "fifo" and asked.backfill == "easy")
    setup = Setup(
        gpus=gpus,
        node_size=asked.node_size,
        placement=asked.placement,
        overhead_s=asked.preempt_overhead,
        exact_lengths=exact,
    )
    # Exact backfill looks at everybody, as the published baselines do.
    depth = {"depth": str(len(jobs))} if exact else {}
    promises = Promises() if asked.promises else None
    watch = promises.watch if promises is not None else None
    world = World(jobs, policy, setup, {**depth, **settings, **backfill}, keep_load=bool(asked.report), watch=watch)
    began = time.perf_counter()
    run = world.play()
    figures = figures_of(run, policy, time.perf_counter() - began)
    if promises is not None:
        promises.settle(run)
    return figures, run, promises


def _print_sessions(jobs: Sequence[TraceJob], *, as_json: bool) -> int:
    held = hold_sessions(jobs)
    if as_json:
        text = json.dumps({**asdict(held), "times": held.times}, indent=2)
    else:
        text = (
            f"{held.sessions} sessions that hold their GPUs from first to last cell need {held.session_gpu_hours:,.0f} GPU-hours "
            f"and {held.session_peak_gpus:,} GPUs at the peak;\n"
            f"their cells alone need {held.cell_gpu_hours:,.0f} GPU-hours and {held.cell_peak_gpus:,} GPUs: {held.times:.1f} times less."
        )
    sys.stdout.write(text + "\n")
    return 0
