"""%gpujobs: jobs as a table, for pages and for terminals. Knows records; asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jupysched import phrases
from jupysched.magic import card, look
from jupysched.magic.tracked import Facts, has_ended
from jupysched.wire.records import JobRecord

HEADS = ("job", "name", "state", "GPUs", "priority", "submitted", "what")
NOTHING = "You have no jobs. Begin a cell with %%gpujob."


def rows(records: Sequence[JobRecord]) -> list[list[str]]:
    """One row a job, in the order given."""
    return [
        [
            str(record.id),
            phrases.short_name(record.name, most=24),
            card.pill(record),
            phrases.listed(record.gpus) if record.gpus else str(record.request.gpus),
            record.priority,
            phrases.clock(record.submitted_at) if record.submitted_at else "",
            _what(record),
        ]
        for record in records
    ]


def _what(record: JobRecord) -> str:
    if has_ended(record):
        said = phrases.tidy(record.why) if record.state != "succeeded" else card.loss(record, Facts())
    else:
        said = " · ".join(
            filter(None, [card.beside(record, Facts()), card.loss(record, Facts()), phrases.tidy(record.why)])
        )
    return said if len(said) <= 100 else said[:99] + "…"


def content(records: Sequence[JobRecord], *, total: int) -> dict[str, Any]:
    """The content of a display_data message."""
    if not records:
        return {"data": {"text/plain": NOTHING, "text/html": f"<p>{NOTHING}</p>"}, "metadata": {}, "transient": {}}
    body = rows(records)
    more = f"{total - len(records)} more" if total > len(records) else ""
    plain = "\n".join(filter(None, [_aligned(body), more]))
    html = look.table(HEADS, body) + (f"<p>{more}</p>" if more else "")
    return {"data": {"text/plain": plain, "text/html": html}, "metadata": {}, "transient": {}}


def _aligned(body: list[list[str]]) -> str:
    lines = [list(HEADS), *body]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
