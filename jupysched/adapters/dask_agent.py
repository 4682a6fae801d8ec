"""Our agent inside a Dask worker. Knows the worker's streams and an Agent; knows nothing of Dask's own tasks.

The worker is a carrier: it never sees a user's bytes. When it dies, attempts go on, and the one that follows adopts them."""

from __future__ import annotations

import logging
import os
from typing import Any

import msgspec
from distributed import WorkerPlugin
from distributed.comm import CommClosedError

from jupysched.adapters.agent import Agent
from jupysched.ports import Grace, Heard, StartOrder

log = logging.getLogger("jupysched.agent")
ORDER, WORD = "jupysched-order", "jupysched-word"


class JupyschedAgent(WorkerPlugin):  # type: ignore[misc]
    """Hosts an Agent; orders come and words go on the worker's stream to the scheduler."""

    name = "jupysched"

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._agent: Agent | None = None
        self._worker: Any = None

    async def setup(self, worker: Any) -> None:
        """Have the agent listen before the worker registers, so that an order never comes too early."""
        self._worker = worker
        self._agent = Agent(self._run_dir, name=_socket_name(str(worker.name)), heard=self._heard)
        worker.stream_handlers[ORDER] = self._ordered
        await self._agent.start()

    async def teardown(self, worker: Any) -> None:
        """Let go; attempts go on."""
        if self._agent is not None:
            await self._agent.close()
            self._agent = None

    def _ordered(self, what: str = "", **message: Any) -> None:
        # An exception here would break the worker's stream, and with it the worker.
        try:
            self._obey(what, message)
        except Exception as error:
            log.exception("order not carried out", extra={"cause": what})
            self._say({"kind": "fault", "sentence": f"The agent could not carry out an order ({what}): {error!r}."})

    def _obey(self, what: str, message: dict[str, Any]) -> None:
        agent = self._agent
        if agent is None or what == "expect":
            return
        order = msgspec.convert(message["order"], StartOrder)
        self._say({"kind": "ack", "job": order.job, "attempt": order.attempt})
        if what == "start":
            agent.order_start(order)
        elif what == "adopt":
            agent.adopt(order)
        elif what == "freeze":
            agent.order_freeze(order)
        elif what == "thaw":
            agent.order_thaw(order)
        elif what == "stop":
            agent.order_stop(order, grace_s=msgspec.convert(message["grace_s"], Grace), nth=int(message["nth"]))

    def _heard(self, heard: Heard) -> None:
        shim = self._agent.shim_of(heard.job, heard.attempt) if self._agent is not None else None
        self._say({"kind": "heard", "heard": msgspec.to_builtins(heard), "shim": shim})

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self._worker.batched_stream.send({"op": WORD, **message})
        except CommClosedError:
            # The scheduler is gone; whoever follows asks again and looks at the attempts' directories.
            log.warning("word not sent", extra={"cause": str(message.get("kind")), "pid": os.getpid()})


def _socket_name(worker: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in worker)
