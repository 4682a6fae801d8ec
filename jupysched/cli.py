"""`jupysched`: one function a verb. Talks to the daemon through the client; starts it, never imports it."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from jupysched import __version__, admin, phrases, places, words
from jupysched.cli_jobs import WHICH, Parser, at_least_one, in_a_terminal, job_word, numbers
from jupysched.cli_parts import Verb, add_verb, print_json, say
from jupysched.cli_submit import add_submit
from jupysched.client import Client
from jupysched.core.errors import DaemonMissing, JupyschedError, UserError
from jupysched.core.states import JobState
from jupysched.wire.records import JobRecord


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb. Exit codes: 0 it was so, 1 it could not be, 2 the command line is wrong, 130 it was interrupted."""
    words_given = list(sys.argv[1:] if argv is None else argv)
    forwarded = {"simulate": _simulate, "serve": _serve, "bench": _bench}
    if words_given and words_given[0] in forwarded:
        return forwarded[words_given[0]](words_given[1:])
    parser = make_parser()
    options = _for_lab(words_given) or parser.parse_args(words_given)
    verb: Verb | None = getattr(options, "verb", None)
    if verb is None:
        parser.print_help()
        return 2
    try:
        return verb(options)
    except JupyschedError as error:
        print(f"jupysched: {in_a_terminal(str(error))}", file=sys.stderr)
        return 2 if isinstance(error, UserError) and error.code == "bad_request" else 1
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        return 130


def _for_lab(given: Sequence[str]) -> argparse.Namespace | None:
    """All that stands behind `lab` is JupyterLab's, also what looks like an option of ours; argparse would refuse --no-browser."""
    if given[:1] != ["lab"] or given[1:2] in (["-h"], ["--help"]):
        return None
    return argparse.Namespace(verb=_lab, rest=list(given[2:] if given[1:2] == ["--"] else given[1:]))


def make_parser() -> argparse.ArgumentParser:
    """The command line, as `--help` and the README show it."""
    parser = Parser(prog="jupysched", description="A notebook cell becomes a queued GPU job.")
    parser.add_argument("--version", action="version", version=f"jupysched {__version__}")
    verbs = parser.add_subparsers(title="verbs", metavar="VERB")
    _reading_verbs(verbs)
    _changing_verbs(verbs)
    admin.add_verbs(verbs)
    _program_verbs(verbs)
    return parser


def _reading_verbs(verbs: Any) -> None:
    queue = add_verb(verbs, "queue", _queue, "list jobs: running, waiting in order, held, ended", reads=True)
    queue.add_argument("--mine", action="store_true", help="only your own jobs")
    queue.add_argument(
        "--state",
        action="append",
        choices=[state.value for state in JobState],
        metavar="STATE",
        help="only jobs in this state (may be repeated)",
    )
    queue.add_argument("--limit", type=at_least_one, default=50, help="at most so many (default 50)")
    for name, verb, text in (
        ("show", _show, "all that is known of a job"),
        ("why", _why, "why a job waits, or why it ended so"),
    ):
        add_verb(verbs, name, verb, text, reads=True).add_argument("job", type=job_word, help=WHICH)
    logs = add_verb(verbs, "logs", _logs, "what a job printed")
    logs.add_argument("job", type=job_word, help=WHICH)
    logs.add_argument("-f", "--follow", action="store_true", help="go on until the job ends")
    add_verb(verbs, "top", _top, "every GPU: who holds it, how busy it is", reads=True)
    add_verb(verbs, "doctor", _doctor, "check this installation and say what to mend", reads=True)


def _changing_verbs(verbs: Any) -> None:
    for name, verb, text in (
        ("cancel", _cancel, "end jobs; running ones are interrupted, then terminated, then stopped for good"),
        ("hold", _hold, "waiting jobs are not considered until released"),
        ("release", _release, "held jobs wait again"),
        ("front", _front, "waiting jobs ahead of your other ones of their class; by an admin, ahead of all"),
        ("requeue", _requeue, "back into the queue; running jobs are stopped first"),
    ):
        add_verb(verbs, name, verb, text).add_argument("jobs", type=job_word, nargs="+", metavar="job", help=WHICH)
    priority = add_verb(verbs, "priority", _priority, "change the class of waiting jobs")
    priority.add_argument("priority", choices=["low", "normal", "high"])
    priority.add_argument("jobs", type=job_word, nargs="+", metavar="job", help=WHICH)
    drain = add_verb(verbs, "drain", _drain, "GPUs that take no new job (admins)")
    drain.add_argument("gpus", nargs="+", metavar="gpu", help="index, UUID or node")
    drain.add_argument("--why", default="", help="the sentence that others will read")
    drain.add_argument("--restore", action="store_true", help="let them take jobs again")


def _program_verbs(verbs: Any) -> None:
    lab = add_verb(verbs, "lab", _lab, "JupyterLab with everything ready")
    lab.add_argument(
        "rest", nargs=argparse.REMAINDER, help="what `jupyter lab` takes: a notebook, --no-browser, --port ..."
    )
    demo = add_verb(verbs, "demo", _demo, "run the quick start notebook in a real kernel and report its jobs")
    demo.add_argument("--output", default="quickstart.html", help="where the executed notebook goes (HTML)")
    add_submit(verbs)
    add_verb(verbs, "stop-daemon", _stop_daemon, "end the daemon; jobs go on, and the next command starts it again")
    for name, text in (
        ("serve", "run the daemon in the foreground (see `jupysched serve --help`)"),
        ("simulate", "try policies on a trace (see `jupysched simulate --help`)"),
        ("bench", "measure this installation"),
    ):
        verbs.add_parser(name, help=text)


