"""Waiting for the world outside the test, up to a deadline. Knows nothing of jobs.

Only for what cannot be awaited: another process, a file that it writes. Where there is an event or a pipe, wait on that.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

EVERY_S = 0.01


def eventually(ask: Callable[[], T], *, within_s: float = 20.0, what: str = "") -> T:
    """Return the first true answer of `ask`, which an exception is not.

    Raises AssertionError with the last answer, or the last exception, when the deadline has passed.
    """
    pause, deadline = threading.Event(), time.monotonic() + within_s
    while True:
        said = _ask(ask)
        if not isinstance(said, Exception) and said:
            return said
        if time.monotonic() > deadline:
            raise AssertionError(_sentence(what, within_s, said))
        pause.wait(EVERY_S)


async def eventually_async(ask: Callable[[], T], *, within_s: float = 20.0, what: str = "") -> T:
    """Return the first true answer of `ask`, giving way to the loop meanwhile. Raises as `eventually` does."""
    deadline = time.monotonic() + within_s
    while True:
        said = _ask(ask)
        if not isinstance(said, Exception) and said:
            return said
        if time.monotonic() > deadline:
            raise AssertionError(_sentence(what, within_s, said))
        await _pause()


async def _pause() -> None:
    woken = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_later(EVERY_S, lambda: woken.done() or woken.set_result(None))
    await woken


def _ask(ask: Callable[[], T]) -> T | Exception:
    try:
        return ask()
    except Exception as problem:  # noqa: BLE001  what is not there yet often raises; the last one is told
        return problem


def _sentence(what: str, within_s: float, said: object) -> str:
    return f"{what or 'it'} did not come true within {within_s:g} s; at the end: {said!r}"
