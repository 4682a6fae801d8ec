"""A notebook whose front end has a widget manager, as far as a table needs one: it keeps the models that the kernel opens, shows and
hides them, and presses their buttons."""

import contextlib
import queue
import time
from typing import Any

from tests.cases.notebook import Notebook
from tests.cases.outputs import Outputs

VIEW = "application/vnd.jupyter.widget-view+json"


class FrontEnd(Notebook):
    """A notebook; its `models` are what the kernel says of its widgets."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.models: dict[str, dict[str, Any]] = {}
        self.closed: set[str] = set()
        self.updates: list[dict[str, Any]] = []

    def __enter__(self) -> "FrontEnd":
        super().__enter__()
        return self

    def listen(self, *, wait_s: float = 0.2) -> None:
        """Take one message of the kernel, those of widgets too."""
        try:
            message = self._client.get_iopub_msg(timeout=wait_s)
        except queue.Empty:
            return
        kind, content = message["msg_type"], message["content"]
        if kind == "comm_open":
            self.models[content["comm_id"]] = dict(content["data"].get("state", {}))
        elif kind == "comm_msg" and content["data"].get("method") in ("update", "echo_update"):
            self.models.get(content["comm_id"], {}).update(content["data"]["state"])
        elif kind == "comm_close":
            self.closed.add(content["comm_id"])
            self.models.pop(content["comm_id"], None)
        if kind == "update_display_data":
            self.updates.append(content)
            for seen in self._cells.values():
                seen.update(content)
        elif (parent := message["parent_header"].get("msg_id")) in self._cells:
            self._cells[parent].take(message)

    def _send(self, model: str, data: dict[str, Any]) -> None:
        message = self._client.session.msg("comm_msg", {"comm_id": model, "data": data})
        self._client.shell_channel.send(message)

    def shows(self, table: str, *, views: int = 1) -> None:
        """Say how many views of this model there are."""
        self._send(table, {"method": "update", "state": {"_view_count": views}, "buffer_paths": []})

    def press(self, model: str) -> None:
        """Click a button."""
        self._send(model, {"method": "custom", "content": {"event": "click"}})

    def table(self, *, line: str = "%gpujobs") -> tuple[str, Outputs]:
        """Run %gpujobs; return the table's model and what is shown under the cell."""
        seen = self.run(line, allow_stdin=True)
        assert seen.error is None
        return str(seen.displays[0][VIEW]["model_id"]), seen

    # --- what a person sees ------------------------------------------------------------------------------------------

    def children(self, model: str) -> list[str]:
        """The models inside this one."""
        return [reference.removeprefix("IPY_MODEL_") for reference in self.models[model]["children"]]

    def rows(self, table: str) -> dict[int, tuple[str, dict[str, str]]]:
        """Each row by its job: its HTML, and its buttons by their labels."""
        found = {}
        body = self.children(table)[1]
        for row in self.children(body):
            # A row that is just being made is looked at again.
            with contextlib.suppress(KeyError):
                line, *buttons = self.children(row)
                html = self.models[line]["value"]
                number = int(html.partition("<bdi>")[2].partition("</bdi>")[0])
                found[number] = (html, {self.models[button]["description"]: button for button in buttons})
        return found

    def text(self, table: str, place: int) -> str:
        """What stands under the rows: 2 how many more, 3 what was said, 4 a log."""
        return str(self.models[self.children(table)[place]]["value"])

    def listen_quietly(self, seconds: float) -> None:
        """Take what comes in so long."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.listen(wait_s=min(left, 0.1))
