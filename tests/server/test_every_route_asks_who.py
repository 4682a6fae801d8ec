"""Every handler of ours decides who is asking and whether they may; nobody is served by accident."""

import json
import re
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.labs import JupyterServer, jupyter_server
from tests.leaks import temporary_home

pytestmark = [pytest.mark.slow, pytest.mark.real_time]

#: Loaded beside our extension: writes down every handler of the server that comes from our package.
LISTER = """
import json, tornado.routing

def _load_jupyter_server_extension(app):
    def walk(router, found):
        for rule in router.rules:
            target, pattern = rule.target, getattr(rule.matcher, "regex", None)
            if isinstance(target, tornado.routing.RuleRouter):
                walk(target, found)
            elif isinstance(target, type) and target.__module__.startswith("jupysched") and pattern is not None:
                methods = [m for m in ("get", "post", "put", "patch", "delete") if m in vars(target)]
                found.append([target.__name__, pattern.pattern, methods, getattr(target, "auth_resource", None)])
    found = []
    walk(app.web_app.default_router, found)
    open(PLACE, "w").write(json.dumps(found))
"""
DENY = """
from jupyter_server.auth import Authorizer
class Nobody(Authorizer):
    def is_authorized(self, handler, user, action, resource):
        return resource != "jupysched"
c.ServerApp.authorizer_class = Nobody
"""
PANELS = ("utilization", "loss", "queue", "usage", "loss/ws", "loss/autoload.js", "loss/metadata")


def _paths(server: JupyterServer) -> list[tuple[str, str, str]]:
    """(handler, method, path below the base) of every handler of ours."""
    found = json.loads((server.home / "handlers.json").read_text())
    paths = []
    for name, pattern, methods, resource in found:
        assert resource == "jupysched", f"{name} names no auth_resource"
        assert methods, f"{name} answers no method"
        path = re.sub(r"\(\[0-9\][^)]*\)", "1", pattern).removeprefix("/user/x/").rstrip("$")
        assert "(" not in path, f"{name}: the test cannot make a path of {pattern}"
        paths += [(name, method, path) for method in methods]
    return paths


def _asked(
    home: Path, *, settings: str = "", is_up: str = "jupysched/api/state"
) -> AbstractContextManager[JupyterServer]:
    """A server that has written down its handlers. Extensions are loaded in the order of their names."""
    lister = LISTER.replace("PLACE", repr(str(home / "handlers.json")))
    extensions = 'c.ServerApp.jpserver_extensions = {"jupysched": True, "zz_lister": True}\n'
    return jupyter_server(home, settings=extensions + settings, is_up=is_up, modules={"zz_lister": lister})


def test_nobody_is_served_without_an_identity() -> None:
    with temporary_home() as home, _asked(home) as server:
        paths = _paths(server)
        assert len(paths) >= 12
        for name, method, path in paths:
            answer = server.ask(path, {} if method == "post" else None, method=method.upper(), token=None)
            assert answer.status in (302, 401, 403), f"{name} answers {method} of nobody with {answer.status}"
        for panel in PANELS:
            server.ask(f"jupysched/panels/{panel}")
            answer = server.ask(f"jupysched/panels/{panel}", token=None)
            assert answer.status in (302, 401, 403), f"panel {panel} answers nobody with {answer.status}"


def test_nobody_is_served_whom_the_authorizer_refuses() -> None:
    with temporary_home() as home, _asked(home, settings=DENY, is_up="api/status") as server:
        for name, method, path in _paths(server):
            answer = server.ask(path, {} if method == "post" else None, method=method.upper())
            assert answer.status == 403, f"{name} answers {method} of a refused user with {answer.status}"
        for panel in ("utilization", "loss"):
            assert server.ask(f"jupysched/panels/{panel}").status == 403


def test_another_site_may_not_frame_or_read_a_panel(server: JupyterServer) -> None:
    path = "jupysched/panels/utilization"
    server.ask(path)
    assert server.ask(path, headers={"Origin": "http://evil.example"}).status == 403
    assert server.ask(path, headers={"Origin": "null"}).status == 403
    answer = server.ask(path)
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    assert server.token not in answer.body.decode()
