"""A launcher that starts nothing: it answers as told, and can go away at the worst moment."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

NO_PID = 2**22 - 1
Reply = dict[str, Any] | None


class StandInLauncher:
    """Listens in a run directory from `open` to `close`. `answer`: request -> answer, or None to stay silent."""

    def __init__(self, run_dir: Path, answer: Callable[[dict[str, Any]], Reply]) -> None:
        self.path = run_dir / "launcher.sock"
        self.answer = answer
        self.requests: list[dict[str, Any]] = []
        #: how often it was started
        self.starts = 0
        self._server: asyncio.Server | None = None
        self._opening: asyncio.Future[None] | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    def start(self, run_dir: str) -> int:
        """What a LauncherClient calls to have it started."""
        self.starts += 1
        self._opening = asyncio.ensure_future(self.open())
        return NO_PID

    async def open(self) -> None:
        self.path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, self.path)

    async def close(self) -> None:
        """Go away, as a stopped process does: the path stays, connections break."""
        if self._opening is not None:
            await self._opening
        for writer in self._writers:
            writer.transport.abort()
        if self._server is not None:
            self._server.close()
            self._server = None
        await asyncio.sleep(0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while line := await reader.readline():
                request = json.loads(line)
                self.requests.append(request)
                answer = self.answer(request)
                if answer is not None:
                    writer.write(json.dumps({"id": request["id"], **answer}).encode() + b"\n")
        except ConnectionError:
            return
        finally:
            self._writers.discard(writer)
            writer.close()
