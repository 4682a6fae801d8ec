"""Source text that exists only in a notebook. Knows linecache; knows nothing of pickles."""

from __future__ import annotations

import linecache
import os
from collections.abc import Iterable


def collect_sources(filenames: Iterable[str]) -> dict[str, str]:
    """Return the text of those files that live in linecache only."""
    found: dict[str, str] = {}
    for name in filenames:
        entry = linecache.cache.get(name)
        if entry is None or len(entry) < 4 or (name[:1] not in "<" and os.path.exists(name)):  # noqa: PLR2004
            continue
        found[name] = "".join(entry[2])
    return found


def register_sources(sources: dict[str, str]) -> None:
    """Make tracebacks and inspect find these texts. Writes: linecache."""
    for name, text in sources.items():
        # no mtime: checkcache leaves such entries alone
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
