"""What --dry-run says: what would travel, what would come back, when it would start. Pure text; queues nothing."""

from __future__ import annotations

from collections.abc import Sequence

from jupysched import phrases
from jupysched.magic.args import Asked
from jupysched.namespace.pack import Packed
from jupysched.wire.records import JobRecord

#: how the daemon says of a waiting job that nothing keeps it
NOW = "starts now"


def words(asked: Asked, record: JobRecord, packed: Packed, nowhere: Sequence[str]) -> str:
    """All of it, for a cell."""
    lines = [head(asked, record)]
    if packed.report:
        width = max(len(part.name) for part in packed.report)
        types = max(len(part.type_name) for part in packed.report)
        lines.append(f"These variables would travel ({phrases.size(packed.nbytes)} in all):")
        lines += [f"  {p.name:<{width}}  {p.type_name:<{types}}  {phrases.size(p.nbytes)}" for p in packed.report]
    else:
        lines.append("No variable would travel.")
    if nowhere:
        lines.append(f"Nowhere to be found: {phrases.listed(list(nowhere))}. The job would end with a NameError.")
    back = list(asked.out_names) if asked.out_names is not None else sorted(packed.reads.stored)
    lines.append(
        f"Back would come: {phrases.listed(back, most=20) if back else 'nothing that it assigns'}"
        f"{'' if asked.out_names is not None else ', and what it changes in place'}."
    )
    return "\n".join([*lines, *start(record)]) + "\n"


def head(asked: Asked, record: JobRecord) -> str:
    """What would be asked for."""
    return (
        f"Nothing is queued (--dry-run). The job {phrases.short_name(record.name)!r} would ask for {_request(asked)}."
    )


def start(record: JobRecord) -> list[str]:
    """When it would start; nothing where that is not known."""
    if record.why.startswith(NOW):
        return ["It would start now."]
    soon = f"It should start about {phrases.clock(record.expected_start_at)}." if record.expected_start_at else ""
    place = f"It would be {phrases.ordinal(record.position)} in the queue." if record.position else ""
    why = f"{phrases.tidy(record.why)}." if record.why and (record.position or 0) > 1 else ""
    said = " ".join(filter(None, [place, soon, why]))
    return [said] if said else []


def _request(asked: Asked) -> str:
    parts = [phrases.plural(asked.gpus, "GPU")]
    if asked.gpu_mem:
        parts.append(f"{phrases.size(asked.gpu_mem)} of GPU memory")
    if asked.gpu_type:
        parts.append(f"type {phrases.tidy(asked.gpu_type)}")
    if asked.cpus:
        parts.append(phrases.plural(asked.cpus, "CPU"))
    if asked.mem:
        parts.append(f"{phrases.size(asked.mem)} of RAM")
    if asked.time:
        parts.append(f"at most {phrases.limit(asked.time)}")
    return f"{phrases.listed(parts)}, priority {asked.priority}"
