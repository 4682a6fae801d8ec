"""What the magic writes into a notebook, for pages whose kernel does so no longer. Knows the magic's words; blocking."""

from __future__ import annotations

import os
from typing import Any

from jupysched import spool
from jupysched.magic.args import read_line
from jupysched.magic.card import bundle
from jupysched.magic.tracked import Facts
from jupysched.places import home
from jupysched.wire.browser import LossRecord
from jupysched.wire.records import JobRecord, RequestRecord
from jupysched.wire.requests import SpecRecord


def card(record: JobRecord, loss: LossRecord | None, notes: tuple[str, ...]) -> dict[str, Any]:
    """The card's MIME bundle as it stands now."""
    facts = Facts(notes=list(notes), returned=_returned(record))
    if loss is not None:
        facts.losses = [v for v in loss.spark if v is not None]
        if loss.value is not None:
            facts.metrics = {loss.name: loss.value} | ({} if loss.epoch is None else {"epoch": loss.epoch})
    return bundle(record, facts)


def _returned(record: JobRecord) -> list[str] | None:
    if record.ended_at is None:
        return None
    said = spool.read_json(os.path.join(spool.attempt_path(record.directory, record.attempt), spool.EXIT)) or {}
    names = (said.get("end") or {}).get("returned")
    return [str(n) for n in names] if names else None


def spec(line: str) -> SpecRecord:
    """What a line of %%gpujob asks for, without the cell. Raises BadRequest in the words of the magic."""
    asked = read_line(line)
    request = RequestRecord(
        gpus=asked.gpus,
        gpu_memory_bytes=asked.gpu_mem,
        gpu_type=asked.gpu_type,
        cpus=asked.cpus,
        memory_bytes=asked.mem,
        time_limit_s=asked.time,
    )
    after = [int(word) for word in asked.after if word.isdigit()]
    # A dry run reads nothing there; the daemon only makes sure that it is the caller's own.
    return SpecRecord(
        directory=str(home()),
        name=asked.name or "dry run",
        request=request,
        priority=asked.priority,
        after=after,
        retries=asked.retries,
    )
