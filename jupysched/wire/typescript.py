"""Prints labextension/src/api/schema.ts from the wire's records, so that the two cannot drift apart. Knows msgspec and TypeScript.

`python -m jupysched.wire.typescript [FILE] [--check]`; `make schema` writes, the drift test checks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import inspect

from jupysched.core.states import REASONS, JobState
from jupysched.wire import browser, messages, records, requests

TARGET = Path(__file__).resolve().parents[2] / "labextension" / "src" / "api" / "schema.ts"
HEADER = """/** Generated from jupysched.wire by `make schema`. Never edited by hand. */

"""
#: what pages see, in the order in which it is printed
STRUCTS: tuple[type[msgspec.Struct], ...] = (
    records.RequestRecord,
    records.ExitRecord,
    records.JobRecord,
    records.GpuRecord,
    records.DaemonRecord,
    records.ErrorRecord,
    requests.SpecRecord,
    messages.JobsPage,
    messages.PolicyRecord,
    browser.LossRecord,
    browser.Refresh,
    browser.Change,
    browser.Op,
    browser.Outputs,
    browser.Snapshot,
    browser.Follow,
    browser.Unfollow,
    browser.ActionAsk,
    browser.AnswerAsk,
    browser.LineAsk,
    browser.AttemptRecord,
    browser.DetailRecord,
    browser.SeriesRecord,
    browser.MetricsRecord,
)
#: rows differ from their records only in what is left out on the way
ALIASES = {"JobRow": "Partial<JobRecord> & { id: number }", "GpuRow": "Partial<GpuRecord> & { id: string }"}
#: records that arrive with their defaults left out, and whose defaults the page puts back
REFILLED: tuple[type[msgspec.Struct], ...] = (records.JobRecord, records.GpuRecord, browser.Op)


def render() -> str:
    """The text of schema.ts."""
    parts = [HEADER.rstrip("\n")]
    parts.append(_constant("JOB_STATES", [s.value for s in JobState]))
    parts.append("export type JobState = (typeof JOB_STATES)[number];")
    parts.append(_constant("REASONS", {r.value: s for r, s in REASONS.items()}))
    parts.extend(f"export type {name} = {text};" for name, text in ALIASES.items())
    infos = inspect.multi_type_info(STRUCTS)
    parts.extend(_interface(info) for info in infos if isinstance(info, inspect.StructType))
    parts.extend(_defaults(info) for info in inspect.multi_type_info(REFILLED) if isinstance(info, inspect.StructType))
    return "\n\n".join(parts) + "\n"


def _constant(name: str, value: Any) -> str:
    return f"export const {name} = {json.dumps(value, ensure_ascii=False, indent=2)} as const;"


def _interface(info: inspect.StructType) -> str:
    kind = info.cls
    lines = [f"/** {(kind.__doc__ or '').strip().splitlines()[0]} */", f"export interface {kind.__name__} {{"]
    if info.tag_field:
        lines.append(f"  {info.tag_field}: {json.dumps(info.tag)};")
    sparse = kind.__struct_config__.omit_defaults
    for field in info.fields:
        optional = "?" if sparse and not field.required else ""
        lines.append(f"  {field.encode_name}{optional}: {_type(field.type)};")
    return "\n".join([*lines, "}"])


def _defaults(info: inspect.StructType) -> str:
    name = info.cls.__name__
    required = " | ".join(json.dumps(f.encode_name) for f in info.fields if f.required)
    values = {f.encode_name: _default(f) for f in info.fields if not f.required}
    body = json.dumps(values, ensure_ascii=False, indent=2)
    return f"export const {_upper(name)}_DEFAULTS: Required<Omit<{name}, {required}>> = {body};"


def _default(field: inspect.Field) -> Any:
    if field.default is not msgspec.NODEFAULT:
        return msgspec.to_builtins(field.default)
    return msgspec.to_builtins(field.default_factory())


def _upper(name: str) -> str:
    return "".join(f"_{c}" if c.isupper() and i else c for i, c in enumerate(name)).upper()


def _type(info: inspect.Type) -> str:
    if isinstance(info, inspect.UnionType):
        return " | ".join(_type(t) for t in info.types)
    if isinstance(info, inspect.ListType):
        inner = _type(info.item_type)
        return f"({inner})[]" if " " in inner else f"{inner}[]"
    if isinstance(info, inspect.DictType):
        return f"Record<{_type(info.key_type)}, {_type(info.value_type)}>"
    if isinstance(info, inspect.StructType):
        return info.cls.__name__
    return _simple(info)


def _simple(info: inspect.Type) -> str:
    plain: Iterable[tuple[type[inspect.Type], str]] = (
        (inspect.StrType, "string"),
        (inspect.BoolType, "boolean"),
        (inspect.IntType, "number"),
        (inspect.FloatType, "number"),
        (inspect.NoneType, "null"),
        (inspect.AnyType, "unknown"),
    )
    for kind, name in plain:
        if isinstance(info, kind):
            return name
    raise TypeError(f"the wire uses {info}, which has no TypeScript here yet")


def main(arguments: list[str]) -> int:
    """Write schema.ts, or with --check say whether it is what it should be."""
    named = [a for a in arguments if not a.startswith("-")]
    target = Path(named[0]) if named else TARGET
    text = render()
    if "--check" in arguments:
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            sys.stderr.write(f"{target} is not what jupysched.wire says. Run `make schema` and commit the result.\n")
            return 1
        return 0
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
