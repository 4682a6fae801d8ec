"""The IPython shell in which a job's cell runs, so that it behaves as it would in the notebook.

Knows IPython's classes and which of their parts a kernel replaces. Must not know pipes or files: what is shown goes to
a Channel. Built once in the zygote, where nothing may start a thread, open a history or write a file.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from typing import Any

from jupysched.runner.outputs import Channel, bundle

#: what stands before the file names of this package's code
_OURS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")


class Failure:
    """The error a cell ended with, as a kernel reports it."""

    def __init__(self, ename: str, evalue: str, lines: list[str]) -> None:
        self.ename = ename
        self.evalue = evalue
        self.traceback = lines

    @classmethod
    def of(cls, error: BaseException, lines: list[str] | None = None) -> Failure:
        try:
            evalue = str(error)
        except Exception:
            evalue = "<its text cannot be made>"
        if lines is None:
            lines = [line.rstrip("\n") for line in traceback.format_exception(error)]
        return cls(type(error).__name__, evalue, [str(line) for line in lines])

    def content(self) -> dict[str, Any]:
        return {"ename": self.ename, "evalue": self.evalue, "traceback": self.traceback}


def cut_our_frames(error: BaseException) -> None:
    """Let the traceback end where the cell's own code called into this package, which raised for it (an interrupt, `input()`)."""
    last, link = None, error.__traceback__
    while link is not None:
        if not link.tb_frame.f_code.co_filename.startswith(_OURS):
            last = link
        link = link.tb_next
    if last is not None:
        last.tb_next = None


class JobExit:
    """`exit` and `quit` in a job's cell: a deliberate end, as in a script."""

    def __call__(self, code: object = None) -> None:
        raise SystemExit(code)

    def __repr__(self) -> str:
        return "exit() ends the job; its variables still come back"


class ShellParts:
    """What differs from the InteractiveShell that IPython ships; mixed in before it."""

    channel: Channel | None
    #: the last error shown
    failure: Failure | None = None
    #: the process that is the job; its forked children are not
    owner: int
    _db: Any = None

    def init_ipython_dir(self, ipython_dir: str | None) -> None:
        # Past the observer that makes the folder: building a shell must not write.
        path = os.environ.get("IPYTHONDIR") or os.path.join(os.path.expanduser("~"), ".ipython")
        self._trait_values["ipython_dir"] = path  # type: ignore[attr-defined]

    def init_profile_dir(self, profile_dir: object) -> None:
        return

    def init_virtualenv(self) -> None:
        return  # the interpreter is the user's already

    @property
    def db(self) -> Any:
        """What %store, %bookmark and %cd keep: the user's own, opened when first asked for."""
        if self._db is None:
            pickleshare: Any = import_module("IPython.external.pickleshare")
            path: str = self._trait_values["ipython_dir"]  # type: ignore[attr-defined]
            self._db = pickleshare.PickleShareDB(os.path.join(path, "profile_default", "db"))
        return self._db

    def enable_gui(self, gui: str | None = None) -> None:
        """Refuse event loops of windows; `%matplotlib inline` asks for none."""
        if gui:
            raise NotImplementedError(f"a job has no screen for {gui!r}; use %matplotlib inline")

    def ask_exit(self) -> None:
        raise SystemExit(0)

    def showtraceback(self, exc_tuple: Any = None, **how: Any) -> None:
        """Show an error, unless it is a deliberate end."""
        error = (exc_tuple or sys.exc_info())[1]
        if isinstance(error, SystemExit) and error.code in (None, 0, False):
            return
        if isinstance(error, SystemExit):
            self.show_failure(error, [f"SystemExit: {error}"])
            return
        if error is not None:
            cut_our_frames(error)
        super().showtraceback(exc_tuple, **how)  # type: ignore[misc]

    def show_usage_error(self, exc: BaseException) -> None:
        """What a magic says of its line: one sentence, which is all there is to show."""
        super().show_usage_error(exc)  # type: ignore[misc]
        if os.getpid() == self.owner:
            self.failure = Failure.of(exc, [])

    def _showtraceback(self, etype: type[BaseException], evalue: BaseException, stb: list[str]) -> None:
        self.show_failure(evalue, stb)

    def show_failure(self, error: BaseException, lines: list[str] | None = None) -> None:
        failure = Failure.of(error, lines)
        if os.getpid() != self.owner or self.channel is None:
            # A forked child that fell out of the cell: its error is text, the job's outcome is another's.
            sys.stderr.write("\n".join([*failure.traceback, ""]))
            sys.stderr.flush()
            return
        self.failure = failure
        self.channel.message("error", failure.content())


