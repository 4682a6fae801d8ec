"""What may be queued. From a SpecRecord of a person to a JobSpec, or an error that says what to change."""

from __future__ import annotations

import os
import stat

from jupysched.core import events as ev
from jupysched.core.errors import BadDependency, BadRequest, OverLimit, TooManyGpus
from jupysched.core.fold import fold
from jupysched.core.job import JobId, JobSpec, Priority, Submission, UserName
from jupysched.core.limits import refusal
from jupysched.core.resources import GpuKind, Request
from jupysched.core.state import State
from jupysched.core.states import ENDED, JobState
from jupysched.daemon.auth import Person
from jupysched.daemon.views import job_record
from jupysched.phrases import size
from jupysched.wire.records import JobRecord, RequestRecord
from jupysched.wire.requests import SpecRecord, Submit

MOST_NAME = 200


def priority(word: str) -> Priority:
    """Raises BadRequest."""
    try:
        return Priority(word)
    except ValueError:
        raise BadRequest(f"There is no priority {word!r}; it is one of low, normal, high.") from None


def check_count(state: State, person: Person, more: int, most: int) -> None:
    """Raises BadRequest when a user would have too many jobs waiting."""
    if more > 1_000 or len(state.jobs) + more > most:
        waiting = sum(1 for j in state.jobs.values() if j.spec.uid == person.uid and j.state not in ENDED)
        if waiting + more > most:
            raise BadRequest(f"{waiting} of your jobs wait already; at most {most} may.")


def taken(state: State, person: Person, request: Submit) -> list[int]:
    """The jobs of this submission, if it came before; else none. Raises BadRequest if another one had its key."""
    jobs = state.submissions.get((person.uid, request.key), range(0))
    if jobs and len(jobs) != len(request.jobs):
        raise BadRequest(f"Another submission had the key {request.key!r}, of {len(jobs)} jobs.")
    return list(jobs)


def accept(state: State, person: Person, record: SpecRecord, submission: Submission | None = None) -> JobSpec:
    """Raises BadRequest, TooManyGpus, BadDependency, OverLimit."""
    name = record.name.strip() or "cell"
    spec = JobSpec(
        name=name if len(name) <= MOST_NAME else name[: MOST_NAME - 1] + "…",
        user=UserName(person.name),
        uid=person.uid,
        request=_request(state, record.request),
        priority=priority(record.priority),
        after=_after(state, person, record.after),
        retries=_retries(record.retries),
        directory=_directory(person, record.directory),
        origin=record.origin,
        groups=person.groups,
        submission=submission,
    )
    refused = refusal(state, spec, spec.priority)
    if refused is not None:
        raise OverLimit(refused)
    return spec


def _request(state: State, asked: RequestRecord) -> Request:
    _check_numbers(asked)
    on_slots = bool(state.gpus) and all(g.kind is GpuKind.CPU_SLOT for g in state.gpus.values())
    if state.nodes:
        _check_room(state, asked, on_slots=on_slots)
    return Request(
        gpus=asked.gpus,
        # On a machine without a GPU the same notebooks run: a CPU slot stands in for any GPU, of any type and memory.
        gpu_memory_bytes=None if on_slots else asked.gpu_memory_bytes,
        gpu_type=None if on_slots else asked.gpu_type,
        cpus=asked.cpus,
        memory_bytes=asked.memory_bytes,
        time_limit_s=asked.time_limit_s,
    )


def _check_numbers(asked: RequestRecord) -> None:
    if asked.gpus < 1:
        raise BadRequest(f"--gpus is {asked.gpus}; expected a whole number of at least 1.")
    positive = {
        "--gpu-mem": asked.gpu_memory_bytes,
        "--cpus": asked.cpus,
        "--mem": asked.memory_bytes,
        "--time": asked.time_limit_s,
    }
    for option, value in positive.items():
        if value is not None and not value > 0:
            raise BadRequest(f"{option} is {value:g}; expected more than 0.")


