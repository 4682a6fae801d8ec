"""What may be set, with one default and one line of help each. Knows TOML; knows nothing of who reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from jupysched.core.errors import BadRequest

Count = Annotated[int, msgspec.Meta(ge=1)]
#: seconds or days
Span = Annotated[float, msgspec.Meta(ge=0)]


class Settings(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """The daemon's settings: `settings.toml` in the home, or the file given to `jupysched serve --config`."""

    #: CPU slots that stand in where there is no GPU; None: one for each core
    cpu_slots: Count | None = None
    #: seconds that a job which is to go on later (preempted, requeued) has to save its work, if it asks `should_stop()`
    notice_s: Span = 60.0
    #: seconds between the interrupt and SIGTERM when a job is stopped
    interrupt_grace_s: Span = 5.0
    #: seconds between SIGTERM and SIGKILL
    stop_grace_s: Span = 5.0
    #: days that ended jobs stay in the list
    keep_ended_days: Span = 30.0
    #: most jobs that may be kept; the oldest ended ones are forgotten first
    keep_ended_jobs: Annotated[int, msgspec.Meta(ge=0)] = 20_000
    #: most pending and held jobs of one user
    most_pending_per_user: Count = 100_000


def read_settings(path: Path) -> Settings:
    """Raises BadRequest that names the file, the setting, and what was expected."""
    try:
        return msgspec.toml.decode(path.read_bytes(), type=Settings)
    except (OSError, msgspec.MsgspecError) as error:
        raise BadRequest(f"The settings in {path} cannot be used: {error}.") from error
