"""Puts the daemon together: the only module that names concrete adapters."""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import logging
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from jupysched import places, spool, transport
from jupysched.adapters.local_users import LocalUsers
from jupysched.adapters.sample_store import SampleStore
from jupysched.adapters.sqlite_journal import SqliteJournal
from jupysched.adapters.system_clock import SystemClock
from jupysched.core.errors import JupyschedError
from jupysched.core.events import Event
from jupysched.core.policies.site import load_site_policies
from jupysched.daemon.api import Api
from jupysched.daemon.clusters import Parts, make_parts
from jupysched.daemon.connections import Connections
from jupysched.daemon.housekeeping import Housekeeping
from jupysched.daemon.loop import Loop
from jupysched.daemon.recording import Recorder
from jupysched.daemon.rollup import METRICS
from jupysched.daemon.settings import Settings, read_settings

log = logging.getLogger("jupysched.daemon")
SETTINGS = "settings.toml"
#: a daemon that ends takes so long at most: its Dask workers end first
ENDING_S = 60.0
LOOK_S = 0.05


def main(argv: list[str] | None = None) -> int:
    """Run the daemon until it is told to end. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="jupysched serve", description="Run the jupysched daemon.")
    parser.add_argument("--config", type=Path, help="settings file (TOML)")
    parser.add_argument("--ready-fd", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.ready_fd is not None:
        os.set_inheritable(options.ready_fd, False)  # the launcher outlives us and must not hold it open
    os.umask(
        0o077
    )  # for all that we and what we start make: a home may be open to others. A job has its notebook's own
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    logging.getLogger("distributed").setLevel(logging.WARNING)
    try:
        home = places.home()
        file = options.config or home / SETTINGS
        settings = read_settings(file) if options.config or file.exists() else Settings()
        with _only_one(home):
            asyncio.run(_serve(settings, home, options.ready_fd))
    except JupyschedError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _only_one(home: Path) -> TextIO:
    """An open lock file: one daemon a home. One that listens no longer is ending, and waited for. Raises JupyschedError."""
    lock = open(home / "daemon.lock", "a+", encoding="utf-8")  # noqa: SIM115  it stays open as long as the daemon lives
    if not _is_locked(lock):
        lock.seek(0)
        other = f"A daemon (pid {lock.read().strip() or 'unknown'})"
        log.info("%s has the lock", other)
        latest = time.monotonic() + ENDING_S
        while not _is_locked(lock):
            if _listens(home / "api.sock") or time.monotonic() > latest:
                raise JupyschedError(f"{other} is already there for {home}.")
            time.sleep(LOOK_S)
    lock.truncate(0)
    lock.write(str(os.getpid()))
    lock.flush()
    return lock


def _is_locked(lock: TextIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _listens(socket: Path) -> bool:
    try:
        transport.Connection(socket).close()
    except OSError:
        return False
    return True


async def _serve(settings: Settings, home: Path, ready_fd: int | None) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    journal = SqliteJournal(home / "journal.sqlite")
    parts = make_parts(settings, home)
    loop = Loop(
        journal=journal,
        cluster=parts.cluster,
        clock=SystemClock(),
        grace_s=(settings.interrupt_grace_s, settings.stop_grace_s, settings.notice_s),
    )
    loop.notices += [*journal.notices, *parts.notices]
    loop.notices += [f"policy {name} could not be loaded: {why}" for name, why in load_site_policies().items()]
    store = SampleStore(home / "samples.sqlite", width=len(METRICS))
    recorder = Recorder(loop=loop, store=store, boot=spool.boot_id())
    loop.notices += store.notices
    api = Api(loop=loop, settings=settings, home=str(home), samples=parts.latest, recorder=recorder, shutdown=ended.set)
    connections = Connections(api=api, directory=LocalUsers())
    recorder.on_remark(connections.remarked)

    def changed(events: Sequence[Event]) -> None:
        recorder.changed(events)
        parts.changed()
        connections.changed(events)

    loop.on_change(changed)
    loop.on_metrics(connections.measured)
    loop.recover()
    recorder.open()
    socket = home / "api.sock"
    server = await _listen(loop, parts, connections, socket)
    housekeeping = Housekeeping(loop=loop, journal=journal, settings=settings)
    parts.start_sampling(loop, recorder.take, connections.gpus_changed)
    housekeeping.start()
    log.info("listening at %s", socket)
    _say_ready(ready_fd)
    await ended.wait()
    log.info("ending; jobs go on")
    server.close()
    connections.close()
    await housekeeping.close()
    await parts.close()
    recorder.close()
    journal.close()


async def _listen(loop: Loop, parts: Parts, connections: Connections, socket: Path) -> asyncio.Server:
    await parts.cluster.start(heard=loop.heard, node=loop.node)
    return await transport.serve(socket, connections.make, mode=0o600)


def _say_ready(fd: int | None) -> None:
    if fd is not None:
        os.write(fd, b"ready")
        os.close(fd)
