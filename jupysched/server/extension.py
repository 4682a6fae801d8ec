"""Puts the parts of the extension together on one Jupyter server, and takes them down with it."""

from __future__ import annotations

from typing import Any

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.utils import url_path_join

from jupysched.panels.mount import Panels
from jupysched.panels.training import MetricsBook
from jupysched.server.pulse import Pulse
from jupysched.server.relay import Relay
from jupysched.server.routes import ROUTES
from jupysched.server.stream import StreamHandler


class JupyschedExtension(ExtensionApp):
    """One per server: relay, metrics, panels."""

    name = "jupysched"
    description = "GPU jobs from notebook cells."
    load_other_extensions = True

    def initialize_settings(self) -> None:
        """Make what the routes ask for; nothing runs yet."""
        assert self.serverapp is not None
        self.relay = Relay(log=self.log, root=str(self.serverapp.root_dir))
        self.book = MetricsBook()
        self.pulse = Pulse(relay=self.relay, book=self.book)
        self.panels = Panels(self.serverapp, book=self.book, picture=self.relay.picture, call=self.relay.call)
        self.settings.update(jupysched_relay=self.relay, jupysched_book=self.book)

    def initialize_handlers(self) -> None:
        """Mount routes, stream and panels, and begin to listen once the loop runs."""
        handlers: list[Any] = [(url_path_join("jupysched/api", path), handler) for path, handler in ROUTES]
        handlers.append((url_path_join("jupysched/api/stream"), StreamHandler))
        self.handlers.extend(handlers)
        self.panels.mount()
        assert self.serverapp is not None
        self.serverapp.io_loop.add_callback(self._begin)

    def _begin(self) -> None:
        self.relay.start()
        self.pulse.start()
        self.panels.start()

    async def stop_extension(self) -> None:
        """Leave no task and no session behind."""
        self.panels.close()
        await self.pulse.close()
        await self.relay.close()
