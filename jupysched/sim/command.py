"""`jupysched simulate` and `jupysched history export`, as functions of their arguments. Prints, and writes reports."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from jupysched.core.policies import POLICIES
from jupysched.core.policies.site import load_site_policies
from jupysched.sim.figures import Figures, figures_of
from jupysched.sim.promise import Promises
from jupysched.sim.sessions import hold_sessions
from jupysched.sim.trace import TraceJob, TraceUnreadable, read_trace
from jupysched.sim.world import Run, Setup, World

SHOWN = (
    "mean_jct_s",
    "median_jct_s",
    "p99_jct_s",
    "mean_wait_s",
    "p99_wait_s",
    "max_wait_s",
    "preemptions",
    "utilization",
    "jain",
)


@dataclass(frozen=True, slots=True)
class Result:
    """One policy's run, and what it amounts to."""

    figures: Figures
    run: Run
    promises: Promises | None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="jupysched simulate",
        description="Try policies on a trace, in virtual time, with the code that the daemon runs.",
    )
    parser.add_argument("trace", help="a .csv or .csv.gz with job_id,user,submit_s,gpus,duration_s")
    parser.add_argument(
        "--policy",
        action="append",
        metavar="NAME",
        help=f"{', '.join(POLICIES)}; may be given several times (default: priority)",
    )
    parser.add_argument("--gpus", type=int, metavar="N", help="GPUs of the cluster (default: the widest job's)")
    parser.add_argument("--node-size", type=int, default=8, metavar="N", help="GPUs of a node (default 8)")
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
        type=float,
        default=0.0,
        metavar="S",
        help="seconds lost each time a preempted job goes on",
    )
    parser.add_argument(
        "--lengths",
        choices=("stated", "exact"),
        help="what the policy is told of lengths: stated limits, or the truth (default: exact for fifo with easy backfill, else stated)",
    )
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the policies")
    parser.add_argument("--hold-sessions", action="store_true", help="what holding GPUs for whole sessions would cost")
    parser.add_argument("--promises", action="store_true", help="measure how far expected starts were off")
    parser.add_argument("--report", metavar="FILE.html", help="write one self-contained page with plots")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    return parser


def run(argv: Sequence[str]) -> int:
    """Simulate; the exit code is 2 if the question makes no sense. Writes: the report, if asked for."""
    asked = _parser().parse_args(list(argv))
    failures = load_site_policies()
    policies = asked.policy or ["priority"]
    try:
        jobs = read_trace(asked.trace)
        settings = dict(_setting(text) for text in asked.set)
        unknown = [p for p in policies if p not in POLICIES]
        if unknown:
            why = "".join(f" {name} could not be loaded: {said}." for name, said in failures.items())
            raise ValueError(f"There is no policy {', '.join(unknown)}; there are {', '.join(POLICIES)}.{why}")
        if not jobs:
            raise ValueError(f"{asked.trace} has no jobs.")
        if asked.gpus is not None and asked.gpus < 1:
            raise ValueError("--gpus must be at least 1.")
    except (OSError, TraceUnreadable, ValueError) as error:
        sys.stderr.write(f"jupysched simulate: {error}\n")
        return 2
    if asked.hold_sessions:
        return _print_sessions(jobs, as_json=asked.json)
    results = [_simulate(jobs, policy, settings, asked) for policy in policies]
    if asked.report:
        from jupysched.sim.report import write_report

        write_report(asked.report, asked.trace, [(r.figures, r.run) for r in results])
    _print(results, as_json=asked.json)
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found or not name:
        raise ValueError(f"--set {text}: a setting is NAME=VALUE.")
    return name, value


def _simulate(jobs: Sequence[TraceJob], policy: str, settings: dict[str, str], asked: argparse.Namespace) -> Result:
    gpus = asked.gpus or max(j.gpus for j in jobs)
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
    return Result(figures, run, promises)


def _print(results: Sequence[Result], *, as_json: bool) -> None:
    if as_json:
        rows = []
        for result in results:
            more = result.promises.as_dict() if result.promises is not None else {}
            rows.append({**asdict(result.figures), **more})
        _say(json.dumps(rows, indent=2))
        return
    _say(f"{'policy':<12}" + "".join(f"{name.removesuffix('_s'):>14}" for name in SHOWN))
    for result in results:
        values = asdict(result.figures)
        cells = (f"{values[n]:>14,.3f}" if n in ("utilization", "jain") else f"{values[n]:>14,.0f}" for n in SHOWN)
        _say(f"{result.figures.policy:<12}" + "".join(cells))
        if result.promises is not None:
            _say(f"{'':<12}{result.promises.sentence()}")
    first = results[0].figures
    dropped = f"; {first.dropped} were dropped, wider than the cluster" if first.dropped else ""
    _say(f"\n{first.jobs} jobs{dropped}. Times in seconds.")


def _print_sessions(jobs: Sequence[TraceJob], *, as_json: bool) -> int:
    held = hold_sessions(jobs)
    if as_json:
        _say(json.dumps({**asdict(held), "times": held.times}, indent=2))
    else:
        _say(
            f"{held.sessions} sessions that hold their GPUs from first to last cell need {held.session_gpu_hours:,.0f} GPU-hours "
            f"and {held.session_peak_gpus:,} GPUs at the peak;\n"
            f"their cells alone need {held.cell_gpu_hours:,.0f} GPU-hours and {held.cell_peak_gpus:,} GPUs: {held.times:.1f} times less."
        )
    return 0
