"""JupyterLab in a real browser before a real daemon with eight GPUs that are not there: how soon it shows, what it costs.

Needs Debian's chromium and playwright. The readings of the GPUs change all the time, as real ones do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import processes
from benchmarks.figure import Figure, median, spread
from benchmarks.stage import Stage
from jupysched.client import AsyncClient

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.fakenvml.machine import FakeMachine
    from tests.labs import JupyterServer

JOBS = 1000
PAGES = 20
#: notes when the jobs were asked for, when they came, and when the first row stood on the screen
WATCH = """
const Socket = window.WebSocket;
window.WebSocket = class extends Socket {
  constructor(url, ...rest) {
    super(url, ...rest);
    if (String(url).includes('jupysched')) {
      window.__asked ??= performance.now();
      this.addEventListener('message', () => { window.__came ??= performance.now(); });
    }
  }
};
new MutationObserver((_, self) => {
  if (document.querySelector('[data-jupysched-job]') !== null) {
    self.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.__painted = performance.now(); }));
  }
}).observe(document, { childList: true, subtree: true });
"""
#: when a row's text has changed to hold a word, in seconds since the epoch
SEEN = """([job, word]) => new Promise(seen => {
  const look = () => {
    if (document.querySelector(`[data-jupysched-job="${job}"] .jp-jupysched-pill`)?.textContent !== word) return false;
    requestAnimationFrame(() => setTimeout(() => seen((performance.timeOrigin + performance.now()) / 1000)));
    return true;
  };
  const watch = new MutationObserver(() => { if (look()) watch.disconnect(); });
  watch.observe(document.querySelector('#jupysched'), { childList: true, subtree: true, characterData: true });
  window.__ready = true;
})"""


def measure(*, quick: bool) -> Iterator[Figure]:
    """First paint, an event to the screen, and the cost of browser, server and daemon while nothing happens."""
    from playwright.sync_api import sync_playwright

    from tests.fakenvml.machine import FakeMachine
    from tests.labs import jupyter_server

    chromium = shutil.which("chromium")
    if chromium is None:
        raise FileNotFoundError("chromium: `make packages` installs it")
    machine = FakeMachine(8)
    try:
        with (
            Stage(slots=None, more=machine.environ) as stage,
            _restless(machine),
            jupyter_server(stage.home, lab=True, slots=0) as server,
            sync_playwright() as playwright,
        ):
            jobs = _held(stage)
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1400, "height": 900})
            page.add_init_script(WATCH)
            yield _first_paint(page, server, repetitions=2 if quick else 7)
            yield _event(page, stage, jobs[0], repetitions=5 if quick else 40)
            yield from _idle(page, stage, server, seconds=5.0 if quick else 30.0)
            browser.close()
    finally:
        machine.close()


@contextlib.contextmanager
def _restless(machine: FakeMachine) -> Iterator[None]:
    """Each GPU's readings change twice a second."""
    over = threading.Event()

    def change() -> None:
        dice = random.Random(7)
        while not over.wait(0.5):
            for index in range(8):
                gpu = machine.gpus[index]
                gpu.util_gpu, gpu.temp = dice.randrange(60, 100), dice.randrange(50, 70)
                gpu.power_mw, gpu.mem_used = dice.randrange(400_000, 600_000), dice.randrange(int(4e10), int(6e10))
                del gpu

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _held(stage: Stage) -> list[int]:
    spec = stage.spec("pass")
    spec.hold = True
    return [job for part in range(0, JOBS, 250) for job in stage.client.submit(*[spec] * min(250, JOBS - part))]


def _open(page: Page, server: JupyterServer, *, query: str) -> None:
    page.goto(f"{server.url}lab?token={server.token}{query}")
    page.wait_for_function("window.jupyterapp !== undefined", timeout=90_000)
    page.evaluate("window.jupyterapp.restored.then(() => 1)")


def _first_paint(page: Page, server: JupyterServer, *, repetitions: int) -> Figure:
    """Until the jobs have come, and from opening the sidebar for the first time until its rows stand there.

    Between the two Lab starts up, which takes as long with nothing of ours."""
    took: list[float] = []
    came: list[float] = []
    for _ in range(repetitions):
        _open(page, server, query="&reset")
        page.wait_for_function("window.__came !== undefined")
        drawn = page.evaluate(
            """async () => {
              const began = performance.now();
              void window.jupyterapp.commands.execute('jupysched:show-sidebar');
              while (window.__painted === undefined) await new Promise(requestAnimationFrame);
              return (window.__painted - began) / 1e3;
            }"""
        )
        came.append(page.evaluate("window.__came - window.__asked") / 1e3)
        took.append(came[-1] + drawn)
    note = f"{JOBS} jobs; {spread(took)}; of it until they have come: {median(came):.2f} s"
    return Figure(name="sidebar_first_paint", value=median(took), unit="s", floor=None, target=1.0, note=note)


