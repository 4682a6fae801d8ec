"""Tells when a process ends. Knows pidfds and the loop; knows nothing of attempts."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable


class Endings:
    """Processes that are watched, each under a key of whoever asks."""

    def __init__(self) -> None:
        self._pidfds: dict[tuple[int, int], int] = {}

    def watch(self, key: tuple[int, int], pid: int, ended: Callable[[], None]) -> bool:
        """Have `ended` called once when the process ends; False if it is gone already."""
        if key in self._pidfds:
            return True
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            return False

        def tell() -> None:
            self.forget(key)
            ended()

        self._pidfds[key] = pidfd
        asyncio.get_running_loop().add_reader(pidfd, tell)
        return True

    def forget(self, key: tuple[int, int]) -> None:
        """Watch it no more."""
        pidfd = self._pidfds.pop(key, None)
        if pidfd is not None:
            asyncio.get_running_loop().remove_reader(pidfd)
            os.close(pidfd)

    def close(self) -> None:
        """Watch nothing any more."""
        for key in tuple(self._pidfds):
            self.forget(key)