def _check_room(state: State, asked: RequestRecord, *, on_slots: bool) -> None:
    """What could never run is refused now, naming what there is too little of."""
    most = state.widest_node()
    if asked.gpus > most:
        kind = "CPU slots" if on_slots else "GPUs"
        raise TooManyGpus(
            f"{asked.gpus} GPUs asked (--gpus); the largest node has {most} {kind}.",
            hint=f"Ask for --gpus {most} or fewer.",
        )
    whole = max(
        sum(state.gpus[g].kind is not GpuKind.MIG for g in n.gpus if g in state.gpus) for n in state.nodes.values()
    )
    if 1 < asked.gpus and whole < asked.gpus:
        raise TooManyGpus(
            f"{asked.gpus} GPUs asked (--gpus); the largest node has {whole} that are not split by MIG, and a process can "
            "use one MIG device only.",
            hint="Ask for --gpus 1.",
        )
    cpus = max(n.cpus for n in state.nodes.values())
    if asked.cpus is not None and asked.cpus > cpus:
        raise BadRequest(f"{asked.cpus} CPU cores asked (--cpus); the largest node has {cpus}.")
    memory = max(n.memory_bytes for n in state.nodes.values())
    if asked.memory_bytes is not None and asked.memory_bytes > memory:
        raise BadRequest(f"{size(asked.memory_bytes)} of RAM asked (--mem); the largest node has {size(memory)}.")
    if on_slots:
        return
    gpus = list(state.gpus.values())
    if asked.gpu_type and not any(asked.gpu_type.lower() in g.name.lower() for g in gpus):
        names = sorted({g.name for g in gpus})
        raise BadRequest(f"No GPU here is a {asked.gpu_type!r} (--gpu-type); there are {', '.join(names)}.")
    sizes = [g.memory_bytes for g in gpus if g.memory_bytes is not None]
    if asked.gpu_memory_bytes is not None and sizes and asked.gpu_memory_bytes > max(sizes):
        raise BadRequest(
            f"{size(asked.gpu_memory_bytes)} of GPU memory asked (--gpu-mem); the largest GPU has {size(max(sizes))}."
        )


def _retries(retries: int) -> int:
    if not 0 <= retries <= 100:
        raise BadRequest(f"--retries is {retries}; expected 0 to 100.")
    return retries


def _after(state: State, person: Person, after: list[int]) -> tuple[JobId, ...]:
    for other_id in after:
        other = state.jobs.get(JobId(other_id))
        if other is None:
            raise BadDependency(
                f"--after names job {other_id}, and there is no such job.", hint="`%gpujobs` lists your jobs."
            )
        if other.spec.uid != person.uid and not person.is_admin:
            raise BadDependency(f"--after names job {other_id}, which belongs to {other.spec.user}.")
        if other.state in ENDED and other.state is not JobState.SUCCEEDED:
            raise BadDependency(
                f"--after names job {other_id} ({other.spec.name}), which {other.state.value}: this job could never start.",
                hint="Queue that one again first (`%gpujob requeue`).",
            )
    return tuple(JobId(j) for j in after)


def _directory(person: Person, directory: str) -> str:
    """The job's files must be the submitter's own: nobody's jobs run from somebody else's directory."""
    if not directory:
        raise BadRequest("The job names no directory.")
    if not os.path.isabs(directory) or os.path.normpath(directory) != directory:
        raise BadRequest(f"The job's directory {directory!r} is not an absolute plain path.")
    try:
        found = os.lstat(directory)
    except OSError as error:
        raise BadRequest(f"The job's directory cannot be read: {error}.") from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != person.uid:
        raise BadRequest(f"{directory} is not a directory of {person.name}.")
    return directory


def dry_run(state: State, person: Person, record: SpecRecord, *, now: float) -> JobRecord:
    """The job as it would stand in the queue. It enters and leaves the state by the one door, before anybody else looks; the
    journal never hears of it."""
    spec = accept(state, person, record)
    job_id = JobId(state.next_id)
    fold(state, ev.Submitted(at=now, job=job_id, spec=spec))
    try:
        shown = job_record(state, state.jobs[job_id], now=now, mine=True)
    finally:
        fold(state, ev.CancelAsked(at=now, job=job_id, by=person.name))
        fold(state, ev.Forgotten(at=now, jobs=(job_id,)))
        state.next_id = int(job_id)
    shown.id = 0
    return shown
