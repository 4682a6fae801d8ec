"""What the job's process does, from its order to its last word.

Knows the order of the steps: surroundings, variables in, the cell, threads, variables out, last word. Must not know how
any of them is done, nor what becomes of what it writes. Leaves by os._exit in every case.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import json
import os
import random
import select
import sys
import threading
from typing import Any, NoReturn

from jupysched import spool
from jupysched.runner import environment, libraries, metrics, signals, spawned, stdin, tree
from jupysched.runner.outputs import Channel, encode
from jupysched.runner.packets import LAST_WORD
from jupysched.runner.shell import Failure, warm
from jupysched.runner.shim import Ends
from jupysched.runner.values import Packed, Values, rehearse
from jupysched.spool import Kind

#: An order that has not come after so long comes later; in a stream of jobs it comes sooner, on a busy machine too.
_IDLE_MS = 80
_OOM_SCORE = "300"


def run(ends: Ends, shell: Any) -> NoReturn:
    """Wait for the order and carry it out. The code says in short what the last word says in full."""
    code = 70
    try:
        channel = Channel(ends.stdout, ends.stderr, ends.nonce)
        channel.become_standard()
        faulthandler.enable(channel.stderr)
        _offer_to_oom_killer()
        shell.channel, shell.owner = channel, os.getpid()
        _rehearse_if_idle(ends.orders, shell)
        line, rest = _read_order(ends.orders)
        if not line:
            os._exit(0)
        job = Job(json.loads(line), shell, channel, ends.orders, rest)
        code = job.live()
        channel.flush()
    except BaseException:  # our own fault: said where the user looks, and in the exit code
        import traceback

        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(code)


def _offer_to_oom_killer() -> None:
    """When memory runs out the job goes first, not its shim, the daemon or the user's notebooks."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(_OOM_SCORE)
    except OSError:
        return


def _rehearse_if_idle(orders: int, shell: Any) -> None:
    """Do once, while nobody waits, what every job does first.

    After a fork each page is copied when first written to, and Python writes to all it looks at: half the way to the
    first output is page faults. Where jobs come one after another the order is there already and nothing is rehearsed.
    """
    poll = select.poll()
    poll.register(orders, select.POLLIN)
    if not poll.poll(_IDLE_MS):
        warm(shell)
        rehearse()
        environment.job_environment({"env": dict(os.environ)}, {})
        json.loads(json.dumps({"cell": "", "env": dict(os.environ)}))


def _read_order(orders: int) -> tuple[bytes, bytes]:
    """Return the order and what came with it; nothing where nobody will order any more."""
    data = b""
    while b"\n" not in data:
        part = os.read(orders, 1 << 16)
        if not part:
            return b"", b""
        data += part
    line, _, rest = data.partition(b"\n")
    return line, rest


