"""The Bokeh application: one document a panel, authorised by Jupyter, assets from our own origin. Knows Bokeh's server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.document import Document
from bokeh.server.auth_provider import AuthProvider
from bokeh.server.tornado import BokehTornado
from bokeh.server.views.doc_handler import DocHandler
from tornado.web import RequestHandler

from jupysched.panels import loss, queue, usage, utilization
from jupysched.panels.views import World

PANELS: dict[str, Callable[[Document, World], None]] = {
    "utilization": utilization.draw,
    "loss": loss.draw,
    "queue": queue.draw,
    "usage": usage.draw,
}


class JupyterAuth(AuthProvider):  # type: ignore[misc]
    """Asks `who`, which raises for everyone who may not look."""

    def __init__(self, who: Callable[[RequestHandler], Awaitable[Any]]) -> None:
        self._who = who
        super().__init__()

    get_user = None
    login_handler = None
    logout_url = None
    logout_handler = None
    endpoints: list[Any] = []
    get_login_url = None

    @property
    def get_user_async(self) -> Any:
        """As Bokeh asks."""
        return self._who

    @property
    def login_url(self) -> str:
        """Never used: `who` raises. Bokeh wants one beside get_user."""
        return "/login"


class FramedDocHandler(DocHandler):  # type: ignore[misc]
    """A document that only our own pages may frame."""

    def set_default_headers(self) -> None:
        """As tornado asks."""
        self.set_header("Content-Security-Policy", "frame-ancestors 'self'")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Referrer-Policy", "same-origin")


def make_application(prefix: str, world: World, who: Callable[[RequestHandler], Awaitable[Any]]) -> BokehTornado:
    """Bokeh's part of the server, mounted by the caller."""
    applications = {
        f"/{name}": Application(FunctionHandler(partial(_draw, draw, world))) for name, draw in PANELS.items()
    }
    made = BokehTornado(
        applications,
        prefix=prefix,
        auth_provider=JupyterAuth(who),
        use_index=False,
        extra_websocket_origins=["*"],  # the router has checked the origin already
        # Else Bokeh puts the request's headers and cookies, Jupyter's token among them, into the page's session token.
        include_headers=[],
        include_cookies=[],
        unused_session_lifetime_milliseconds=15_000,
        keep_alive_milliseconds=37_000,
    )
    for rule in made.wildcard_router.rules:
        if rule.target is DocHandler:
            rule.target = FramedDocHandler
    return made


def _draw(draw: Callable[[Document, World], None], world: World, document: Document) -> None:
    draw(document, world)
