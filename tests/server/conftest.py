"""One Jupyter server and one daemon for all tests of the extension."""

from collections.abc import Iterator

import pytest

from tests.labs import JupyterServer, jupyter_server
from tests.leaks import temporary_home


@pytest.fixture(scope="module")
def server() -> Iterator[JupyterServer]:
    """A running server; no daemon yet."""
    with temporary_home() as home, jupyter_server(home) as running:
        yield running
