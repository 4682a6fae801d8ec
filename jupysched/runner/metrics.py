"""What a running job says about itself and asks of us: `jupysched.log`, `checkpoint`, `restored`, `should_stop`.

Knows the channel of this process, if it is a job. Must not know what is made of the numbers. Outside a job every one
of them is harmless, so that the same code runs in the notebook.
"""

from __future__ import annotations

import os
import pickle
import time
from typing import Any

from jupysched import spool
from jupysched.runner import signals
from jupysched.runner.outputs import Channel
from jupysched.spool import Kind

_CHECKPOINT = "checkpoint.pickle"
_channel: Channel | None = None
_folder: str | None = None


def connect(channel: Channel, path: str) -> None:
    """Make this process's words go to the channel; `path` is the attempt's directory."""
    global _channel, _folder  # noqa: PLW0603 - one process, one job
    _channel, _folder = channel, os.path.dirname(path)


def log(*, step: int | None = None, epoch: float | None = None, **values: float) -> None:
    """Report numbers of this step: `jupysched.log(step=3, loss=0.25)`; tensors with one element will do."""
    if _channel is None:
        return
    numbers = {name: _number(value) for name, value in values.items()}
    content: dict[str, Any] = {"step": step, "epoch": epoch, "time": time.time(), "values": numbers}
    _channel.send(Kind.METRICS, content)


def _number(value: Any) -> float | str:
    """Return a float; JSON has no infinities, so they travel as text."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if number - number == 0 else repr(number)


def checkpoint(state: object) -> None:
    """Keep `state` for the job's next attempt.

    Writes: the job's folder, whole or not at all.
    """
    if _folder is None:
        return
    try:
        import cloudpickle as pickler
    except ImportError:
        pickler = pickle
    spool.write_bytes(os.path.join(_folder, _CHECKPOINT), pickler.dumps(state))


def restored(default: object = None) -> object:
    """Return what an earlier attempt of this job gave to `checkpoint`, or `default`."""
    if _folder is None:
        return default
    try:
        with open(os.path.join(_folder, _CHECKPOINT), "rb") as file:
            return pickle.load(file)
    except FileNotFoundError:
        return default


def should_stop() -> bool:
    """Return whether the job was asked to end; a loop that looks here ends in its own way, within the grace."""
    return signals.should_stop()
