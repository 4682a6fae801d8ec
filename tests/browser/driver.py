"""Drives JupyterLab by its commands, and looks at it as a person does. Knows Lab; knows nothing of what is tested."""

import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.labs import JupyterServer
from tests.waiting import eventually

#: a loaded machine starts a kernel in this time
SLOW_MS = 90_000
_names = itertools.count(1)
expect.set_options(timeout=60_000)


class Lab:
    """One page."""

    def __init__(self, server: JupyterServer, page: Page, shots: Path) -> None:
        self.server = server
        self.page = page
        self._shots = shots
        #: exceptions that nobody caught in the page
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(f"{error}\n{error.stack}"))
        page.set_default_timeout(SLOW_MS)

    # --- Lab ---------------------------------------------------------------------------------------------------------

    def open(self, *, reset: bool = True) -> None:
        """Load the page anew. Without reset Lab opens what was open."""
        address = f"{self.server.url}lab?token={self.server.token}"
        self.page.goto(address + ("&reset" if reset else ""))
        self.page.wait_for_function("window.jupyterapp !== undefined")
        self.page.evaluate("window.jupyterapp.restored.then(() => 1)")

    def reload(self) -> None:
        """As a person does it."""
        self.page.reload()
        self.page.wait_for_function("window.jupyterapp !== undefined")
        self.page.evaluate("window.jupyterapp.restored.then(() => 1)")

    def run(self, command: str, args: dict[str, Any] | None = None, *, wait: bool = True) -> None:
        """Execute a command; wait for its end unless it waits for a person."""
        self.page.evaluate(
            "([id, args, wait]) => { const done = window.jupyterapp.commands.execute(id, args); return wait ? done.then(() => 1) : 1; }",
            [command, args or {}, wait],
        )

    def shot(self, name: str) -> None:
        """Keep a picture of the page."""
        self.page.screenshot(path=self._shots / f"{name}.png")

    def theme(self, name: str) -> None:
        """`JupyterLab Dark` or `JupyterLab Light`."""
        # JupyterLab removes its splash a while after it faded, and once more where another was shown meanwhile: an error of its own.
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)
        self.run("apputils:change-theme", {"theme": name})
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)

    def show_sidebar(self) -> Locator:
        """The sidebar, in sight."""
        self.run("jupysched:show-sidebar")
        sidebar = self.page.locator("#jupysched")
        expect(sidebar).to_be_visible()
        return sidebar

    def start_daemon(self) -> None:
        """Make sure that there is one, and that the page knows it."""
        self.server.api("daemon", {})
        self.page.wait_for_function("document.querySelector('.jp-jupysched-status')?.textContent?.includes('slots')")

    # --- notebooks ---------------------------------------------------------------------------------------------------

    def notebook(self, *sources: str) -> str:
        """A new notebook with these cells, open and with a kernel. Returns its path."""
        path = f"nb{next(_names)}.ipynb"
        cells = [
            {
                "cell_type": "code",
                "id": f"cell-{i}",
                "source": s,
                "outputs": [],
                "execution_count": None,
                "metadata": {},
            }
            for i, s in enumerate(sources)
        ]
        metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
        content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
        (self.server.notebooks / path).write_text(json.dumps(content))
        self.open_notebook(path)
        return path

    def open_notebook(self, path: str) -> None:
        """Open it, and wait for its kernel."""
        self.run("docmanager:open", {"path": path})
        self.wait_for_kernel()

    def wait_for_kernel(self) -> None:
        """The kernel of the notebook in front is idle."""
        self.page.wait_for_function(
            "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'", timeout=SLOW_MS
        )

    def run_cell(self, index: int) -> None:
        """Run one cell of the notebook in front, and wait for its reply."""
        self.page.evaluate("i => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = i; }", index)
        self.run("notebook:run-cell")

    def cell(self, index: int) -> Locator:
        """A cell of the notebook in front."""
        return self.page.locator(".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook .jp-Cell").nth(index)

    def card(self, index: int) -> Locator:
        """The card of a cell."""
        return self.cell(index).locator(".jp-jupysched-card")

    def wait_for_state(self, index: int, *states: str) -> None:
        """The card of a cell shows one of these states."""
        expect(self.card(index)).to_have_attribute(
            "data-jupysched-state", re.compile("|".join(states)), timeout=SLOW_MS
        )

    def text(self, index: int) -> str:
        """What a cell shows as text outputs."""
        return "".join(self.cell(index).locator(".jp-RenderedText pre").all_inner_texts())

    def save(self) -> None:
        """Save the notebook in front."""
        self.run("docmanager:save")

    def saved(self, path: str, index: int) -> list[dict[str, Any]]:
        """The outputs of a cell in the file."""
        content = json.loads((self.server.notebooks / path).read_text())
        outputs: list[dict[str, Any]] = content["cells"][index]["outputs"]
        return outputs

    def saved_text(self, path: str, index: int) -> str:
        """The text of a cell in the file."""
        return "".join("".join(o["text"]) for o in self.saved(path, index) if o["output_type"] == "stream")

    def restart_kernel(self) -> None:
        """Without being asked."""
        self.page.evaluate(
            "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart().then(() => 1)"
        )

    def shut_down_kernels(self) -> None:
        """So that no test finds the kernels of another."""
        for kernel in self.server.ask("api/kernels").json():
            self.server.ask(f"api/kernels/{kernel['id']}", method="DELETE")

    def eventually(self, ask: Callable[[], object], what: str, within_s: float = 60.0) -> None:
        """Until it is true; the page goes on meanwhile."""
        eventually(lambda: (self.page.wait_for_timeout(100), ask())[1], within_s=within_s, what=what)
