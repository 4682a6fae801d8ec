"""Readings are kept for as long as they are asked for, in bounded memory; what was not told is not 0."""

from jupysched.panels.history import COARSE_KEPT, FINE_KEPT, GpuHistory
from jupysched.testing.clock import FakeClock
from jupysched.wire.records import GpuRecord


def a_gpu(**over: object) -> GpuRecord:
    return GpuRecord(**{"id": "G", "node": "n", "index": 0, "label": "GPU 0", "name": "H", "kind": "gpu", **over})  # type: ignore[arg-type]


def a_history() -> tuple[GpuHistory, FakeClock]:
    clock = FakeClock()
    return GpuHistory(clock=clock.now), clock


def test_a_day_of_seconds_stays_bounded_and_reaches_back_a_day() -> None:
    history, clock = a_history()
    begin = clock.now()
    for second in range(26 * 3600):
        history.take([a_gpu(utilization_percent=float(second % 100))])
        clock.advance(1)
    assert len(history.readings("G", since=clock.now() - 600)) == 599
    day = history.readings("G", since=0.0)
    assert len(day) <= FINE_KEPT + COARSE_KEPT
    assert day[0].at - begin < 2.1 * 3600
    assert [r.at for r in day] == sorted(r.at for r in day)


def test_a_push_for_another_reason_is_not_another_second() -> None:
    history, clock = a_history()
    history.take([a_gpu()])
    clock.advance(0.2)
    history.take([a_gpu()])
    assert len(history.readings("G", since=0.0)) == 1


def test_what_was_not_told_stays_unknown_also_in_means() -> None:
    history, clock = a_history()
    for second in range(20):
        history.take([a_gpu(utilization_percent=None if second % 2 else 50.0, power_w=None)])
        clock.advance(1)
    (reading,) = history.thinned("G", since=0.0, most=1)
    assert reading.values[0] == 50.0
    assert reading.values[2] is None


def test_a_number_that_nobody_read_again_is_not_carried_on_but_its_holder_is() -> None:
    history, clock = a_history()
    history.take([a_gpu(utilization_percent=90.0, jobs=[7])])
    clock.advance(1.5)
    history.carry_on()
    assert len(history.readings("G", since=0.0)) == 1
    clock.advance(1.5)
    history.carry_on()
    last = history.readings("G", since=0.0)[-1]
    assert (last.values[0], last.jobs) == (None, (7,))


def test_a_job_holds_its_gpu_until_it_is_seen_free() -> None:
    history, clock = a_history()
    begin = clock.now()
    for jobs in ([], [7], [7], [], [8]):
        history.take([a_gpu(jobs=jobs)])
        clock.advance(1)
    spans = [(s.job, s.start - begin, s.end - begin) for s in history.spans("G", since=0.0)]
    assert spans == [(7, 1, 3), (8, 4, 4)]


def test_newer_readings_are_found_without_looking_at_all() -> None:
    history, clock = a_history()
    for _ in range(5):
        history.take([a_gpu()])
        clock.advance(1)
    assert [clock.now() - r.at for r in history.newer("G", than=clock.now() - 2.5)] == [2, 1]
