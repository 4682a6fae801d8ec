"""What follows %gpujob: show, logs, attach, fetch, why, cancel, hold, release, front, requeue, priority. One function a verb."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from typing import Any

from jupysched import phrases, spool, variables, words
from jupysched.core.errors import BadRequest, NotYours, WrongState
from jupysched.magic import card, look
from jupysched.magic.args import split
from jupysched.magic.desk import AnyCell, Desk
from jupysched.magic.follow import all_frames
from jupysched.magic.job import Job
from jupysched.magic.options import Malformed, job_word, priority, whole
from jupysched.magic.tracked import has_ended
from jupysched.magic.waiting import Waiting
from jupysched.wire.records import JobRecord

#: a message of a log is at most this long
_PIECE = 1 << 20


class Verbs:
    """The verbs, at one desk and in one cell."""

    def __init__(self, desk: Desk, cell: AnyCell) -> None:
        self._desk = desk
        self._cell = cell

    def run(self, line: str) -> None:
        """Carry out one line. Raises BadRequest, NoSuchJob, NotYours, WrongState."""
        verb, *rest = split(line) or ["help"]
        known = self.known()
        if {"--help", "-h"} & {verb, *rest}:
            verb = "help"
        if verb.startswith("--"):
            raise BadRequest(
                f"`%gpujob` takes a verb, and {verb} is none.", hint="Options of a job follow `%%gpujob`, over a cell."
            )
        if verb not in known:
            near = difflib.get_close_matches(verb, known, n=1, cutoff=0.6)
            said = (
                f"Did you mean `%gpujob {near[0]}`?" if near else f"There are {phrases.listed(sorted(known), most=20)}."
            )
            raise BadRequest(f"There is no `%gpujob {verb}`.", hint=said)
        known[verb](rest)

    def known(self) -> dict[str, Callable[[list[str]], None]]:
        """Every verb."""
        return {
            "show": self.show,
            "logs": self.logs,
            "attach": self.attach,
            "fetch": self.fetch,
            "why": self.why,
            "cancel": self.cancel,
            "hold": self.hold,
            "release": self.release,
            "front": self.front,
            "requeue": self.requeue,
            "priority": self.priority,
            "help": self.help,
        }

    # --- reading -----------------------------------------------------------------------------------------------------

    def help(self, _: list[str]) -> None:
        """What there is."""
        self._say(VERBS_HELP)

    def show(self, rest: list[str]) -> None:
        """All that is known of a job."""
        record = self._one(rest).refresh()
        pairs = _described(record)
        width = max(len(name) for name, _ in pairs)
        plain = "\n".join(f"{name:<{width}}  {value}" for name, value in pairs)
        self._display({"text/plain": plain, "text/html": look.table(("", ""), pairs)})

    def why(self, rest: list[str]) -> None:
        """Why it waits, and until when; or why it ended so."""
        job = self._one(rest)
        record = job.refresh()
        said = [f"Job {record.id} ({phrases.short_name(record.name)}): {card.pill(record)}."]
        at = phrases.clock(record.expected_start_at) if record.expected_start_at else ""
        is_told = "should start in" in record.why
        if record.why:
            sentence = phrases.tidy(record.why).rstrip(".") + (f", by {at}." if at and is_told else ".")
            said.append(sentence[:1].upper() + sentence[1:])
        if at and not is_told:
            said.append(f"It should start about {at}.")
        self._say(" ".join(said))

    def logs(self, rest: list[str]) -> None:
        """What it printed, from its spool: all of it, or the last -n lines."""
        lines = None
        if "-n" in rest:
            at = rest.index("-n")
            lines = self._read(lambda w: whole(w, least=1), "-n", rest[at + 1 : at + 2])
            del rest[at : at + 2]
        record = self._own(rest).record
        streams = {spool.Kind.STDOUT: "stdout", spool.Kind.STDERR: "stderr"}
        pieces = [
            (streams[spool.Kind(frame.kind)], frame.payload)
            for frame in all_frames(record.directory, record.attempt)
            if frame.kind in streams
        ]
        if not pieces:
            self._say(f"Job {record.id} ({phrases.short_name(record.name)}) has printed nothing.")
        for name, payload in _last_lines(pieces, lines) if lines else pieces:
            self._cell.send("stream", {"name": name, "text": payload.decode("utf-8", "replace")})

    # --- bringing ----------------------------------------------------------------------------------------------------

    def attach(self, rest: list[str]) -> None:
        """Outputs and results into this cell and this notebook, from the beginning; goes on while the job does."""
        waits = "--wait" in rest or not self._cell.keeps_late_output or bool(variables.is_on("JUPYSCHED_WAIT"))
        job = self._own([word for word in rest if word != "--wait"])
        record = job.record
        self._desk.add(job, self._cell)
        job.adopts = job.sent is None
        if job.adopts:
            job.landed_attempt = -1
        self._cell.send("display_data", card.content(record, job.facts))
        if not waits:
            self._desk.follow(job, cell=self._cell)
            return
        waiting = Waiting(self._desk, job, self._cell)
        self._desk.follow(job, cell=self._cell, waits=True, ask=waiting.ask)
        waiting.until_ended()

    def fetch(self, rest: list[str]) -> None:
        """Results only, of a job that has ended."""
        job = self._own(rest)
        record = job.record
        if not has_ended(record):
            raise WrongState(
                f"Job {record.id} is {record.state}; its results come when it has ended.",
                hint=f"`%gpujob attach {record.id}` brings them then.",
            )
        names = self._desk.landings.fetch(job)
        verb = "is" if len(names) == 1 else "are"
        if names:
            said = f"{phrases.listed(names)} {verb} in the notebook."
        elif job.values and job.single in job.values:
            said = f"What its function returned is `jupysched.job({record.id}).result()`."
        else:
            said = f"Job {record.id} brought nothing back."
        self._say("\n".join([said, *job.facts.notes]))

    # --- changing ----------------------------------------------------------------------------------------------------

    def cancel(self, rest: list[str]) -> None:
        """Out of the queue, or stopped."""
        ids = self._ids(rest)
        for record in self._desk.call(lambda client: client.cancel(*ids)):
            self._say(words.had_ended(record) if words.ended_by_itself(record) else _in_short(record))

    def hold(self, rest: list[str]) -> None:
        """Not considered until released."""
        self._change(rest, lambda ids: self._desk.call(lambda client: client.hold(*ids)))

    def release(self, rest: list[str]) -> None:
        """Considered again."""
        self._change(rest, lambda ids: self._desk.call(lambda client: client.release(*ids)))

    def front(self, rest: list[str]) -> None:
        """Ahead of the user's other waiting jobs; an admin's ask, ahead of all."""
        self._change(rest, lambda ids: self._desk.call(lambda client: client.front(*ids)))

    def requeue(self, rest: list[str]) -> None:
        """Queued again, with a new attempt."""
        self._change(rest, lambda ids: self._desk.call(lambda client: client.requeue(*ids)))
        for job in self._ids(rest):
            self._desk.follow_again(job)

    def priority(self, rest: list[str]) -> None:
        """The class of a waiting job: `%gpujob priority high 12`."""
        chosen = self._read(priority, "priority", rest[:1])
        self._change(rest[1:], lambda ids: self._desk.call(lambda client: client.set_priority(chosen, *ids)))

    def _change(self, rest: list[str], change: Callable[[list[int]], Sequence[JobRecord]]) -> None:
        for record in change(self._ids(rest)):
            self._say(_in_short(record))

    # --- words -------------------------------------------------------------------------------------------------------

    def _ids(self, rest: list[str]) -> list[int]:
        if not rest:
            raise BadRequest("Which job? Give its id, or `last`.", hint="`%gpujobs` lists your jobs.")
        found = [self._read(job_word, "The job", [word]) for word in rest]
        return [self._desk.last().id if word == "last" else int(word) for word in found]

    def _one(self, rest: list[str]) -> Job:
        if len(rest) > 1:
            raise BadRequest(f"One job at a time; {len(rest)} words were given: {' '.join(rest)[:60]}.")
        return self._desk.job(self._read(job_word, "The job", rest or ["last"]))

    def _own(self, rest: list[str]) -> Job:
        """A job whose files may be read, and its newest record. Raises NotYours."""
        job = self._one(rest)
        record = job.refresh()
        if not record.directory:
            raise NotYours(f"Job {record.id} belongs to {record.user}; what it shows and brings back is theirs.")
        return job

    def _read(self, read: Callable[[str], Any], what: str, given: list[str]) -> Any:
        word = given[0] if given else ""
        try:
            return read(word)
        except Malformed as error:
            raise BadRequest(f"{what} is {word!r}; expected {error}.") from None

    def _say(self, text: str) -> None:
        self._cell.send("stream", {"name": "stdout", "text": text + "\n"})

    def _display(self, bundle: dict[str, Any]) -> None:
        self._cell.send("display_data", {"data": bundle, "metadata": {}, "transient": {}})


def _in_short(record: JobRecord) -> str:
    return f"Job {record.id} ({phrases.short_name(record.name)}): {card.pill(record)}."


def _last_lines(pieces: list[tuple[str, bytes]], count: int) -> list[tuple[str, bytes]]:
    kept: list[tuple[str, bytes]] = []
    left = count
    for name, payload in reversed(pieces):
        parts = payload.splitlines(keepends=True)
        if len(parts) >= left:
            kept.append((name, b"".join(parts[len(parts) - left :])))
            break
        left -= len(parts)
        kept.append((name, payload))
    return kept[::-1]


def _described(record: JobRecord) -> list[tuple[str, str]]:
    asked = record.request
    request = [
        phrases.plural(asked.gpus, "GPU"),
        f"{phrases.size(asked.gpu_memory_bytes)} each" if asked.gpu_memory_bytes else "",
        asked.gpu_type or "",
        phrases.plural(asked.cpus, "CPU") if asked.cpus else "",
        f"{phrases.size(asked.memory_bytes)} RAM" if asked.memory_bytes else "",
        f"at most {phrases.limit(asked.time_limit_s)}" if asked.time_limit_s else "",
    ]
    pairs = [
        ("job", str(record.id)),
        ("name", phrases.tidy(record.name)),
        ("user", record.user),
        ("state", card.pill(record)),
        ("why", phrases.tidy(record.why)),
        ("asked", ", ".join(filter(None, request))),
        ("priority", record.priority),
        ("where", phrases.listed(record.gpus)),
        ("node", phrases.listed(record.nodes)),
        ("attempt", str(record.attempt) if record.attempt else ""),
        ("submitted", _time(record.submitted_at)),
        ("started", _time(record.started_at)),
        ("ended", _time(record.ended_at)),
        ("waited", phrases.duration(record.waited_s) if record.waited_s is not None else ""),
        ("ran", phrases.duration(record.ran_s) if record.ran_s is not None else ""),
        ("exit", record.exit.sentence if record.exit is not None else ""),
        ("metrics", words.metrics(record)),
        ("files", record.directory),
    ]
    return [(name, value) for name, value in pairs if value]


def _time(iso: str | None) -> str:
    return phrases.clock(iso) if iso else ""


VERBS_HELP = """\
%gpujobs                        my jobs
%gpujob show ID                 all that is known of it
%gpujob logs [-n LINES] ID      what it printed
%gpujob why ID                  why it waits and until when, or why it ended so
%gpujob attach [--wait] ID      its outputs and results into this cell and notebook
%gpujob fetch ID                its results only
%gpujob cancel ID ...           out of the queue, or stopped
%gpujob hold ID ...             not considered until released
%gpujob release ID ...          considered again
%gpujob front ID ...            ahead of your other waiting jobs
%gpujob requeue ID ...          queued again
%gpujob priority CLASS ID ...   low, normal or high
ID is a number or `last`; reading verbs take the last job when none is given."""
