"""What a running job says about itself and asks of us: `jupysched.log`, `checkpoint`, `restored`, `should_stop`.

Knows the channel of this process, if it is a job. Must not know what is made of the numbers. Outside a job every one
of them is harmless, so that the same code runs in the notebook.
"""

from __future__ import annotations

import os
import pickle
import threading
import time
from collections import deque
from collections.abc import Mapping
from typing import Any

from jupysched import spool
from jupysched.runner import points, signals
from jupysched.runner.outputs import Channel
from jupysched.runner.points import Reported
from jupysched.spool import Kind

_CHECKPOINT = "checkpoint.pickle"
#: The first point is sent at once; those that follow it sooner than this travel together, at the latest with the
#: channel's next flush. A job that reports a thousand times a second would else pay for a thousand messages.
GATHER_S = 0.1
#: So many are sent on without waiting.
MOST_GATHERED = 5_000
_channel: Channel | None = None
_folder: str | None = None
#: the job's own process: a forked child has no thread that would send later what waits now
_owner = 0
_waiting: deque[Reported] = deque()
_sending = threading.RLock()
_is_sending = False
_next_at = 0.0
#: names under which the job's own code reports; what a library logs under them is the same again
stated_by_log: set[str] = set()


def connect(channel: Channel, path: str) -> None:
    """Make this process's words go to the channel; `path` is the attempt's directory."""
    global _channel, _folder, _owner  # noqa: PLW0603 - one process, one job
    _channel, _folder, _owner = channel, os.path.dirname(path), os.getpid()
    channel.before_flush = _send_waiting


def is_connected() -> bool:
    """Does anybody hear what is reported here?"""
    return _channel is not None


def log(*, step: int | None = None, epoch: float | None = None, **values: float) -> None:
    """Report numbers of this step: `jupysched.log(step=3, loss=0.25)`; tensors with one element will do."""
    stated_by_log.update(values)
    report(values, step=step, epoch=epoch)


def report(values: Mapping[str, Any], *, step: Any = None, epoch: Any = None) -> None:
    """Report numbers under names that need not be Python's."""
    if _channel is None:
        return
    numbers = {name: _number(value) for name, value in values.items()}
    now = time.time()
    point = Reported(_place(step), _place(epoch), now, numbers)
    if os.getpid() != _owner:
        _channel.send(Kind.METRICS, points.content([point]))
        return
    _waiting.append(point)
    if now >= _next_at or len(_waiting) >= MOST_GATHERED:
        _send_waiting()


def _send_waiting() -> None:
    """Send what waits, in the order in which it was reported; in a forked child it is the parent's to send."""
    global _next_at, _is_sending  # noqa: PLW0603
    if _channel is None or os.getpid() != _owner:
        return
    # Also where nothing waits: who flushes at the end of the process must wait for the thread that sends.
    with _sending:
        if _is_sending:
            return  # to send flushes the channel, which asks for what waits: the next turn is after this one
        _is_sending = True
        try:
            # Taken one by one: another thread may report meanwhile.
            sent = [_waiting.popleft() for _ in range(len(_waiting))]
            _next_at = time.time() + GATHER_S
            if sent:
                _channel.send(Kind.METRICS, points.content(sent))
        finally:
            _is_sending = False


def note(text: str) -> None:
    """Say a sentence of ours on the job's card."""
    if _channel is not None:
        _channel.send(Kind.NOTE, {"text": text})


def _number(value: Any) -> float | str:
    """Return a float; JSON has no infinities, so they travel as text."""
    try:
        number = float(value)
    except Exception:  # a tensor with two elements raises what torch likes
        return str(value)[:200]
    return number if number - number == 0 else repr(number)


def _place(value: Any) -> float | None:
    """Return a step or an epoch as a number; None where it is none."""
    if value is None or value.__class__ is int or value.__class__ is float:
        return value
    try:
        number = float(value)
    except Exception:
        return None
    return int(number) if number.is_integer() else number


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
