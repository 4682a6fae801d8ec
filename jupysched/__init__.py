"""jupysched: a notebook cell becomes a queued GPU job, and still behaves like a cell.

Knows the version and the doors that Jupyter, IPython and users look for. Imports nothing at module level: whoever says
`import jupysched` pays for a door only when walking through it, and a job that asks for `jupysched.log` pays for that alone.
"""

__version__ = "0.1.0.dev0"

#: What users reach as `jupysched.NAME`, and the module behind each; loaded when first asked for.
_DOORS = {
    "submit": "jupysched.magic.api",
    "job": "jupysched.magic.api",
    "jobs": "jupysched.magic.api",
    "gpus": "jupysched.magic.api",
    "Job": "jupysched.magic.api",
    "log": "jupysched.runner.metrics",
    "checkpoint": "jupysched.runner.metrics",
    "restored": "jupysched.runner.metrics",
    "should_stop": "jupysched.runner.metrics",
}

# Type checkers believe this name; nobody else pays for what it hides.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from jupysched.magic.api import Job, gpus, job, jobs, submit
    from jupysched.runner.metrics import checkpoint, log, restored, should_stop

__all__ = ["Job", "__version__", "checkpoint", "gpus", "job", "jobs", "log", "restored", "should_stop", "submit"]


def __getattr__(name: str) -> object:
    """Return what stands behind a door, and keep it so that the next look costs nothing."""
    from importlib import import_module

    if name not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_DOORS[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the doors beside what is loaded already, for completion in notebooks."""
    return sorted({*globals(), *_DOORS})


def load_ipython_extension(shell: object) -> None:
    """Make `%%gpujob` and the line magics known to this IPython shell; called by `%load_ext jupysched`."""
    from jupysched.magic import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """Take the magics away again; called by `%unload_ext jupysched`. Jobs go on."""
    from jupysched.magic import unload

    unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    """Return where the built JupyterLab extension lies, for `jupyter labextension`."""
    return [{"src": "labextension", "dest": "jupysched"}]


def _jupyter_server_extension_points() -> list[dict[str, object]]:
    """Return what Jupyter Server loads as our extension."""
    from jupysched.server.extension import JupyschedExtension

    return [{"module": "jupysched.server", "app": JupyschedExtension}]
