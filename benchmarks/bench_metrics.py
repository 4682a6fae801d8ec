"""What a job pays for a thousand points a second: CPU of its process with and without them, by the way in which they are reported."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.figure import Figure, median, spread
from benchmarks.stage import Stage
from jupysched import spool
from jupysched.magic.follow import all_frames

TARGET_PERCENT = 2.0
POINTS_PER_S = 1000
#: a job with a loop that works in ticks, ten points each; with and without, in turns. Prints percent of the time, and
#: the shim's beside it.
CELL = """
import json, os, time
import jupysched

def shim_s():
    fields = open(f"/proc/{{os.getppid()}}/stat").read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

{setup}

def stretch(point, seconds, start):
    begin, cpu, shim = time.monotonic(), time.process_time(), shim_s()
    for tick in range(int(seconds * 100)):
        for i in range(10):
            point(start + tick * 10 + i)
        left = begin + (tick + 1) / 100 - time.monotonic()
        if left > 0:
            time.sleep(left)
    wall = time.monotonic() - begin
    return (time.process_time() - cpu) / wall * 100, (shim_s() - shim) / wall * 100

without({warmup}); point({warmup})
told = []
for turn in range({rounds}):
    bare = stretch(without, {seconds}, turn * 1_000_000)
    full = stretch(point, {seconds}, turn * 1_000_000)
    told.append([full[0] - bare[0], bare[0], full[1] - bare[1]])
print("MEASURED" + json.dumps(told))
"""
LOG = """
def without(i): float(i)
def point(i): jupysched.log(step=i, loss=1 / (i + 1))
"""
WRITER = """
from torch.utils.tensorboard import SummaryWriter
writer = SummaryWriter("tb")
plain = SummaryWriter.add_scalar.__wrapped__
def without(i): plain(writer, "loss", 1 / (i + 1), i)
def point(i): writer.add_scalar("loss", 1 / (i + 1), i)
"""
PRINTED = """
def without(i): print(f"step {i} size: {1 / (i + 1):.6f}")
def point(i): print(f"step {i} loss: {1 / (i + 1):.6f}")
"""
WAYS = {
    "log": (LOG, "jupysched.log against nothing"),
    "summary_writer": (WRITER, "torch's add_scalar with and without the hook"),
    "printed": (PRINTED, "lines with and without a loss"),
}


def measure(*, quick: bool) -> Iterator[Figure]:
    """Percent of the job's time, one figure for each way."""
    rounds, seconds = (2, 0.5) if quick else (7, 2.0)
    with Stage() as stage:
        for name, (setup, note) in WAYS.items():
            told = _run(stage, CELL.format(setup=setup, rounds=rounds, seconds=seconds, warmup=10**9))
            cost = [row[0] for row in told]
            yield Figure(
                name=f"metrics_{name}",
                value=median(cost),
                unit="%",
                floor=median([row[1] for row in told]),
                target=TARGET_PERCENT,
                note=f"{POINTS_PER_S} points/s, {note}; {spread(cost)}; shim {median([row[2] for row in told]):+.2g} %;"
                " floor: the job without them",
            )


def _run(stage: Stage, cell: str) -> list[list[float]]:
    """What the job measured of itself. Raises RuntimeError if it failed."""
    ended = stage.wait_ended(stage.client.submit(stage.spec(cell, preload=("torch",)))[0], patience_s=300)
    frames = all_frames(ended.directory, ended.attempt)
    text = b"".join(frame.payload for frame in frames if frame.kind in (spool.Kind.STDOUT, spool.Kind.STDERR)).decode()
    if "MEASURED" not in text:
        raise RuntimeError(f"job {ended.id} {ended.state}: {ended.why} {text[-500:]}")
    measured: list[list[float]] = json.loads(text.rpartition("MEASURED")[2])
    return measured