class PublisherParts:
    """Displays go to the channel."""

    shell: Any

    def publish(
        self,
        data: dict[str, Any],
        metadata: dict[str, Any] | None = None,
        source: object = None,
        *,
        transient: dict[str, Any] | None = None,
        update: bool = False,
        **_more: Any,
    ) -> None:
        ready = bundle(data)
        if ready and self.shell.channel is not None:
            content = {"data": ready, "metadata": metadata or {}, "transient": transient or {}}
            self.shell.channel.message("update_display_data" if update else "display_data", content)

    def clear_output(self, wait: bool = False) -> None:  # noqa: FBT001, FBT002 - IPython's own signature
        if self.shell.channel is not None:
            self.shell.channel.message("clear_output", {"wait": bool(wait)})


class ResultParts:
    """The value of the trailing expression goes to the channel."""

    shell: Any
    prompt_count: int
    _is_active: bool

    def write_output_prompt(self) -> None:
        return

    def write_format_data(self, format_dict: dict[str, Any], md_dict: dict[str, Any] | None = None) -> None:
        ready = bundle(format_dict)
        if ready and self.shell.channel is not None:
            content = {"data": ready, "metadata": md_dict or {}, "execution_count": self.prompt_count}
            self.shell.channel.message("execute_result", content)

    def log_output(self, format_dict: dict[str, Any]) -> None:
        return

    def finish_displayhook(self) -> None:
        self._is_active = False


class CompilerParts:
    """The cell keeps the file name it has in the notebook."""

    _names: dict[str, str]

    def name_cell(self, cell: str, name: str) -> None:
        self._names = {cell: name}

    def get_code_name(self, raw_code: str, transformed_code: str, number: int) -> str:
        """Return the name in the notebook for the cell itself, IPython's for what else is run."""
        given = getattr(self, "_names", {}).get(raw_code)
        return given or super().get_code_name(raw_code, transformed_code, number)  # type: ignore[misc, no-any-return]

    def format_code_name(self, name: str) -> tuple[str, str] | None:
        """Return what tracebacks call a cell; a program that lies in a file goes by its file's name."""
        return None if os.path.exists(name) else super().format_code_name(name)  # type: ignore[misc]


def build() -> Any:
    """Return the shell, with a fresh `__main__`, ready to be forked."""
    import types

    from IPython.core.compilerop import CachingCompiler
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    settings.HistoryManager.hist_file = ":memory:"
    settings.InteractiveShell.colors_force = True
    main = types.ModuleType("__main__")
    shell_class = _joined("JobShell", ShellParts, InteractiveShell)
    shell = shell_class.instance(
        config=settings,
        user_module=main,
        display_pub_class=_joined("JobDisplayPublisher", PublisherParts, DisplayPublisher),
        displayhook_class=_joined("JobDisplayHook", ResultParts, DisplayHook),
        compiler_class=_joined("JobCompiler", CompilerParts, CachingCompiler),
    )
    _let_exit_be_silent()
    shell.channel, shell.owner = None, os.getpid()
    _forget_atexit(shell.atexit_operations)
    leave = JobExit()
    for name in ("exit", "quit"):
        shell.user_ns[name] = shell.user_ns_hidden[name] = leave
    warm(shell)
    return shell


def _joined(name: str, parts: type, base: type) -> Any:
    """Return `parts` mixed into a class of IPython; made here because IPython is imported late."""
    return type(base)(name, (parts, base), {"__module__": __name__})


def _let_exit_be_silent() -> None:
    """Take back IPython's advice on how to leave a terminal, given whenever a cell ends by SystemExit."""
    interactiveshell: Any = import_module("IPython.core.interactiveshell")
    warn = interactiveshell.warn

    def warn_but_of_exit(message: Any, *args: Any, **kwargs: Any) -> None:
        if not str(message).startswith("To exit: use"):
            kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
            warn(message, *args, **kwargs)

    interactiveshell.warn = warn_but_of_exit


def _forget_atexit(callback: Callable[[], object]) -> None:
    # IPython empties the user's namespace at exit: we leave by os._exit, and a child of the cell must not do it either.
    import atexit

    atexit.unregister(callback)


def warm(shell: Any) -> None:
    """Run what every cell runs, so that a job finds caches filled and modules loaded. Shows and keeps nothing."""
    shell.run_cell("None", store_history=True)
    shell.history_manager.reset()
    shell.execution_count = 1


def warm_errors(shell: Any) -> None:
    """Render an error once: what renders them is large, and a zygote loads it after its first pair is out."""
    try:
        raise ValueError("warm")
    except ValueError as error:
        shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__, tb_offset=0)
