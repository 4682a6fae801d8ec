"""The one WebSocket of a page: the picture and its changes, and the outputs of jobs that the page follows.

A slow page is never sent what it has not asked for twice: while a message is on its way, what happens meanwhile is merged into
the next one, and a page that fell too far behind gets a refresh instead."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from jupyter_server.auth.decorator import authorized, ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from jupysched.server import spools
from jupysched.server.relay import Relay
from jupysched.server.routes import RESOURCE
from jupysched.wire.browser import Follow, Unfollow

#: a burst of changes becomes one message: at most this many seconds lie between two
GATHER_S = 0.05
#: how often a followed spool is looked at while nothing comes: the first and the longest pause
LOOK_S = (0.1, 1.0)
#: jobs that one page may follow at a time
MOST_FOLLOWED = 64

_from_page = msgspec.json.Decoder(Follow | Unfollow)


class StreamHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """`?epoch=E&seq=N` resumes: what changed since N, if this is still the server that said N."""

    auth_resource = RESOURCE

    @ws_authenticated
    @authorized
    async def get(self, *arguments: Any, **named: Any) -> None:
        """Upgrade, for those whom Jupyter knows and allows."""
        await super().get(*arguments, **named)

    def get_compression_options(self) -> dict[str, Any]:
        """A refresh with thousands of jobs shrinks tenfold."""
        return {"compression_level": 3}

    def open(self, *arguments: Any, **named: Any) -> None:
        """Begin to send."""
        super().open(*arguments, **named)
        self._followed: dict[int, asyncio.Task[None]] = {}
        self._pump = asyncio.get_running_loop().create_task(self._send_changes())

    @property
    def relay(self) -> Relay:
        """The one relay of this server."""
        return self.settings["jupysched_relay"]  # type: ignore[no-any-return]

    def on_close(self) -> None:
        """The page is gone."""
        self._pump.cancel()
        for following in self._followed.values():
            following.cancel()
        self._followed.clear()

    async def on_message(self, message: str | bytes) -> None:
        """The page follows a job, or no longer does. Anything else ends the connection: it is not our page."""
        try:
            said = _from_page.decode(message)
        except msgspec.MsgspecError:
            self.close(1003, "not a message of jupysched")
            return
        old = self._followed.pop(said.job, None)
        if old is not None:
            old.cancel()
        if isinstance(said, Follow) and len(self._followed) < MOST_FOLLOWED:
            self._followed[said.job] = asyncio.get_running_loop().create_task(self._follow(said))

    async def _send(self, message: msgspec.Struct) -> bool:
        """True once the page's connection has taken it; this is what holds a fast job back for a slow page."""
        try:
            await self.write_message(msgspec.json.encode(message).decode())
        except WebSocketClosedError:
            return False
        return True

    async def _send_changes(self) -> None:
        picture = self.relay.picture
        seq = self._resumed()
        changed = self.relay.subscribe()
        try:
            while True:
                changed.clear()
                message = picture.since(seq) if seq >= 0 else None
                at = picture.seq
                if not await self._send(message or picture.refresh()):
                    return
                seq = at
                await changed.wait()
                await asyncio.sleep(GATHER_S)
        finally:
            self.relay.unsubscribe(changed)

    def _resumed(self) -> int:
        if self.get_query_argument("epoch", "") != self.relay.picture.epoch:
            return -1
        try:
            return int(self.get_query_argument("seq", "-1"))
        except ValueError:
            return -1

    async def _follow(self, asked: Follow) -> None:
        """Send outputs as they come until the attempt has ended."""
        at, pause, ended = asked.start, LOOK_S[0], False
        while not ended:
            record = self.relay.record(asked.job)
            directory = record.directory if record is not None else ""
            if directory:
                piece = await asyncio.to_thread(spools.read_outputs, asked.job, directory, asked.attempt, at)
                ended = piece.ended
                if piece.end > at or ended:
                    if not await self._send(piece):
                        return
                    at, pause = piece.end, LOOK_S[0]
                    continue
            elif record is not None:
                return  # another user's
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, LOOK_S[1])