class Job:
    """One run of one cell."""

    def __init__(self, order: dict[str, Any], shell: Any, channel: Channel, orders: int, rest: bytes) -> None:
        self.order = order
        self.shell = shell
        self.channel = channel
        self.pid = os.getpid()
        self.path = spool.attempt_path(order["directory"], order["attempt"])
        launch = spool.read_json(os.path.join(order["directory"], spool.LAUNCH))
        if launch is None:
            raise FileNotFoundError(f"{order['directory']} holds no readable {spool.LAUNCH}")
        self.launch = launch
        self.values = Values(order["directory"], launch["objects"], shell.user_ns)
        self.notes: list[str] = []
        self.error: BaseException | None = None
        self.stdin = stdin.Stdin(channel, orders, rest, allowed=bool(launch.get("allow_stdin")))

    def live(self) -> int:
        """Do all there is to do; return the exit code."""
        try:
            signals.listen()
            self._surround()
            self.values.load()
            self.stdin.wait_for_go()
            self._run_cell()
            self._leave_if_forked()
            self._join_threads()
        except BaseException as error:
            self._fail(error)
        self._leave_if_forked()
        signals.deaf()
        code = self._bring_back()
        signals.listen()
        self._run_exit_functions()
        return code

    def _leave_if_forked(self) -> None:
        """End a forked child that fell out of the cell: it is not the job, and the job's end is not its business."""
        if os.getpid() != self.pid:
            self.channel.flush()
            os._exit(0 if self.error is None else 1)

    # --- before the cell -------------------------------------------------------------------------------------------

    def _surround(self) -> None:
        env = environment.job_environment(self.launch, self.order)
        env[tree.TAG] = self.path
        environment.apply_environment(env)
        self.notes += environment.apply_launch(self.launch)
        if "numpy.random" in sys.modules:
            # Forked from one parent, all jobs would else draw the same numbers.
            sys.modules["numpy.random"].seed()
        random.seed()
        metrics.connect(self.channel, self.path)
        libraries.install()
        spawned.Spawned(self.path, self.launch["objects"], self.shell).install()
        self.stdin.install()
        shell, launch = self.shell, self.launch
        shell.init_ipython_dir(None)
        shell.ast_node_interactivity = launch.get("interactivity", "last_expr")
        count = shell.execution_count = int(launch.get("execution_count") or 1)
        history = shell.history_manager
        history.input_hist_parsed[:] = history.input_hist_raw[:] = [""] * count
        history.dir_hist[:] = [os.getcwd()]
        shell.compile.name_cell(launch["cell"], launch.get("cell_name") or f"<cell {count}>")
        self.channel.keep_flushing()

    # --- the cell --------------------------------------------------------------------------------------------------

    def _run_cell(self) -> None:
        result = self.shell.run_cell(self.launch["cell"], store_history=True)
        error = result.error_before_exec or result.error_in_exec
        if error is not None and not _is_deliberate(error):
            self._fail(error)

    def _fail(self, error: BaseException) -> None:
        self.error = error
        if self.shell.failure is not None or _is_deliberate(error) or isinstance(error, KeyboardInterrupt):
            return  # shown already, or an interrupt before or after the cell, whose traceback would show our own steps
        self.shell.show_failure(error)

    def _join_threads(self) -> None:
        """Wait for threads as a script does; an interrupted cell waits for nobody."""
        if isinstance(self.error, KeyboardInterrupt):
            return
        pools = sys.modules.get("concurrent.futures.thread")
        if pools is not None and hasattr(pools, "_python_exit"):
            pools._python_exit()
        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()

    # --- after the cell --------------------------------------------------------------------------------------------

    def _bring_back(self) -> int:
        self.channel.stop_flushing()
        environment.lift_limits()
        packed = self._pack()
        outcome, code = _outcome(self.error)
        failure = self.shell.failure if outcome in ("error", "interrupted") else None
        if outcome == "interrupted" and failure is None:
            failure = Failure("KeyboardInterrupt", "", [])
        end = {
            "outcome": outcome, "ename": failure and failure.ename, "evalue": failure and failure.evalue,
            "traceback": failure.traceback if failure else [], "returned": packed.names,
            "notes": self.notes + packed.notes, "exit_code": code, "told": signals.was_told(),
        }  # fmt: skip
        # The shim has kept room for it in the exit record, whatever the disk does.
        if not self.channel.send(LAST_WORD, end):
            with contextlib.suppress(OSError):
                spool.write_bytes(os.path.join(self.path, spool.END), encode(end))
        return code

    def _run_exit_functions(self) -> None:
        """Run what the cell registered for the end, as a script would: many a logger writes its last lines there."""
        processes = sys.modules.get("multiprocessing.process")
        if self.error is not None and processes is not None:
            # At exit multiprocessing waits for its children, and those of a failed cell may wait for it.
            for child in processes.active_children():
                child.terminate()
        atexit._run_exitfuncs()

    def _pack(self) -> Packed:
        """Write the variables. Whatever goes wrong costs variables, never the outcome."""
        try:
            return self.values.pack(os.path.join(self.path, spool.RESULT), self.launch.get("out_names"))
        except BaseException as error:
            reason = Failure.of(error, [])
            return Packed([], [f"The variables could not be brought back: {reason.ename}: {reason.evalue}"])

    def note(self, text: str) -> None:
        """Say a sentence of ours under the cell."""
        self.channel.send(Kind.NOTE, {"text": text})


def _is_deliberate(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0, False)


def _outcome(error: BaseException | None) -> tuple[str, int]:
    """Return the outcome and the exit code."""
    if error is None:
        return "ok", 0
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", 130
    if isinstance(error, SystemExit):
        if _is_deliberate(error):
            return "ok", 0
        return "error", error.code if isinstance(error.code, int) and 0 < error.code < 256 else 1
    return "error", 1
