"""A variable of ours that cannot be read is refused in a sentence, wherever it is first met; none is passed over."""

import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jupysched import cli, places, variables
from jupysched.core.errors import BadRequest, ClusterError
from jupysched.server.relay import Relay
from tests.cases.notebook import Notebook

NUMBER = "expected a whole number of at least 1. Set it so, or unset it."
PATH = "expected a path that begins with /. Set it so, or unset it."
SWITCH = "expected 1 or 0. Set it so, or unset it."
NOT_NUMBERS = ["banana", "-1", "0", "0.5", "", "²"]


@pytest.mark.parametrize("word", NOT_NUMBERS)
def test_what_is_no_number_is_refused(monkeypatch: pytest.MonkeyPatch, word: str) -> None:
    monkeypatch.setenv("JUPYSCHED_CPU_SLOTS", word)
    with pytest.raises(BadRequest) as refused:
        variables.whole_number("JUPYSCHED_CPU_SLOTS")
    assert str(refused.value) == f"JUPYSCHED_CPU_SLOTS is {word!r}; {NUMBER}"


@pytest.mark.parametrize(
    ("word", "switched"), [("1", True), ("on", True), ("True", True), ("0", False), ("off", False), ("no", False)]
)
def test_a_switch_is_on_or_off(monkeypatch: pytest.MonkeyPatch, word: str, switched: bool) -> None:
    monkeypatch.setenv("JUPYSCHED_WAIT", word)
    assert variables.is_on("JUPYSCHED_WAIT") is switched


@pytest.mark.parametrize("name", ["JUPYSCHED_HOME", "JUPYSCHED_SOCKET"])
@pytest.mark.parametrize("word", ["here/there", "", "~/state"])
def test_a_place_that_is_not_the_same_to_every_process_is_refused(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, word: str
) -> None:
    monkeypatch.setenv(name, word)
    assert cli.main(["queue"]) == 2
    assert capsys.readouterr().err == f"jupysched: {name} is {word!r}; {PATH}\n"


def test_nothing_that_is_set_is_as_if_it_were_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JUPYSCHED_WAIT", raising=False)
    found = [read("JUPYSCHED_WAIT") for read in (variables.whole_number, variables.absolute_path, variables.is_on)]
    assert found == [None, None, None]


@pytest.fixture
def not_root() -> Iterator[None]:
    """Root may write everywhere."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    yield
    os.seteuid(before)


def test_a_home_that_is_there_and_cannot_be_written_is_refused(monkeypatch: pytest.MonkeyPatch, not_root: None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        monkeypatch.setenv("JUPYSCHED_HOME", folder)
        with pytest.raises(ClusterError) as refused:
            places.home()
        os.chmod(folder, 0o700)
    assert refused.value.sentence == (
        f"JUPYSCHED_HOME is {folder}, and that directory cannot be made or written: Permission denied."
    )


def test_a_relative_state_directory_is_passed_over_as_its_specification_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JUPYSCHED_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert places.home() == tmp_path / ".local" / "state" / "jupysched"


@pytest.mark.parametrize("word", NOT_NUMBERS)
def test_the_daemon_does_not_start_with_slots_that_are_no_number(
    home: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("JUPYSCHED_CPU_SLOTS", word)
    ran = subprocess.run([sys.executable, "-m", "jupysched.daemon"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, f"JUPYSCHED_CPU_SLOTS is {word!r}; {NUMBER}\n")


@pytest.mark.leaky("kernels and daemons of the test are ended with its home")
def test_who_uses_a_notebook_is_told(home: Path) -> None:
    with Notebook("variables") as opened:
        opened.run("import os\nos.environ['JUPYSCHED_CPU_SLOTS'] = 'banana'\n%load_ext jupysched")
        said = []
        for change in (
            "pass",
            "os.environ['JUPYSCHED_CPU_SLOTS'] = '1'; os.environ['JUPYSCHED_WAIT'] = 'maybe'",
            "os.environ['JUPYSCHED_WAIT'] = '0'; os.environ['JUPYSCHED_HOOKS'] = 'maybe'",
            "os.environ['JUPYSCHED_HOOKS'] = '0'; os.environ['JUPYSCHED_SOCKET'] = 'here'",
        ):
            opened.run(change)
            refused = opened.run("%%gpujob\n1", allow_stdin=True).error
            assert refused is not None
            said.append(refused["evalue"])
        opened.run("del os.environ['JUPYSCHED_SOCKET']")
        assert opened.run("%%gpujob\n1", allow_stdin=True).card is not None
    assert said == [
        (
            f"The personal daemon did not start: JUPYSCHED_CPU_SLOTS is 'banana'; {NUMBER}"
            f" Its log is {home / 'daemon.log'}."
        ),
        f"JUPYSCHED_WAIT is 'maybe'; {SWITCH}",
        f"JUPYSCHED_HOOKS is 'maybe'; {SWITCH}",
        f"JUPYSCHED_SOCKET is 'here'; {PATH}",
    ]


async def test_the_pages_of_a_server_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYSCHED_HOME", "here")
    relay = Relay(log=logging.getLogger("test"))
    woken = relay.subscribe()
    relay.start()
    await woken.wait()
    await relay.close()
    assert (relay.picture.down, relay.picture.may_start) == (f"JUPYSCHED_HOME is 'here'; {PATH}", False)
