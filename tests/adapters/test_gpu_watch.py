"""What two readings in a row mean: faults count at once, all else when two readings agree."""

import os
import subprocess

from jupysched.adapters.gpu_watch import GpuWatch, Watch, changes, foreign_sentence
from jupysched.adapters.processes import Whose, descends_from, describe_process
from jupysched.core.events import Event, GpuDrained, GpuForeign, GpuRestored
from jupysched.core.resources import GpuId
from jupysched.ports import GpuSample

GPU = GpuId("GPU-0")
GIB = 1 << 30


def reading(at: float, *, fault: str = "", **processes: int | None) -> list[GpuSample]:
    """A reading; processes as p812=bytes."""
    return [GpuSample(gpu=GPU, at=at, fault=fault, processes={int(name[1:]): used for name, used in processes.items()})]


def told(*readings: list[GpuSample], ours: tuple[int, ...] = (), held: tuple[GpuId, ...] = ()) -> list[Event]:
    watch: Watch = {}
    events: list[Event] = []
    for samples in readings:
        watch, more = changes(
            watch, samples, lambda pid: pid in ours, lambda pid: Whose(name="python", user="ann", is_visible=pid < 1000),
            held=held,
        )  # fmt: skip
        events += more
    return events


def ann(pid: int, size: str) -> str:
    return f"PID {pid} (python, user ann, {size})"


def test_nothing_new_is_nothing_told() -> None:
    assert told(reading(1), reading(2), reading(3)) == []


def test_a_fault_drains_at_once_and_only_once() -> None:
    assert [GpuDrained(at=2, gpu=GPU, cause="health", sentence="GPU 0 is lost.")] == told(
        reading(1), reading(2, fault="GPU 0 is lost."), reading(3, fault="GPU 0 is lost.")
    )


def test_seconds_that_pass_in_a_fault_are_no_news() -> None:
    assert 1 == len(
        told(reading(1, fault="has not answered for 5 seconds"), reading(2, fault="has not answered for 6 seconds"))
    )


def test_another_fault_is_news() -> None:
    assert 2 == len(told(reading(1, fault="is lost"), reading(2, fault="reports errors")))


def test_a_gpu_is_restored_when_two_readings_agree() -> None:
    events = told(reading(1, fault="lost"), reading(2), reading(3, fault="lost"), reading(4), reading(5))
    assert [GpuDrained, GpuRestored] == [type(event) for event in events]
    assert 5 == events[-1].at


def test_a_foreign_process_counts_when_it_is_seen_twice() -> None:
    assert [] == told(reading(1, p812=GIB))
    assert [GpuForeign(at=2, gpu=GPU, sentences=(ann(812, "1.0 GiB"),))] == told(
        reading(1, p812=GIB), reading(2, p812=GIB), reading(3, p812=GIB)
    )


def test_a_process_that_passes_by_is_not_told() -> None:
    assert [] == told(reading(1, p812=GIB), reading(2), reading(3, p813=GIB), reading(4))


def test_a_foreign_process_is_gone_when_it_is_missed_twice() -> None:
    events = told(reading(1, p812=GIB), reading(2, p812=GIB), reading(3), reading(4, p812=GIB), reading(5), reading(6))
    assert [(ann(812, "1.0 GiB"),), ()] == [event.sentences for event in events if isinstance(event, GpuForeign)]


def test_memory_that_has_grown_much_is_told_again_and_little_is_not() -> None:
    events = told(*[reading(at, p812=used) for at, used in enumerate([GIB, GIB, GIB + 1000, 20 * GIB, 20 * GIB])])
    assert [(ann(812, "1.0 GiB"),), (ann(812, "20.0 GiB"),)] == [
        e.sentences for e in events if isinstance(e, GpuForeign)
    ]


def test_our_own_processes_are_not_foreign_also_a_moment_after_their_shim_ended() -> None:
    watch: Watch = {}
    watch, first = changes(watch, reading(1, p812=GIB), lambda pid: True, lambda pid: Whose())
    for at in (2, 3, 4):
        watch, more = changes(watch, reading(at, p812=GIB), lambda pid: False, lambda pid: Whose())
        first += more
    assert [] == first


def test_on_a_gpu_that_a_job_of_ours_holds_a_process_of_another_namespace_is_taken_for_its() -> None:
    assert [] == told(reading(1, p5000=GIB), reading(2, p5000=GIB), held=(GPU,))
    assert [ann(812, "1.0 GiB")] == list(told(reading(1, p812=GIB), reading(2, p812=GIB), held=(GPU,))[0].sentences)


def test_a_lost_gpu_says_nothing_of_its_processes() -> None:
    events = told(reading(1, p812=GIB), reading(2, p812=GIB), reading(3, fault="lost"), reading(4, fault="lost"))
    assert [GpuForeign, GpuDrained] == [type(event) for event in events]


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    assert "PID 7 (name unknown, user unknown, memory n/a)" == foreign_sentence(7, None, Whose())
    assert "PID 7 (python, of another container or hidden from us, 50 MiB)" == foreign_sentence(
        7, 50 << 20, Whose(name="python", is_visible=False)
    )


def test_descent_is_told_from_proc() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        assert descends_from(child.pid, {os.getpid()})
        assert not descends_from(os.getpid(), {child.pid})
        assert "cat" == describe_process(child.pid, has_gpu=lambda pid: None).name
        assert child.stdin is not None
        child.stdin.close()
    assert not describe_process(child.pid).is_visible


def test_a_watch_knows_the_processes_of_jobs_by_their_shims() -> None:
    watch = GpuWatch(shims=lambda: {os.getpid()})
    mine = {f"p{os.getpid()}": GIB, "p1": GIB}
    events = [event for at in (1, 2) for event in watch.changes(reading(at, **mine))]
    [event] = events
    assert isinstance(event, GpuForeign)
    assert ["PID 1"] == [sentence[:5] for sentence in event.sentences]