def _client() -> Client:
    return Client()


def _queue(options: argparse.Namespace) -> int:
    with _client() as client:
        users = [words.user_name(os.getuid())] if options.mine else None
        page = client.jobs(users=users, states=options.state, limit=options.limit)
    if options.json:
        return print_json(page.jobs)
    if not page.jobs and (options.mine or options.state):
        print("No job is like that; `jupysched queue` shows all.")
    elif not page.jobs:
        print("No jobs. In a notebook: %load_ext jupysched, then %%gpujob over a cell.")
    else:
        print(words.table(page.jobs))
        if page.total > len(page.jobs):
            print(f"{page.total - len(page.jobs)} more; --limit shows them.")
    return 0


def _show(options: argparse.Namespace) -> int:
    with _client() as client:
        job = client.job(*numbers(client, [options.job]))
    return print_json(job) if options.json else say(words.details(job))


def _why(options: argparse.Namespace) -> int:
    with _client() as client:
        job = client.job(*numbers(client, [options.job]))
    if options.json:
        return print_json({"id": job.id, "state": job.state, "reason": job.reason, "why": job.why})
    return say(words.why(job))


def _logs(options: argparse.Namespace) -> int:
    from jupysched.logs import show, texts

    with _client() as client:
        job = client.job(*numbers(client, [options.job]))
        if not job.directory:
            raise UserError(f"Job {job.id} belongs to {job.user}; only they can read what it printed.")
        said = False
        for text in texts(client, job, follow=options.follow):
            show(text, sys.stdout)
            said = True
    if not said:
        print(f"Job {job.id} ({phrases.short_name(job.name)}) has printed nothing.", file=sys.stderr)
    return 0


def _top(options: argparse.Namespace) -> int:
    with _client() as client:
        gpus = client.gpus()
        names = {j.id: j for j in client.jobs(states=["starting", "running", "stopping"], limit=1000).jobs}
    return print_json(gpus) if options.json else say(words.gpu_table(gpus, names))


def _changed(jobs: list[JobRecord]) -> int:
    for job in jobs:
        print(words.one_line(job))
    return 0


def _cancel(options: argparse.Namespace) -> int:
    with _client() as client:
        for job in client.cancel(*numbers(client, options.jobs)):
            print(words.had_ended(job) if words.ended_by_itself(job) else words.one_line(job))
    return 0


def _hold(options: argparse.Namespace) -> int:
    with _client() as client:
        return _changed(client.hold(*numbers(client, options.jobs)))


def _release(options: argparse.Namespace) -> int:
    with _client() as client:
        return _changed(client.release(*numbers(client, options.jobs)))


def _front(options: argparse.Namespace) -> int:
    with _client() as client:
        return _changed(client.front(*numbers(client, options.jobs)))


def _requeue(options: argparse.Namespace) -> int:
    with _client() as client:
        return _changed(client.requeue(*numbers(client, options.jobs)))


def _priority(options: argparse.Namespace) -> int:
    with _client() as client:
        return _changed(client.set_priority(options.priority, *numbers(client, options.jobs)))


def _drain(options: argparse.Namespace) -> int:
    with _client() as client:
        return say(words.gpu_table(client.drain(options.gpus, why=options.why, restore=options.restore), {}))


def _doctor(options: argparse.Namespace) -> int:
    from jupysched.doctor import findings as look

    with Client() as client:
        findings = look(client)
    if options.json:
        print_json(findings)
    else:
        for f in findings:
            print(f"{'ok  ' if f.ok else 'MEND'} {f.what}: {f.said}")
    return 0 if all(f.ok for f in findings) else 1


def _stop_daemon(_: argparse.Namespace) -> int:
    try:
        with Client(start=False) as client:
            client.shutdown()
    except DaemonMissing:
        return say("There is no daemon.")
    while places.socket_path().exists() and _listens():
        time.sleep(0.05)
    return say("The daemon has ended; jobs go on.")


def _listens() -> bool:
    try:
        with Client(start=False) as client:
            client.hello()
    except DaemonMissing:
        return False
    return True


def _lab(options: argparse.Namespace) -> int:
    with _client() as client:
        client.hello()
    # Who runs this as root (in a container, on a fresh machine) has decided that already; Jupyter would refuse.
    root = ["--allow-root"] if os.geteuid() == 0 and "--allow-root" not in options.rest else []
    return subprocess.call([sys.executable, "-m", "jupyterlab", *root, *options.rest])


def _demo(options: argparse.Namespace) -> int:
    from jupysched.demo import run

    return run(options.output)


def _serve(rest: list[str]) -> int:
    return subprocess.call([sys.executable, "-m", "jupysched.daemon", *rest])


def _simulate(rest: list[str]) -> int:
    from jupysched.sim.command import run

    return run(rest)


def _bench(rest: list[str]) -> int:
    if find_spec("benchmarks") is None and not os.path.isdir("benchmarks"):
        print("jupysched: the benchmarks lie in a clone of jupysched; run `jupysched bench` there.", file=sys.stderr)
        return 1
    return subprocess.call([sys.executable, "-m", "benchmarks", *rest])
