"""A real Jupyter server of the test's own: home, config, port and token. Knows Jupyter's settings; knows nothing of jobs."""

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.waiting import eventually

ROOT = Path(__file__).parent.parent
BASE = "/user/x/"


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an answer."""

    def redirect_request(self, *_: object) -> None:
        return None


@dataclass(frozen=True)
class JupyterServer:
    """A running server."""

    port: int
    token: str
    home: Path
    #: what its pages see as /
    notebooks: Path
    log: Path
    pid: int

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}{BASE}"

    def ask(
        self,
        path: str,
        body: object = None,
        *,
        method: str = "",
        token: str | None = "",
        headers: Mapping[str, str] = {},
    ) -> Answer:
        """The answer to one request; token None asks as nobody."""
        sent = {**headers} if token is None else {"Authorization": f"token {token or self.token}", **headers}
        payload = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=payload, headers=sent, method=method or None)
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(request, timeout=30) as response:
                return Answer(response.status, response.read(), response.headers)
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read(), error.headers)

    def api(self, path: str, body: object = None, **named: Any) -> Answer:
        """The answer of one of our routes."""
        return self.ask(f"jupysched/api/{path}", body, **named)


@contextlib.contextmanager
def jupyter_server(
    home: Path,
    *,
    lab: bool = False,
    slots: int = 2,
    settings: str = "",
    is_up: str = "jupysched/api/state",
    modules: Mapping[str, str] = {},
    more_share: Path | None = None,
) -> Iterator[JupyterServer]:
    """A server whose jobs live in `home`; it has ended when the block has. `slots` 0 takes the GPUs that are there,
    `settings` is Python of a Jupyter config file,
    `modules` are Python modules that it can import, `more_share` a folder of more extensions of JupyterLab."""
    place = home / "jupyter"
    folders = {name: place / name for name in ("config", "data", "runtime", "notebooks", "share")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    _share(folders["share"])
    # Else Lab asks whether it may look for news.
    (folders["config"] / "labconfig").mkdir()
    (folders["config"] / "labconfig" / "page_config.json").write_text(
        json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}})
    )
    (folders["config"] / "jupyter_server_config.py").write_text(_settings(folders["notebooks"], settings))
    for name, source in modules.items():
        (folders["share"] / f"{name}.py").write_text(source)
    token, port, log = secrets.token_hex(16), _free_port(), place / "log"
    environment = {
        **os.environ,
        "JUPYTER_CONFIG_DIR": str(folders["config"]), "JUPYTER_DATA_DIR": str(folders["data"]),
        "JUPYTER_RUNTIME_DIR": str(folders["runtime"]), "JUPYTER_PATH": os.pathsep.join(str(f) for f in (folders["share"], more_share) if f),
        "JUPYTER_TOKEN": token, "JUPYSCHED_HOME": str(home), "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), str(folders["share"]), os.environ.get("PYTHONPATH")])),
    }  # fmt: skip
    environment.pop("JUPYSCHED_SOCKET", None)
    environment.pop("JUPYSCHED_CPU_SLOTS", None)
    if slots:
        environment["JUPYSCHED_CPU_SLOTS"] = str(slots)
    module = "jupyterlab" if lab else "jupyter_server"
    command = [sys.executable, "-m", module, "--no-browser", "--allow-root", f"--ServerApp.port={port}"]
    with open(log, "wb") as output:
        server = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, cwd=folders["notebooks"]
        )
    try:
        running = JupyterServer(
            port=port, token=token, home=home, notebooks=folders["notebooks"], log=log, pid=server.pid
        )
        eventually(lambda: _is_up(server, running, is_up), within_s=150, what="the Jupyter server answers")
        yield running
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _is_up(server: subprocess.Popen[bytes], running: JupyterServer, path: str) -> bool:
    if server.poll() is not None:
        raise SystemExit(f"the Jupyter server ended: {running.log.read_text()[-2000:]}")
    return running.ask(path).status == 200


def _share(folder: Path) -> None:
    """The built extension of this checkout, and a kernel of this interpreter."""
    extensions, kernel = folder / "labextensions", folder / "kernels" / "python3"
    extensions.mkdir()
    kernel.mkdir(parents=True)
    built = ROOT / "jupysched" / "labextension"
    if (built / "package.json").exists():
        (extensions / "jupysched").symlink_to(built)
    argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Python 3", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec))


def _settings(notebooks: Path, more: str) -> str:
    return f"""
c.ServerApp.base_url = {BASE!r}
c.ServerApp.root_dir = {str(notebooks)!r}
c.ServerApp.port_retries = 0
c.ServerApp.jpserver_extensions = {{"jupysched": True}}
c.LabApp.expose_app_in_browser = True
c.KernelManager.transport = "ipc"
{more}
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
