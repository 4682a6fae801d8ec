"""Which order is with which agent, and who has answered. Knows names of Dask workers, orders and answers; no Dask, no clock.

Every order is idempotent, so all that can go wrong (a worker that dies, hangs, comes back) is met by sending it again: to the
agent of the first GPU, or, when that one stays away, to another of the same node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import msgspec

from jupysched.core.resources import NodeName
from jupysched.ports import Grace, Heard, StartOrder

Key = tuple[int, int]
#: an agent that has not said that it got an order is taken for hung
ACK_S = 10.0
#: an agent that is gone may come back so long before another one of its node takes over
REHOME_S = 15.0
#: an order that no agent could take is refused
UNREACHABLE_S = 60.0
#: sends one message to the worker of this name; False if it is not connected
Send = Callable[[str, dict[str, Any]], bool]


class What(StrEnum):
    """The kinds of order."""

    START = "start"
    ADOPT = "adopt"
    STOP = "stop"
    FREEZE = "freeze"
    THAW = "thaw"


@dataclass(frozen=True, slots=True, kw_only=True)
class Out:
    """One order that is out."""

    order: StartOrder
    what: What
    #: the worker whose agent has it
    home: str
    since: float
    #: when it was sent last; None while its workers are not all connected
    sent_at: float | None = None
    #: its agent said that it has it
    is_acked: bool = False
    #: grace of the newest stop order, to send it again; None before the first
    grace_s: Grace | None = None
    #: which one of the attempt it is, so that its shim knows it again
    nth: int = 0
    #: since when its home is not connected
    away_since: float | None = None


class Dispatch:
    """The orders that are out, by (job, attempt)."""

    def __init__(self, nodes: Mapping[str, NodeName], *, send: Send, heard: Callable[[Heard], None]) -> None:
        #: worker name -> its node
        self._nodes = nodes
        self._send = send
        self._heard = heard
        self._connected: set[str] = set()
        self._out: dict[Key, Out] = {}
        self._shims: dict[Key, int] = {}

    def shims(self) -> frozenset[int]:
        """The pids of the shims that agents told of."""
        return frozenset(self._shims.values())

    # --- orders --------------------------------------------------------------------------------------------------------

    def start(self, order: StartOrder, *, now: float, what: What = What.START) -> None:
        """Send a start order (or one to adopt) once all its workers are connected."""
        key = (order.job, order.attempt)
        out = self._out.get(key) or Out(order=order, what=what, home=str(order.gpus[0].id), since=now)
        self._out[key] = out
        self._give(out, now)

    def stop(self, order: StartOrder, *, grace_s: Grace, nth: int, now: float) -> None:
        """Send a stop order; one for an attempt that was never sent ends it here."""
        key = (order.job, order.attempt)
        out = self._out.get(key)
        if out is not None and out.sent_at is None and out.what is What.START:
            self._refuse(out, now, "It was stopped before it started.")
            return
        out = out or Out(order=order, what=What.ADOPT, home=str(order.gpus[0].id), since=now)
        out = self._out[key] = replace(out, grace_s=grace_s, nth=nth)
        if out.home in self._connected:
            self._send(out.home, _stop(out))

    def tell(self, order: StartOrder, what: What) -> None:
        """Send an order to the agent of a live attempt; one whose agent is away is adopted thawed when that is back."""
        out = self._out.get((order.job, order.attempt))
        home = out.home if out is not None else str(order.gpus[0].id)
        if home in self._connected:
            self._send(home, {"what": what.value, "order": msgspec.to_builtins(order)})

    def _give(self, out: Out, now: float) -> None:
        """Send it if it can be sent: a gang only when the agents of all its GPUs are there."""
        order = out.order
        if out.what is What.START and not all(str(gpu.id) in self._connected for gpu in order.gpus):
            return
        if out.home not in self._connected:
            return
        message = {"what": out.what.value, "order": msgspec.to_builtins(order)}
        if not self._send(out.home, message):
            return
        self._out[order.job, order.attempt] = replace(out, sent_at=now, is_acked=False, away_since=None)
        for gpu in order.gpus[1:]:
            self._send(str(gpu.id), {"what": "expect", "job": order.job, "attempt": order.attempt})
        if out.grace_s is not None:
            self._send(out.home, _stop(out))

    # --- answers -------------------------------------------------------------------------------------------------------

    def acked(self, job: int, attempt: int) -> None:
        """The agent has the order."""
        if (out := self._out.get((job, attempt))) is not None:
            self._out[job, attempt] = replace(out, is_acked=True)

    def told(self, heard: Heard, shim: int | None) -> None:
        """The agent says what became of an attempt. An ended one is told once, however often agents repeat it."""
        key = (heard.job, heard.attempt)
        out = self._out.get(key)
        if out is None:
            return
        if heard.kind == "running":
            # From now on whoever follows adopts: a start order would wait for the other GPUs' agents.
            self._out[key] = replace(out, is_acked=True, what=What.ADOPT)
            if shim is not None:
                self._shims[key] = shim
        elif heard.kind != "metrics":
            self._forget(key)
        self._heard(heard)

    def _forget(self, key: Key) -> None:
        self._out.pop(key, None)
        self._shims.pop(key, None)

    def _refuse(self, out: Out, now: float, sentence: str) -> None:
        self._forget((out.order.job, out.order.attempt))
        self._heard(Heard(job=out.order.job, attempt=out.order.attempt, kind="refused", at=now, sentence=sentence))

    # --- workers -------------------------------------------------------------------------------------------------------

    def joined(self, name: str, *, now: float) -> None:
        """A worker is connected: whatever its agent should have is sent, again if need be."""
        self._connected.add(name)
        for out in tuple(self._out.values()):
            if out.home == name or out.sent_at is None:
                self._give(out, now)

    def left(self, name: str, *, now: float) -> None:
        """A worker is gone; its attempts go on."""
        self._connected.discard(name)
        for key, out in tuple(self._out.items()):
            if out.home == name:
                self._out[key] = replace(out, away_since=now, is_acked=False)

    def hung(self, *, now: float) -> frozenset[str]:
        """Return the workers that have not confirmed an order in time, and send them the order once more; also find new homes
        for attempts whose agent stays away, and refuse what no agent could take."""
        found = set()
        for out in tuple(self._out.values()):
            if out.sent_at is None and out.what is What.START and now - out.since > UNREACHABLE_S:
                self._refuse(out, now, "The agents of its GPUs could not be reached.")
            elif out.home not in self._connected and now - (out.away_since or out.since) > REHOME_S:
                self._rehome(out, now)
            elif out.sent_at is not None and not out.is_acked and out.away_since is None and now - out.sent_at > ACK_S:
                found.add(out.home)
                self._give(out, now)
        return frozenset(found)

    def _rehome(self, out: Out, now: float) -> None:
        if out.sent_at is None and out.what is What.START:
            return
        for name in sorted(self._connected):
            if self._nodes.get(name) == out.order.gpus[0].node:
                # It was sent once, so whether it was started is for its directory to say.
                self._give(replace(out, home=name, what=What.ADOPT), now)
                return


def _stop(out: Out) -> dict[str, Any]:
    grace = list(out.grace_s or (0.0, 0.0))
    return {"what": What.STOP.value, "order": msgspec.to_builtins(out.order), "grace_s": grace, "nth": out.nth}
