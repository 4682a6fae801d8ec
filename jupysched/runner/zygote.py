"""A process of the user that has imported what jobs need, and forks a shim and its job ahead for each.

Knows which modules to import and how to fork. Must not run user code, start a thread or touch CUDA: after a parallel
operation or a CUDA context in the parent, a forked child hangs. One zygote a user, interpreter and environment.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import signal
import socket
import sys
from importlib import import_module
from typing import Any, NoReturn

from jupysched.runner import job, pages, shim
from jupysched.runner.safe import SAFE_PRELOADS
from jupysched.runner.shell import warm_errors

#: What a cell nearly always touches; imported here once instead of in every job.
_ALWAYS = (
    "asyncio", "concurrent.futures.thread", "getpass", "inspect", "linecache", "multiprocessing.spawn", "subprocess", "tempfile",
    "traceback", "tokenize", "IPython.core.error", "IPython.display", "IPython.core.async_helpers",
)  # fmt: skip


def serve(launcher: socket.socket, preload: list[str]) -> NoReturn:
    """Import, say so, then fork a pair for each byte that comes; ends when the launcher's end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.setsid()
    shell, failed = _prepare(preload)
    _forget_exit_functions()
    _settle(large=bool(preload))
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # shims are collected by the kernel
    threads = len(os.listdir("/proc/self/task"))
    ready = {"ready": True, "pid": os.getpid(), "failed": failed, "threads": threads}
    launcher.sendall(json.dumps(ready).encode() + b"\n")
    warm = False
    while launcher.recv(1):
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            launcher.close()
            theirs.close()
            _be_shim(ours, shell)
        try:
            socket.send_fds(launcher, [b"\n"], [theirs.fileno()])
        except OSError:
            break  # the launcher is gone, and the pair will see so itself
        ours.close()
        theirs.close()
        if not warm:
            # Not before the first pair is out: somebody waits for that one.
            warm_errors(shell)
            pages.make_room_for_strings()
            _settle(large=True)
            warm = True
    os._exit(0)


def _be_shim(order: socket.socket, shell: Any) -> NoReturn:
    try:
        shim.stand_by(order, lambda ends: job.run(ends, shell))
    finally:
        os._exit(1)


def _prepare(preload: list[str]) -> tuple[Any, dict[str, str]]:
    """Import everything; return the shell and what could not be imported."""
    from jupysched.runner import shell, values, widgets

    failed: dict[str, str] = {}
    for name in (*_ALWAYS, *(name for name in preload if name in SAFE_PRELOADS)):
        try:
            import_module(name)
        except BaseException as error:  # a broken package must not cost the user every job
            failed[name] = f"{type(error).__name__}: {error}"
    if "numpy" in sys.modules:
        # numpy 2 loads it when first asked for, and every job asks: nine shared libraries, 6 ms of CPU.
        import_module("numpy.random")
    import_module("jupysched.metrics_text")  # the shim reads printed losses
    values.preload()
    widgets.install()
    return shell.build(), failed


def _settle(*, large: bool) -> None:
    """Make what is in memory cheap to fork: nothing for the garbage collector to touch, and few pages."""
    gc.collect()
    gc.freeze()
    if large:
        pages.gather()


def _forget_exit_functions() -> None:
    """Take back what the imported packages registered for the end; a job runs what its cell registers.

    torch unregisters its operators one by one there: 30 ms of every job, for a process that is about to vanish.
    """
    import logging
    import weakref
    from multiprocessing import util

    for finalizer in list(weakref.finalize._registry):  # type: ignore[attr-defined]
        finalizer.atexit = False
    atexit._clear()
    for function in (logging.shutdown, util._exit_function, weakref.finalize._exitfunc):  # type: ignore[attr-defined]
        atexit.register(function)


def main() -> NoReturn:
    """Serve on the socket whose descriptor is the first argument, with the modules that follow."""
    launcher = socket.socket(fileno=int(sys.argv[1]))
    preload = sys.argv[2].split(",") if sys.argv[2] else []
    sys.argv[:] = [""]
    try:
        serve(launcher, preload)
    except BaseException as error:
        import traceback

        traceback.print_exc()
        failure = {"ready": False, "error": f"{type(error).__name__}: {error}"}
        launcher.sendall(json.dumps(failure).encode() + b"\n")
        os._exit(1)