def _event(page: Page, stage: Stage, job: int, *, repetitions: int) -> Figure:
    """A job's class is changed by the daemon's client; until the row has been painted with it."""
    page.get_by_role("searchbox", name="Search jobs").fill(str(job))
    page.locator(f"[data-jupysched-job='{job}']").wait_for()
    took: list[float] = []
    for number in range(repetitions):
        word = ("high", "low")[number % 2]
        page.evaluate("window.__ready = false")
        page.evaluate(f"args => {{ window.__seen = ({SEEN})(args); return 1; }}", [job, word])
        page.wait_for_timeout(120)
        began = time.time()
        stage.client.set_priority(word, job)
        took.append(page.evaluate("window.__seen") - began)
    page.get_by_role("searchbox", name="Search jobs").fill("")
    value = median(took) * 1e3
    note = spread([t * 1e3 for t in took])
    return Figure(name="event_to_screen", value=value, unit="ms", floor=None, target=150.0, note=note)


def _idle(page: Page, stage: Stage, server: JupyterServer, *, seconds: float) -> Iterator[Figure]:
    """Nothing is touched: what browser, Jupyter server and daemon take of a core."""
    page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area').then(() => 1)")
    page.wait_for_timeout(4000)
    bare = _costs(page, stage, server, seconds)
    page.evaluate("window.jupyterapp.commands.execute('jupysched:show-sidebar').then(() => 1)")
    page.wait_for_timeout(2000)
    sidebar = _costs(page, stage, server, seconds)
    page.evaluate("window.jupyterapp.commands.execute('jupysched:open-utilization').then(() => 1)")
    page.frame_locator(".jp-jupysched-panel iframe").locator("canvas").first.wait_for()
    page.wait_for_timeout(6000)
    both = _costs(page, stage, server, seconds)
    note = f"of a core, sidebar and utilization panel open at 8 GPUs; sidebar alone {sidebar['browser']:.1f} %, Lab with neither in sight: the floor"
    yield _share("idle_browser", both["browser"], bare["browser"], 5.0, note)
    yield _share("idle_server", both["server"], bare["server"], 2.0, "the same; the floor: Lab with neither in sight")
    with _pages(server, PAGES), _watchers(stage.home / "api.sock", PAGES):
        page.wait_for_timeout(3000)
        many = _costs(page, stage, server, seconds)
    note = f"{PAGES} more pages on one Jupyter server, which is shared by none in practice"
    yield _share("server_20_pages", many["server"], both["server"], None, note)
    note = f"{PAGES} Jupyter servers listen, and {PAGES + 1} pages; all of daemon, agents and launcher"
    yield _share("daemon_20_servers", many["daemon"], both["daemon"], 10.0, note)


def _share(name: str, value: float, floor: float, target: float | None, note: str) -> Figure:
    return Figure(name=name, value=value, unit="%", floor=floor, target=target, note=note)


def _costs(page: Page, stage: Stage, server: JupyterServer, seconds: float) -> dict[str, float]:
    """Per cent of a core, by who takes it."""
    pids = {
        "browser": _browser(),
        "server": [server.pid],
        "daemon": [pid for found in stage.pids().values() for pid in found],
    }
    before = {name: sum(map(processes.fine_cpu_s, found)) for name, found in pids.items()}
    began = time.monotonic()
    page.wait_for_timeout(seconds * 1e3)
    took = time.monotonic() - began
    return {name: (sum(map(processes.fine_cpu_s, found)) - before[name]) / took * 100 for name, found in pids.items()}


def _browser() -> list[int]:
    """All processes of the browser."""
    found = []
    for pid in processes.descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if "chromium" in os.readlink(f"/proc/{pid}/exe"):
                found.append(pid)
    return found


# --- others who look ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _pages(server: JupyterServer, count: int) -> Iterator[None]:
    """So many pages that hear all that the stream says."""
    from tornado.websocket import websocket_connect

    async def listen() -> None:
        url = server.url.replace("http", "ws", 1) + f"jupysched/api/stream?token={server.token}"
        connection = await websocket_connect(url)
        while await connection.read_message() is not None:
            pass

    with _aside([listen] * count):
        yield


@contextlib.contextmanager
def _watchers(socket: Path, count: int) -> Iterator[None]:
    """So many Jupyter servers that hear all that the daemon says."""

    async def listen() -> None:
        client = AsyncClient(socket=socket)
        async for _push in client.watch():
            pass

    with _aside([listen] * count):
        yield


@contextlib.contextmanager
def _aside(listeners: Sequence[Callable[[], Any]]) -> Iterator[None]:
    loop = asyncio.new_event_loop()

    async def listen() -> None:
        await asyncio.gather(*(listener() for listener in listeners))

    task = loop.create_task(listen())

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
        if task.done():
            raise RuntimeError("those who should have listened have ended") from task.exception()
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
