"""`python -m benchmarks [--only NAME ...] [--quick] [--json FILE]`: JSON on stdout, a table on stderr."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import sys
import time
import traceback
from pathlib import Path

from benchmarks.figure import Figure, table

#: in this order; `sim` is measured where it is installed
NAMES = ("first", "values", "many", "queue", "lines", "metrics", "arrays", "idle", "lab", "sim", "equal", "openb")


def main() -> int:
    """Measure, print; 0 if everything could be measured, whether or not the targets hold."""
    known = [name for name in NAMES if importlib.util.find_spec(f"benchmarks.bench_{name}")]
    parser = argparse.ArgumentParser(prog="jupysched bench", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=known, metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, smaller sizes: does it run at all?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON there too")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    if load > 0.5 * (os.cpu_count() or 1):
        print(f"the machine is busy (load {load:.1f}): compare with the floors, not with other days", file=sys.stderr)
    figures: list[Figure] = []
    failed = False
    for name in options.only or known:
        began = time.monotonic()
        try:
            for figure in importlib.import_module(f"benchmarks.bench_{name}").measure(quick=options.quick):
                figures.append(figure)
                print(table([figure]).splitlines()[1], file=sys.stderr, flush=True)
        except Exception as error:
            failed = True
            traceback.print_exc()
            figures.append(
                Figure(name=name, value=None, unit="", floor=None, target=None, note=f"not measured: {error}")
            )
        print(f"  {name}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"\n{table(figures)}", file=sys.stderr)
    text = json.dumps([figure.record() for figure in figures], indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n", encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
