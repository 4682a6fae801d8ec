"""What a front end shows under one cell, from the messages of the kernel. Knows Jupyter's messages; knows nothing of cases."""

import re
import time
from typing import Any

#: The product's own display; it is not an output of the cell.
CARD = "application/vnd.jupysched.job+json"

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def without_colours(text: str) -> str:
    """Return the text without ANSI sequences."""
    return ANSI.sub("", text)


def rendered(text: str) -> str:
    """Return what an output area shows: carriage return and backspace applied."""
    lines = []
    for line in text.split("\n"):
        shown: list[str] = []
        position = 0
        for character in line:
            if character == "\r":
                position = 0
            elif character == "\b":
                position = max(0, position - 1)
            else:
                shown[position : position + 1] = [character]
                position += 1
        lines.append("".join(shown))
    return "\n".join(lines)


class Outputs:
    """The output area of one cell."""

    def __init__(self) -> None:
        self.asked_at = time.time()
        #: streams as they came, whatever was cleared later
        self.stdout = self.stderr = self.mixed = ""
        #: text and displays now visible, in order
        self.shown: list[str | dict[str, Any]] = []
        #: what came, in order: "stream:LINE", "display_data", "execute_result"
        self.sequence: list[str] = []
        #: seconds after asking, and all the text that had come by then
        self.arrival: list[tuple[float, str]] = []
        self.result: str | None = None
        self.card: dict[str, Any] | None = None
        self.error: dict[str, Any] | None = None
        self.idle_at: float | None = None
        self._by_id: dict[str, list[dict[str, Any]]] = {}
        self._clear_pending = False

    @property
    def displays(self) -> list[dict[str, Any]]:
        """The MIME bundles now visible."""
        return [entry for entry in self.shown if isinstance(entry, dict)]

    @property
    def text(self) -> str:
        """The visible text, as it looks."""
        return rendered(without_colours("".join(entry for entry in self.shown if isinstance(entry, str))))

    def take(self, message: dict[str, Any]) -> None:
        """Apply one message that belongs to this cell."""
        kind, content = message["msg_type"], message["content"]
        if kind == "status" and content["execution_state"] == "idle":
            self.idle_at = time.time()
        elif kind == "error":
            self.error = content
        elif kind == "stream":
            self._stream(content["name"], content["text"])
        elif kind in ("display_data", "execute_result"):
            self._display(kind, content)
        elif kind == "clear_output":
            self._clear_pending = True
            if not content["wait"]:
                self._clear()

    def update(self, content: dict[str, Any]) -> None:
        """Apply an update to the displays of that id; it may come with any cell as its parent."""
        if CARD in content["data"]:
            if content["transient"]["display_id"] in self._by_id:
                self.card = content["data"][CARD]
            return
        for bundle in self._by_id.get(content["transient"]["display_id"], []):
            bundle.clear()
            bundle.update(content["data"])

    def _stream(self, name: str, text: str) -> None:
        self._clear()
        setattr(self, name, getattr(self, name) + text)
        self.mixed += text
        self.shown.append(text)
        self.arrival.append((time.time() - self.asked_at, self.stdout + self.stderr))
        self.sequence += [f"stream:{line}" for line in text.splitlines()]

    def _display(self, kind: str, content: dict[str, Any]) -> None:
        bundle = content["data"]
        known_as = content.get("transient", {}).get("display_id")
        if known_as:
            self._by_id.setdefault(known_as, []).append(bundle)
        if CARD in bundle:
            self.card = bundle[CARD]
            return
        self._clear()
        self.shown.append(bundle)
        self.sequence.append(kind)
        if kind == "execute_result":
            self.result = (self.result or "") + "\n" + bundle.get("text/plain", "")

    def _clear(self) -> None:
        if self._clear_pending:
            self.shown, self._clear_pending = [], False
