"""Policies that a site has installed: packages that name one in the entry-point group `jupysched.policies`.

Called once by whoever starts up (the daemon, the simulator), never while deciding."""

from __future__ import annotations

from importlib.metadata import entry_points

from jupysched.core.policies import MakePolicy, register

GROUP = "jupysched.policies"


def load_site_policies() -> dict[str, str]:
    """Make the installed policies known; return the sentence for each that could not be loaded, by name."""
    failures: dict[str, str] = {}
    for point in entry_points(group=GROUP):
        try:
            make: MakePolicy = point.load()
            make({})
        except Exception as error:
            failures[point.name] = f"{point.value}: {type(error).__name__}: {error}"
        else:
            register(point.name, make)
    return failures
