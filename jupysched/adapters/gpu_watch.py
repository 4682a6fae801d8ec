"""What readings mean for a GPU: lost, back, broken, used by somebody else. `changes` is a pure function of readings.

Knows samples and events; asks others whose a process is. A fault counts at once, since a job that starts on a broken GPU is
lost; everything else counts when two readings agree, since a process that ends is listed for a moment longer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace

from jupysched.adapters import nvml_xids
from jupysched.adapters.processes import Whose, descends_from, describe_process
from jupysched.core.events import Event, GpuDrained, GpuForeign, GpuRestored
from jupysched.core.resources import GpuId
from jupysched.ports import GpuSample

CAUSE = "health"
#: an error of the hardware stands until an admin takes it away: no later reading says that it is over
XID_CAUSE = "xid "
#: larger numbers are no pids; WSL names every process 4294967295
MOST_PID = 1 << 22
GIB, MIB = 1 << 30, 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What is believed of one GPU."""

    #: the sentence it is drained with; "" while it is well
    fault: str = ""
    #: it answered well once since
    is_recovering: bool = False
    #: processes believed to be somebody else's, with the bytes they were told with
    foreign: dict[int, int | None] = field(default_factory=dict)
    #: processes whose coming or going was seen once
    doubtful: frozenset[int] = frozenset()
    #: processes found to be ours, for as long as they are listed
    ours: frozenset[int] = frozenset()
    #: when the newest reading that was taken in was read: its errors count once
    read_at: float = 0.0


#: the belief of all GPUs; begins empty
Watch = dict[GpuId, Seen]
IsOurs = Callable[[int], bool]
Describe = Callable[[int], Whose]


def changes(
    previous: Watch,
    samples: Sequence[GpuSample],
    ours: IsOurs,
    describe: Describe,
    *,
    held: Collection[GpuId] = (),
) -> tuple[Watch, list[Event]]:
    """Return the new belief, and what has changed as events.

    `held`: GPUs on which attempts of ours run. There a process that /proc does not know is taken for ours: in a container NVML
    tells pids of the host."""
    watch, events = dict(previous), list[Event]()
    for sample in samples:
        seen = previous.get(sample.gpu, Seen())
        events += _broken(seen, sample)
        seen, told = _health(replace(seen, read_at=sample.at), sample)
        events += told
        if not sample.fault:
            seen, told = _processes(seen, sample, ours, describe, is_held=sample.gpu in held)
            events += told
        watch[sample.gpu] = seen
    return watch, events


class GpuWatch:
    """Keeps the belief between readings, and knows a job's processes by their shims."""

    def __init__(
        self,
        *,
        shims: Callable[[], Collection[int]],
        held: Callable[[], Collection[GpuId]] = tuple,
        name: Callable[[int], str] = lambda pid: "",
    ) -> None:
        """`name`: what NVML calls a process that /proc does not know."""
        self._shims, self._held, self._name = shims, held, name
        self._watch: Watch = {}

    def changes(self, samples: Sequence[GpuSample]) -> list[Event]:
        """Return what this reading changes."""
        shims = frozenset(self._shims())
        self._watch, events = changes(
            self._watch,
            samples,
            lambda pid: descends_from(pid, shims),
            lambda pid: describe_process(pid, otherwise=self._name),
            held=self._held(),
        )
        return events


def xid_drain(gpu: GpuId, xid: int, *, label: str, at: float) -> GpuDrained:
    """What takes a GPU out of use after an error of its hardware."""
    said = f"{nvml_xids.sentence(label, xid)}. Jobs can use it again after `jupysched drain --restore`."
    return GpuDrained(at=at, gpu=gpu, cause=f"{XID_CAUSE}{xid}", sentence=said)


def _broken(seen: Seen, sample: GpuSample) -> list[Event]:
    """Errors that the driver blames on the card. Those of a program end that program, and the next one may use the card."""
    if sample.at <= seen.read_at:
        return []
    label = sample.label or "The GPU"
    return [
        xid_drain(sample.gpu, xid, label=label, at=sample.at)
        for xid in dict.fromkeys(sample.xids)
        if nvml_xids.is_hardware(xid)
    ]


def _health(seen: Seen, sample: GpuSample) -> tuple[Seen, list[Event]]:
    if sample.fault:
        # The seconds in "has not answered for 7 seconds" are no news.
        is_news = not seen.fault or _without_digits(sample.fault) != _without_digits(seen.fault)
        told: list[Event] = (
            [GpuDrained(at=sample.at, gpu=sample.gpu, cause=CAUSE, sentence=sample.fault)] if is_news else []
        )
        return replace(seen, fault=sample.fault if is_news else seen.fault, is_recovering=False), told
    if not seen.fault:
        return seen, []
    if not seen.is_recovering:
        return replace(seen, is_recovering=True), []
    return replace(seen, fault="", is_recovering=False), [GpuRestored(at=sample.at, gpu=sample.gpu, cause=CAUSE)]


def _processes(
    seen: Seen, sample: GpuSample, ours: IsOurs, describe: Describe, *, is_held: bool
) -> tuple[Seen, list[Event]]:
    listed = {pid: used for pid, used in sample.processes.items() if 0 < pid <= MOST_PID}
    mine = frozenset(pid for pid in listed if pid in seen.ours or ours(pid))
    if is_held:
        mine |= {pid for pid in listed if pid not in mine and pid not in seen.foreign and not describe(pid).is_visible}
    theirs = {pid: used for pid, used in listed.items() if pid not in mine}
    differing = frozenset(theirs.keys() ^ seen.foreign.keys())
    settled = differing & seen.doubtful
    foreign = {pid: used for pid, used in theirs.items() if pid in seen.foreign or pid in settled}
    foreign |= {pid: used for pid, used in seen.foreign.items() if pid not in theirs and pid not in settled}
    is_news = foreign.keys() != seen.foreign.keys() or any(
        _has_grown(seen.foreign[pid], foreign[pid]) for pid in foreign
    )
    told: list[Event] = []
    if is_news:
        sentences = tuple(foreign_sentence(pid, used, describe(pid)) for pid, used in sorted(foreign.items()))
        told = [GpuForeign(at=sample.at, gpu=sample.gpu, sentences=sentences)]
    return replace(seen, foreign=foreign if is_news else seen.foreign, doubtful=differing - settled, ours=mine), told


def _has_grown(told: int | None, used: int | None) -> bool:
    """Is the memory so different from what was told that it must be told again?"""
    return told is not None and used is not None and (used > 2 * told + 256 * MIB or used < told // 2 - 256 * MIB)


def _without_digits(sentence: str) -> str:
    return "".join(letter for letter in sentence if not letter.isdigit())


def foreign_sentence(pid: int, used: int | None, whose: Whose) -> str:
    """Return 'PID 812 (python, user ann, 3.1 GiB)'; what is not known is said to be unknown."""
    name = whose.name or "name unknown"
    user = f"user {whose.user or 'unknown'}" if whose.is_visible else "of another container or hidden from us"
    return f"PID {pid} ({name}, {user}, {memory_words(used)})"


def memory_words(used: int | None) -> str:
    """Return bytes in words; None is never 0."""
    if used is None:
        return "memory n/a"
    if used < MIB:
        return "under 1 MiB"
    return f"{used / GIB:.1f} GiB" if used >= GIB // 10 else f"{used / MIB:.0f} MiB"
