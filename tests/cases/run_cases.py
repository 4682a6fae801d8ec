#!/usr/bin/env python
"""Run the cases, each in a fresh IPython kernel, and check what a person would see.

Without --product the cell runs as a plain cell: that proves the expectation (`local.run: false` = only how it is written is checked).
With --product the kernel loads jupysched and the cell runs under `%%gpujob <magic_args> --wait`. Cases with a scenario, a fixture or
another user need a driver of their own and are listed as 'driver'. The product's state goes to a temporary home.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

if not __package__:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.cases.case import FOLDER, Case, faults, is_alone, load
from tests.cases.playing import play, probe
from tests.leaks import temporary_home


def main() -> int:
    """Run what the command line asks for; return 1 if anything was not as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ids", nargs="*", metavar="ID-prefix")
    parser.add_argument("-j", type=int, default=2, metavar="N", help="cases at the same time")
    parser.add_argument("--product", action="store_true", help="run the cell as a job")
    parser.add_argument("--list", action="store_true", help="list the cases and run nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what happened")
    parser.add_argument("--dir", type=Path, default=FOLDER, help="where the cases are")
    asked = parser.parse_args()
    cases = load(tuple(asked.ids), folder=asked.dir)
    if asked.list:
        for case in cases:
            print(case["id"], case["level"], case["title"])
        return 0
    with _home(product=asked.product), ThreadPoolExecutor(asked.j) as pool:
        records = [
            _told(running.result())
            for running in as_completed([pool.submit(run, case, asked.product) for case in cases])
        ]
    if asked.json:
        asked.json.write_text(json.dumps(sorted(records, key=lambda record: record["id"]), indent=1))
    failed = sum(bool(record["bad"]) for record in records)
    print(f"{len(records) - failed} passed, {failed} failed")
    return int(failed > 0)


def run(case: Case, product: bool) -> dict[str, Any]:
    """Run one case in whatever way it can be run here."""
    began = time.time()
    record: dict[str, Any] = {"id": case["id"], "title": case["title"], "bad": faults(case), "ran": "no"}
    if product and not is_alone(case):
        record["ran"] = "driver"
    elif case["group"] == "E":
        record |= {"ran": "probe", "bad": record["bad"] + probe(case)}
    elif not record["bad"] and (product or case.get("local", {}).get("run", True)):
        record["ran"] = "product" if product else "plain"
        try:
            record["bad"] = play(case, product=product).bad
        except Exception as problem:  # noqa: BLE001  any failure of a case is the case's, and is told
            record["bad"] = [f"{type(problem).__name__}: {problem}"]
    return record | {"s": round(time.time() - began, 1)}


def _told(record: dict[str, Any]) -> dict[str, Any]:
    print(
        "BAD" if record["bad"] else "ok ",
        f"{record['id']} [{record['ran']}] {record['s']}s {record['title'][:70]}",
        flush=True,
    )
    for sentence in record["bad"]:
        print("      -", str(sentence)[:600], flush=True)
    return record


@contextlib.contextmanager
def _home(*, product: bool) -> Iterator[None]:
    if not product or "JUPYSCHED_HOME" in os.environ:
        yield
        return
    with temporary_home() as home:
        os.environ["JUPYSCHED_HOME"] = str(home)
        yield


if __name__ == "__main__":
    sys.exit(main())
