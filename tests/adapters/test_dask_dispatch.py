"""Every order reaches an agent, however often agents come and go, and no gang is dispatched in part."""

from pathlib import Path
from typing import Any

from jupysched.adapters.dask_dispatch import ACK_S, REHOME_S, UNREACHABLE_S, Dispatch
from jupysched.core.job import Exit, JobId
from jupysched.ports import Heard, StartOrder
from jupysched.testing.cluster import fake_gpus
from tests.adapters.job_directories import an_order

GPUS = fake_gpus(4)
A, B, C, D = (str(gpu.id) for gpu in GPUS)


class Wire:
    """A dispatch, the workers it is connected to, and what was sent to whom."""

    def __init__(self, *connected: str) -> None:
        self.sent: list[tuple[str, str]] = []
        self.nths: list[int] = []
        self.heard: list[Heard] = []
        self.broken: set[str] = set()
        self.dispatch = Dispatch({str(gpu.id): gpu.node for gpu in GPUS}, send=self._send, heard=self.heard.append)
        for name in connected:
            self.dispatch.joined(name, now=0)

    def _send(self, name: str, message: dict[str, Any]) -> bool:
        if name in self.broken:
            return False
        self.sent.append((name, message["what"]))
        self.nths += [message["nth"]] if "nth" in message else []
        return True

    def take(self) -> list[tuple[str, str]]:
        sent, self.sent = self.sent, []
        return sent


def order(*names: str, job: int = 1) -> StartOrder:
    by_name = {str(gpu.id): gpu for gpu in GPUS}
    return an_order(Path("/nowhere"), [by_name[name] for name in names], job=job)


def running(job: int = 1) -> Heard:
    return Heard(job=JobId(job), attempt=1, kind="running", at=0)


def ended(job: int = 1) -> Heard:
    return Heard(job=JobId(job), attempt=1, kind="ended", at=0, exit=Exit(code=0, outcome="ok"))


def test_an_order_goes_to_the_agent_of_the_first_gpu_and_the_others_are_told() -> None:
    wire = Wire(A, B, C)
    wire.dispatch.start(order(B, A), now=0)
    assert [(B, "start"), (A, "expect")] == wire.take()


def test_a_gang_waits_until_all_its_agents_are_there() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A, B, C), now=0)
    wire.dispatch.joined(B, now=1)
    assert [] == wire.take()
    wire.dispatch.joined(C, now=2)
    assert [(A, "start"), (B, "expect"), (C, "expect")] == wire.take()


def test_an_agent_that_comes_back_gets_its_orders_again() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.left(A, now=1)
    wire.take()
    wire.dispatch.joined(A, now=2)
    assert [(A, "start")] == wire.take()


def test_an_attempt_that_runs_is_adopted_although_the_other_agents_of_its_gang_are_away() -> None:
    wire = Wire(A, B)
    wire.dispatch.start(order(A, B), now=0)
    wire.dispatch.told(running(), 812)
    for name in (A, B):
        wire.dispatch.left(name, now=1)
    wire.take()
    wire.dispatch.joined(A, now=2)
    assert [(A, "adopt"), (B, "expect")] == wire.take()


def test_an_attempt_that_ended_is_sent_to_nobody_any_more() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.told(ended(), None)
    wire.dispatch.left(A, now=1)
    wire.take()
    wire.dispatch.joined(A, now=2)
    assert [] == wire.take()


def test_an_end_that_two_agents_tell_is_heard_once() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.told(ended(), None)
    wire.dispatch.told(ended(), None)
    assert [ended()] == wire.heard


def test_an_agent_that_does_not_confirm_in_time_is_hung_and_gets_the_order_again() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    assert frozenset() == wire.dispatch.hung(now=ACK_S)
    wire.take()
    assert frozenset({A}) == wire.dispatch.hung(now=ACK_S + 1)
    assert [(A, "start")] == wire.take()


def test_an_agent_that_confirmed_is_not_hung_however_long_the_start_takes() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.acked(1, 1)
    assert frozenset() == wire.dispatch.hung(now=1000)


def test_another_agent_of_the_node_takes_over_when_one_stays_away() -> None:
    wire = Wire(A, B)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.told(running(), 812)
    wire.dispatch.left(A, now=10)
    wire.take()
    wire.dispatch.hung(now=10 + REHOME_S)
    assert [] == wire.take()
    wire.dispatch.hung(now=11 + REHOME_S)
    assert [(B, "adopt")] == wire.take()
    wire.dispatch.stop(order(A), grace_s=(1, 1), nth=1, now=20)
    assert [(B, "stop")] == wire.take()


def test_an_order_that_reaches_nobody_is_refused_with_a_sentence() -> None:
    wire = Wire()
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.hung(now=UNREACHABLE_S + 1)
    assert [("refused", "The agents of its GPUs could not be reached.")] == [(h.kind, h.sentence) for h in wire.heard]


def test_an_order_that_waits_for_agents_and_is_stopped_never_goes_out() -> None:
    wire = Wire()
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.stop(order(A), grace_s=(1, 1), nth=1, now=1)
    wire.dispatch.joined(A, now=2)
    assert ([], ["refused"]) == (wire.take(), [h.kind for h in wire.heard])


def test_a_stop_order_for_an_agent_that_is_away_follows_the_order_when_it_is_back() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.told(running(), 812)
    wire.dispatch.left(A, now=1)
    wire.take()
    wire.dispatch.stop(order(A), grace_s=(1, 1), nth=1, now=2)
    assert [] == wire.take()
    wire.dispatch.joined(A, now=3)
    assert [(A, "adopt"), (A, "stop")] == wire.take()


def test_a_stop_order_that_is_sent_again_says_that_it_is_the_same_one() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.told(running(), 812)
    for nth in (1, 2):
        wire.dispatch.stop(order(A), grace_s=(1, 1), nth=nth, now=nth)
    wire.dispatch.left(A, now=3)
    wire.dispatch.joined(A, now=4)
    assert [1, 2, 2] == wire.nths


def test_a_stream_that_breaks_in_the_moment_of_sending_loses_no_order() -> None:
    wire = Wire(A)
    wire.broken.add(A)
    wire.dispatch.start(order(A), now=0)
    wire.broken.clear()
    wire.dispatch.left(A, now=1)
    wire.dispatch.joined(A, now=2)
    assert [(A, "start")] == wire.take()


def test_shims_are_known_while_their_attempts_live() -> None:
    wire = Wire(A)
    wire.dispatch.start(order(A), now=0)
    wire.dispatch.told(running(), 812)
    assert frozenset({812}) == wire.dispatch.shims()
    wire.dispatch.told(ended(), None)
    assert frozenset() == wire.dispatch.shims()
