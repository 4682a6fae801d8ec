"""What panels look at, as one value. Knows no Bokeh, so that a server that shows no panel does not load it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from jupysched.panels.training import MetricsBook
from jupysched.wire.records import GpuRecord, JobRecord


class Picture(Protocol):
    """The part of the server's picture that panels read."""

    @property
    def jobs(self) -> Mapping[int, JobRecord]: ...

    @property
    def gpus(self) -> list[GpuRecord]: ...

    @property
    def seq(self) -> int: ...

    @property
    def down(self) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All that panels may read. `call` asks the daemon, and raises its errors."""

    book: MetricsBook
    picture: Picture
    call: Callable[[Any], Awaitable[Any]]
