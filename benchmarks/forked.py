"""The floor: a process that has imported some modules and forks a child for each piece of code it is sent.

Run as `python -m benchmarks.forked FD AHEAD MODULE ...`. Nothing of jupysched is in it: no journal, no shim, no shell, no
spool. With AHEAD 1 a child waits already when the code comes.
"""

from __future__ import annotations

import importlib
import os
import pickle
import socket
import sys
from typing import NoReturn

MOST_BYTES = 1 << 20


def run(order: bytes, pipes: list[int]) -> NoReturn:
    """Be the child: run the code, its stdout is the first pipe; values go to the second."""
    code, values, names = pickle.loads(order)
    os.dup2(pipes[0], 1)
    os.close(pipes[0])
    exec(compile(code, "<floor>", "exec"), values)
    sys.stdout.flush()
    if names:
        with os.fdopen(pipes[1], "wb") as back:
            pickle.dump({name: values[name] for name in names}, back, protocol=5)
    os._exit(0)


def on_demand(orders: socket.socket) -> None:
    """Fork when the code has come."""
    while True:
        order, pipes, _, _ = socket.recv_fds(orders, MOST_BYTES, 2)
        if not order:
            return
        if os.fork() == 0:
            run(order, pipes)
        for pipe in pipes:
            os.close(pipe)
        reap()


def ahead(orders: socket.socket) -> None:
    """Fork the next child as soon as the one that waited has something to run."""
    taken, tell = os.pipe()
    while True:
        if os.fork() == 0:
            order, pipes, _, _ = socket.recv_fds(orders, MOST_BYTES, 2)
            os.write(tell, b"." if order else b"!")
            if order:
                run(order, pipes)
            os._exit(0)
        if os.read(taken, 1) == b"!":
            return
        reap()


def reap() -> None:
    """Collect who has ended, so that their CPU time counts as ours."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def main() -> None:
    orders = socket.socket(fileno=int(sys.argv[1]))
    for name in sys.argv[3:]:
        importlib.import_module(name)
    import gc

    gc.collect()
    gc.freeze()
    orders.send(b"ready")
    (ahead if sys.argv[2] == "1" else on_demand)(orders)


if __name__ == "__main__":
    main()
