"""A real JupyterLab with a real daemon on CPU slots, and Debian's browser before it. One server for the session."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext

from tests.browser.driver import Lab
from tests.labs import ROOT, JupyterServer, jupyter_server
from tests.leaks import end_all_in, temporary_home

#: screenshots of each view; CI keeps them
SHOTS = Path(os.environ.get("JUPYSCHED_SHOTS", ROOT / "output" / "screenshots"))


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser and the server serve all tests here; one worker runs them all."""
    # The first job is only the first while there was no other.
    items.sort(key=lambda item: item.path.name != "test_first_job.py")
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.leaky("browser and server live as long as the session"))
            item.add_marker(pytest.mark.xdist_group("browser"))
            item.add_marker(pytest.mark.timeout(300))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Keep what the page and the daemon's log looked like when a test failed."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    lab = getattr(item, "funcargs", {}).get("lab")
    if report.when == "call" and report.failed and isinstance(lab, Lab):
        lab.shot(f"failed-{item.name.split('[')[0]}")
        log = lab.server.home / "daemon.log"
        report.sections.append(("daemon.log", log.read_text()[-4000:] if log.exists() else "there is none"))
        report.sections.append(("jobs", lab.server.api("jobs?limit=20").body.decode()[-4000:]))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Debian's chromium; as root it has no sandbox."""
    found = shutil.which("chromium")
    if found is None:
        pytest.fail("chromium is missing: `make packages` installs it")
    return {**browser_type_launch_args, "executable_path": found, "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def server() -> Iterator[JupyterServer]:
    """JupyterLab under /user/x/, with two CPU slots and no daemon yet."""
    assert (ROOT / "jupysched" / "labextension" / "package.json").exists(), "the extension is not built: `make install`"
    with temporary_home() as home:
        with jupyter_server(home, lab=True) as running:
            yield running
        end_all_in(home)


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile, of a size that shows sidebar and notebook."""
    made = browser.new_context(viewport={"width": 1400, "height": 900})
    yield made
    made.close()


@pytest.fixture
def lab(server: JupyterServer, context: BrowserContext) -> Iterator[Lab]:
    """JupyterLab, ready; its page had no error at the end."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    opened = Lab(server, context.new_page(), SHOTS)
    opened.open()
    yield opened
    opened.shut_down_kernels()
    assert opened.errors == []
