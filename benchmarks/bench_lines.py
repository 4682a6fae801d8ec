"""A hundred thousand printed lines into a notebook, and how late a line comes."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.bench_first import warm
from benchmarks.figure import Figure, median, p95
from benchmarks.notebook import ENDED, Notebook, card_state, is_idle
from benchmarks.stage import Stage

LAG_TARGET_MS = 5.0
#: of a line that is printed every 5 ms
PACED = "import time\nfor n in range({count}):\n    print(n, repr(time.time()), flush=True)\n    time.sleep(0.005)"


def measure(*, quick: bool) -> Iterator[Figure]:
    """Lines a second and lag, ours and the plain kernel's in turns."""
    count, rounds = (20_000, 1) if quick else (100_000, 3)
    with Stage() as stage, Notebook() as notebook:
        notebook.run("%load_ext jupysched")
        warm(stage, notebook, preload=())
        ours: list[float] = []
        plain: list[float] = []
        for _ in range(rounds):
            plain.append(_lines_a_second(notebook, count, is_job=False))
            ours.append(_lines_a_second(notebook, count, is_job=True))
        yield Figure(
            name="printed_lines",
            value=median(ours),
            unit="lines/s",
            floor=median(plain),
            target=median(plain),
            more=True,
            note=f"{count} lines, none lost, none split; n {rounds}; floor: the plain kernel",
        )
        paced = 100 if quick else 400
        lag = {is_job: _lags(notebook, paced, is_job=is_job) for is_job in (False, True)}
        yield Figure(
            name="line_lag_p95",
            value=p95(lag[True]),
            unit="ms",
            floor=p95(lag[False]),
            target=LAG_TARGET_MS,
            note=f"a line every 5 ms; median {median(lag[True]):.3g}, plain kernel {median(lag[False]):.3g}",
        )


def _text(notebook: Notebook, cell: str, *, is_job: bool) -> Iterator[tuple[float, str]]:
    """Printed text as it comes, until the cell or its job has ended."""
    ended = idle = False
    for at, message in notebook.messages(f"%%gpujob\n{cell}" if is_job else cell):
        if message["msg_type"] == "stream":
            yield at, message["content"]["text"]
        ended = ended or card_state(message) in ENDED
        idle = idle or is_idle(message)
        if idle and (ended or not is_job):
            return


def _lines_a_second(notebook: Notebook, count: int, *, is_job: bool) -> float:
    """From the first text to the last. Raises AssertionError if a line is lost, split or out of order."""
    texts: list[str] = []
    first = last = 0.0
    cell = f"for n in range({count}):\n    print(f'line {{n:07d}} of many')"
    for at, text in _text(notebook, cell, is_job=is_job):
        first = first or at
        last = at
        texts.append(text)
    lines = "".join(texts).splitlines()
    wanted = [f"line {n:07d} of many" for n in range(count)]
    if lines != wanted:
        raise AssertionError(f"of {count} lines {len(lines)} came; the first wrong one is {_wrong(lines, wanted)}")
    return count / last


def _wrong(lines: list[str], wanted: list[str]) -> str:
    return next((f"{a!r} for {b!r}" for a, b in zip(lines, wanted, strict=False) if a != b), "missing at the end")


def _lags(notebook: Notebook, count: int, *, is_job: bool) -> list[float]:
    """Milliseconds from printing to arrival, of each line."""
    found: list[float] = []
    rest = ""
    for _, text in _text(notebook, PACED.format(count=count), is_job=is_job):
        now = time.time()
        *lines, rest = (rest + text).split("\n")
        found += [(now - float(line.split()[1])) * 1e3 for line in lines]
    if len(found) != count:
        raise AssertionError(f"of {count} lines {len(found)} came")
    return found
