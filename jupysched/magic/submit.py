"""From a cell and what is asked to a queued job: pack, write the job's files, submit. Knows the order of these steps.

Nothing is queued before everything that can be refused has been looked at, and a job that was refused leaves no files.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupysched import places, spool, variables
from jupysched.core.errors import BadRequest, ClusterError, DiskFull, UserError
from jupysched.magic import missing
from jupysched.magic.args import Asked
from jupysched.magic.desk import AnyCell, Desk
from jupysched.magic.job import Job
from jupysched.magic.launch import launch_record, name_cell
from jupysched.namespace import errors as travel
from jupysched.namespace.pack import Packed, pack_inputs
from jupysched.wire.records import JobRecord, RequestRecord
from jupysched.wire.requests import SpecRecord


class NotPicklable(UserError):
    """A value that the cell needs cannot travel to the job."""

    code = "not_picklable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A cell, packed and written, that only needs to be queued."""

    spec: SpecRecord
    packed: Packed
    #: names that the cell reads and nobody has
    missing: list[str]


def spec_of(asked: Asked, *, name: str, directory: Path, after: list[int], origin: dict[str, str]) -> SpecRecord:
    """What the daemon is asked for."""
    request = RequestRecord(
        gpus=asked.gpus,
        gpu_memory_bytes=asked.gpu_mem,
        gpu_type=asked.gpu_type,
        cpus=asked.cpus,
        memory_bytes=asked.mem,
        time_limit_s=asked.time,
    )
    return SpecRecord(
        name=name,
        directory=str(directory),
        request=request,
        priority=asked.priority,
        after=after,
        retries=asked.retries,
        origin=origin,
    )


@contextlib.contextmanager
def in_words() -> Iterator[None]:
    """Errors of packing and writing as sentences."""
    try:
        yield
    except travel.NotPicklable as error:
        raise NotPicklable(error.sentence, hint=error.hint) from None
    except travel.ObjectStoreFull as error:
        raise DiskFull(error.sentence, hint=error.hint) from None
    except travel.NamespaceError as error:
        raise BadRequest(error.sentence, hint=error.hint) from None
    except OSError as error:
        full = error.errno in (28, 122)
        kind = DiskFull if full else ClusterError
        raise kind(
            f"The job's files cannot be written: {error.strerror or error}.",
            hint="Free some space, or set JUPYSCHED_HOME to a larger disk." if full else f"They go to {places.home()}.",
        ) from None


def draft(
    desk: Desk,
    asked: Asked,
    source: str,
    directory: Path,
    *,
    cell: AnyCell | None,
    allow_stdin: bool,
    lent: dict[str, Any] | None = None,
    instead: dict[str, Any] | None = None,
) -> Draft:
    """Everything that queueing needs; `instead`: what launch.json is to say otherwise.

    Raises UserError, ClusterError, and SyntaxError's twin. Writes: the job's directory."""
    variables.is_on("JUPYSCHED_HOOKS")  # read inside the job, where nobody would be told
    shell = desk.shell
    cell_name = name_cell(source, shell) if shell is not None else "<jupysched.submit>"
    name = asked.name.strip() or (f"cell {cell.execution_count}" if cell is not None else "cell")
    after = [desk.last().id if word == "last" else int(word) for word in asked.after]
    origin = cell.origin() if cell is not None else {}
    # Cells that are alike tend to take as long: the daemon learns from it, and learns nothing else of the cell.
    origin = {**origin, "cell_digest": hashlib.blake2b(source.encode(errors="replace"), digest_size=16).hexdigest()}
    spec = spec_of(asked, name=name, directory=directory, after=after, origin=origin)
    if asked.gpus > 1 or asked.gpu_mem or asked.gpu_type or after:
        # What cannot be queued is refused before gigabytes are packed for it.
        desk.call(lambda client: client.dry_run(spec))
    store = desk.objects()
    with lending(desk.user_ns(), lent or {}):
        packed = pack_inputs(
            source,
            desk.user_ns(),
            objects=store,
            in_names=asked.in_names,
            transform=shell.transform_cell if shell is not None else None,
            rivals=desk.in_flight(),
        )
    packed.write(directory / spool.INPUT)
    launch = launch_record(
        source,
        shell=shell,
        objects=store.folder,
        name=name,
        allow_stdin=allow_stdin,
        out_names=asked.out_names,
        cell_name=cell_name,
        packages=packed.packages,
    )
    spool.write_json(str(directory / spool.LAUNCH), {**launch, **(instead or {})})
    transform = shell.transform_cell if shell is not None else None
    nowhere = missing.names(source, desk.user_ns(), transform) if lent is None and instead is None else []
    return Draft(spec=spec, packed=packed, missing=nowhere)


@contextlib.contextmanager
def lending(user_ns: dict[str, Any], lent: dict[str, Any]) -> Iterator[None]:
    """The notebook's own namespace with a few names more, while a cell is packed. Not a copy of it: the functions of the
    notebook find their globals in this very dictionary."""
    user_ns.update(lent)
    try:
        yield
    finally:
        for name in lent:
            del user_ns[name]


def submit(
    desk: Desk,
    asked: Asked,
    source: str,
    *,
    cell: AnyCell | None,
    allow_stdin: bool = False,
    lent: dict[str, Any] | None = None,
    single: str | None = None,
    instead: dict[str, Any] | None = None,
) -> Job:
    """The queued job. Raises as `draft` does, and what the daemon refuses; nothing stays behind then."""
    with in_words():
        directory = places.new_job_directory()
        try:
            drafted = draft(
                desk, asked, source, directory, cell=cell, allow_stdin=allow_stdin, lent=lent, instead=instead
            )
            number = _queue(desk, drafted.spec)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    spec = drafted.spec
    record = JobRecord(
        id=number,
        user="",
        name=spec.name,
        state="pending",
        priority=spec.priority,
        request=spec.request,
        after=spec.after,
        retries=spec.retries,
        directory=spec.directory,
        origin=spec.origin,
    )
    job = Job(record, desk=desk, sent=drafted.packed.sent, single=single)
    if drafted.missing:
        job.facts.note(missing.sentence(drafted.missing, spec.after))
    return job


def _queue(desk: Desk, spec: SpecRecord) -> int:
    try:
        return desk.call(lambda client: client.submit(spec))[0]
    except KeyboardInterrupt:
        # It may have been taken before the answer came: what nobody waits for must not run.
        for job in desk.all_jobs():
            if job.directory == spec.directory:
                desk.cancel(job.id)
        raise


def dry_run(desk: Desk, asked: Asked, source: str, *, cell: AnyCell | None) -> tuple[JobRecord, Draft]:
    """What would become of it; queues nothing and leaves no files. Raises what submit would raise."""
    with in_words():
        directory = places.new_job_directory()
        try:
            drafted = draft(desk, asked, source, directory, cell=cell, allow_stdin=False)
            return desk.call(lambda client: client.dry_run(drafted.spec)), drafted
        finally:
            shutil.rmtree(directory, ignore_errors=True)
