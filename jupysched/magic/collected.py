"""A job's outputs as a notebook file holds them. Knows messages and nbformat; reads nothing by itself."""

from __future__ import annotations

from typing import Any

from jupysched.magic.follow import all_frames
from jupysched.magic.outlet import Outlet

Output = dict[str, Any]


class Collected:
    """What stands under a cell after some messages: streams joined, updates applied, clears obeyed."""

    def __init__(self) -> None:
        self.outputs: list[Output] = []
        self._by_display: dict[str, list[Output]] = {}
        self._clear_next = False

    def send(self, kind: str, content: dict[str, Any]) -> None:
        """One message."""
        if kind == "clear_output":
            self._clear_next = bool(content.get("wait"))
            if not self._clear_next:
                self.outputs = []
        elif kind == "update_display_data":
            for shown in self._by_display.get(str(content["transient"].get("display_id")), []):
                shown.update(data=content["data"], metadata=content["metadata"])
        else:
            self._add(kind, content)

    def _add(self, kind: str, content: dict[str, Any]) -> None:
        if self._clear_next:
            self.outputs, self._clear_next = [], False
        if kind == "stream" and self.outputs and self.outputs[-1].get("name") == content["name"]:
            self.outputs[-1]["text"] += content["text"]
            return
        output = {"output_type": kind, **{k: v for k, v in content.items() if k != "transient"}}
        self.outputs.append(output)
        if display_id := content.get("transient", {}).get("display_id"):
            self._by_display.setdefault(str(display_id), []).append(output)


def outputs_of(job: int, directory: str, attempt: int) -> list[Output]:
    """What an attempt has shown until now."""
    collected = Collected()
    outlet = Outlet(collected.send, job=job)
    for frame in all_frames(directory, attempt):
        outlet.take(frame)
    outlet.close()
    return collected.outputs
