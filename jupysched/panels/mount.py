"""Mounts the Bokeh server inside Jupyter's own web application. Knows tornado's router, Bokeh's server and Jupyter's identity.

Bokeh is imported and its server made when the first panel is asked for (in a thread, so that the server goes on answering)."""

from __future__ import annotations

import asyncio
import copy
import inspect
import types
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import urlparse

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp
from jupyter_server.utils import url_path_join
from tornado import httputil, web
from tornado.routing import PathMatches, Router, Rule

from jupysched.panels.training import MetricsBook
from jupysched.panels.views import World

RESOURCE = "jupysched"


class Panels:
    """The panels of one Jupyter server."""

    def __init__(
        self,
        serverapp: ServerApp,
        *,
        book: MetricsBook,
        picture: Any,
        call: Callable[[Any], Awaitable[Any]],
    ) -> None:
        self._serverapp = serverapp
        self.world = World(book=book, picture=picture, call=call)
        self.prefix = url_path_join(serverapp.web_app.settings["base_url"], "jupysched/panels")
        self._bokeh: Any = None
        self._making: asyncio.Task[Any] | None = None

    def mount(self) -> None:
        """Take all paths below our prefix. (`add_handlers` cannot nest an application.)"""
        rule = Rule(PathMatches(self.prefix + "/.*"), PanelRouter(self))
        self._serverapp.web_app.default_router.rules.insert(0, rule)

    def start(self) -> None:
        """Import Bokeh while nobody waits for it."""
        self._making = asyncio.get_running_loop().create_task(self.bokeh())

    def close(self) -> None:
        """End all sessions."""
        if self._making is not None:
            self._making.cancel()
        if self._bokeh is not None:
            self._bokeh.stop()

    def is_ready(self) -> bool:
        """Has Bokeh been loaded?"""
        return self._bokeh is not None

    async def bokeh(self) -> Any:
        """The Bokeh application, made once."""
        if self._bokeh is None:
            make = await asyncio.to_thread(_load)
            if self._bokeh is None:
                self._bokeh = make(self.prefix, self.world, identity(self._serverapp.web_app))
                self._bokeh.initialize(io_loop=self._serverapp.io_loop)
                self._bokeh.start()
        return self._bokeh

    def find(self, request: httputil.HTTPServerRequest) -> Any:
        """The handler for a request whose origin was checked."""
        if self._bokeh is None:
            return self._serverapp.web_app.get_handler_delegate(request, NotYet, {"panels": self})
        return self._bokeh.find_handler(request)

    def refuse(self, request: httputil.HTTPServerRequest) -> Any:
        """The handler for a request from another site."""
        return self._serverapp.web_app.get_handler_delegate(request, CrossOrigin)

    def may_come_from(self, origin: str, host: str) -> bool:
        """Same origin, or one that Jupyter was told to allow."""
        settings = self._serverapp.web_app.settings
        allowed, pattern = settings.get("allow_origin", ""), settings.get("allow_origin_pat")
        if urlparse(origin).netloc == host or allowed in ("*", origin):
            return True
        return bool(pattern and pattern.match(origin))


def _load() -> Callable[..., Any]:
    from jupysched.panels.application import make_application

    return make_application


class PanelRouter(Router):
    """Same-origin check on every request, then Bokeh's own routes, each of which asks Jupyter who is there."""

    def __init__(self, panels: Panels) -> None:
        self._panels = panels

    def find_handler(self, request: httputil.HTTPServerRequest, **_: Any) -> Any:
        """As tornado asks."""
        origin = request.headers.get("Origin") or request.headers.get("Sec-Websocket-Origin")
        if origin is not None and not self._panels.may_come_from(origin, request.host):
            return self._panels.refuse(request)
        return self._panels.find(request)


class CrossOrigin(web.RequestHandler):
    """Refuses, whoever asks."""

    auth_resource = RESOURCE

    def prepare(self) -> None:
        """Every method."""
        raise web.HTTPError(HTTPStatus.FORBIDDEN, "cross-origin")


class NotYet(JupyterHandler):
    """The first moments after the start: Bokeh is being loaded; the same address again will do."""

    auth_resource = RESOURCE

    def initialize(self, panels: Panels) -> None:
        """As tornado passes it."""
        self._panels = panels

    @web.authenticated
    @authorized
    async def get(self, *_: str) -> None:
        """Wait for Bokeh, then send the browser to the same address."""
        await self._panels.bokeh()
        self.redirect(self.request.uri or self._panels.prefix)


def identity(web_app: web.Application) -> Callable[[web.RequestHandler], Awaitable[Any]]:
    """A function that asks Jupyter's identity provider and authorizer about the sender of a request to another handler.

    Raises 403 for everyone whom Jupyter does not know or allow: a redirect to a login page makes no sense in a frame."""

    async def who(handler: web.RequestHandler) -> Any:
        request = copy.copy(handler.request)
        connection = handler.request.connection
        context = getattr(connection, "context", None)
        mute: Any = types.SimpleNamespace(set_close_callback=lambda _: None, context=context)
        request.connection = mute
        asked = JupyterHandler(web_app, request)
        user = web_app.settings["identity_provider"].get_user(asked)
        user = await user if inspect.isawaitable(user) else user
        if user is None:
            raise web.HTTPError(HTTPStatus.FORBIDDEN)
        allowed = web_app.settings["authorizer"].is_authorized(asked, user, "read", RESOURCE)
        allowed = await allowed if inspect.isawaitable(allowed) else allowed
        if not allowed:
            raise web.HTTPError(HTTPStatus.FORBIDDEN)
        return user

    return who
