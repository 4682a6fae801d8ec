"""From spool frames to what a cell shows. Knows frames and nbformat; knows nothing of routes, files or Lab.

Ops are what happened, one after the other; a Screen is what stands there afterwards."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from jupysched.spool import Frame, Kind
from jupysched.wire.browser import Op

#: of one stream output of a snapshot; what is beyond stands in the log
MOST_TEXT = 1_000_000
_STREAMS = {Kind.STDOUT: "stdout", Kind.STDERR: "stderr"}
_MOVES = re.compile(r"[\r\x08]")
_MOVES_OR_LINES = re.compile(r"([\r\n\x08])")


def ops_of(frames: Iterable[Frame]) -> list[Op]:
    """What these frames did to the outputs; neighbours on the same stream become one."""
    ops: list[Op] = []
    texts: list[str] = []

    def flush() -> None:
        if texts:
            ops[-1].text = "".join(texts)
            texts.clear()

    for frame in frames:
        name = _STREAMS.get(Kind(frame.kind)) if frame.kind in Kind.__members__.values() else None
        if name is not None:
            if not (texts and ops[-1].name == name):
                flush()
                ops.append(Op(op="stream", name=name))
            texts.append(frame.payload.decode("utf-8", "replace"))
            continue
        op = _other(frame)
        if op is not None:
            flush()
            ops.append(op)
    flush()
    return ops


def _other(frame: Frame) -> Op | None:
    if frame.kind not in (Kind.MESSAGE, Kind.INPUT_REQUEST, Kind.NOTE):
        return None
    try:
        said = json.loads(frame.payload)
    except ValueError:
        return None
    if frame.kind == Kind.NOTE:
        return Op(op="note", text=str(said.get("text", "")))
    if frame.kind == Kind.INPUT_REQUEST:
        kind = "password" if said.get("password") else "text"
        return Op(op="input", text=str(said.get("prompt", "")), name=kind, display_id=str(said.get("id", "")))
    return _message(str(said.get("type", "")), said.get("content") or {})


def _message(kind: str, content: dict[str, Any]) -> Op | None:
    if kind == "clear_output":
        return Op(op="clear", wait=bool(content.get("wait", False)))
    if kind == "error":
        return Op(op="output", output={"output_type": "error", **_pick(content, "ename", "evalue", "traceback")})
    if kind not in ("display_data", "execute_result", "update_display_data"):
        return None
    output = {"output_type": kind, "data": content.get("data") or {}, "metadata": content.get("metadata") or {}}
    if kind == "execute_result":
        output["execution_count"] = content.get("execution_count")
    display_id = str((content.get("transient") or {}).get("display_id") or "")
    if kind == "update_display_data":
        output["output_type"] = "display_data"
        return Op(op="update", output=output, display_id=display_id)
    return Op(op="output", output=output, display_id=display_id)


def _pick(content: dict[str, Any], *names: str) -> dict[str, Any]:
    return {n: content.get(n, [] if n == "traceback" else "") for n in names}


class Screen:
    """What a cell shows after all ops so far: streams joined, overwritten lines gone, updates applied, clears obeyed."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.clearing = False
        self.notes: list[str] = []
        #: the question that nothing has followed yet
        self.asks: Op | None = None
        self._paper: Paper | None = None

    def apply(self, ops: Iterable[Op]) -> None:
        """Let these happen."""
        for op in ops:
            match op.op:
                case "stream":
                    self._begin()
                    self._stream(op)
                case "output":
                    self._begin()
                    self.ops.append(op)
                case "update":
                    self._update(op)
                case "clear":
                    self.clearing = op.wait
                    if not op.wait:
                        self.ops = []
                case "note":
                    self.notes.append(op.text)
                case "input":
                    self.asks = op

    def _begin(self) -> None:
        self.asks = None
        if self.clearing:
            self.clearing, self.ops = False, []

    def _stream(self, op: Op) -> None:
        if not (self._paper is not None and self.ops and self.ops[-1].name == op.name and self.ops[-1].op == "stream"):
            self._paper = Paper()
            self.ops.append(Op(op="stream", name=op.name))
        self._paper.write(op.text)
        self.ops[-1] = Op(op="stream", name=op.name, text=self._paper.text())

    def _update(self, op: Op) -> None:
        for index, old in enumerate(self.ops):
            if op.display_id and old.display_id == op.display_id and old.output is not None and op.output is not None:
                output = {**old.output, "data": op.output["data"], "metadata": op.output["metadata"]}
                self.ops[index] = Op(op="output", output=output, display_id=old.display_id)


class Paper:
    """Text as a terminal would show it: what is printed after a carriage return or a backspace overwrites."""

    def __init__(self) -> None:
        self._above = ""
        self._line = ""
        self._column = 0

    def write(self, text: str) -> None:
        """Print this."""
        if not _MOVES.search(text) and self._column == len(self._line):
            above, newline, self._line = (self._line + text).rpartition("\n")
            self._above += above + newline
            self._column = len(self._line)
        else:
            for part in _MOVES_OR_LINES.split(text):
                self._print(part)
        self._above = shorten(self._above)

    def _print(self, part: str) -> None:
        match part:
            case "\n":
                self._above += self._line + "\n"
                self._line, self._column = "", 0
            case "\r":
                self._column = 0
            case "\x08":
                self._column = max(0, self._column - 1)
            case _:
                after = self._column + len(part)
                self._line = self._line[: self._column] + part + self._line[after:]
                self._column = after

    def text(self) -> str:
        """All of it. If the cursor stands inside the last line, the text ends so that whoever prints it stands there too."""
        back = "\r" + self._line[: self._column] if self._column < len(self._line) else ""
        return self._above + self._line + back


def shorten(text: str) -> str:
    """At most MOST_TEXT characters: the beginning and the end, and a line between that says what is left out."""
    if len(text) <= MOST_TEXT:
        return text
    head, tail = text[: MOST_TEXT // 4], text[-MOST_TEXT // 4 :]
    return f"{head}\n[... {len(text) - len(head) - len(tail):,} characters are left out here; the log has them ...]\n{tail}"
