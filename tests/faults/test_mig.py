"""The whole product on a card that is split into MIG devices, beside a whole one: real daemon, dask-cuda, kernel and jobs."""

from collections.abc import Iterator

import pytest

from jupysched.client import Client
from tests.cases.notebook import Notebook
from tests.fakenvml.machine import FakeMachine
from tests.faults.on_gpus import house_with_gpus
from tests.faults.standing import text_of, wait_for_end

pytestmark = [
    pytest.mark.leaky("one daemon with three Dask workers lives for the whole file"),
    pytest.mark.timeout(300),
    pytest.mark.xdist_group("gpus"),
]
SEES = "import os; print(os.environ['CUDA_VISIBLE_DEVICES'])"
GIB = 1 << 30


@pytest.fixture(scope="module")
def machine() -> Iterator[FakeMachine]:
    """Two cards; the first is split into one of 10 and one of 40 GiB."""
    fake = FakeMachine(2)
    fake.split(0, 10, 40)
    yield fake
    fake.close()


@pytest.fixture(scope="module")
def notebook(machine: FakeMachine) -> Iterator[Notebook]:
    with house_with_gpus(3, machine.environ), Notebook("mig") as opened:
        opened.run("%load_ext jupysched")
        yield opened


def saw(notebook: Notebook, options: str) -> str:
    """What a job with these options sees as its GPUs."""
    seen = notebook.run(f"%%gpujob {options}\n{SEES}", allow_stdin=True)
    assert seen.card is not None, seen.error
    return text_of(wait_for_end(int(seen.card["id"]))).strip()


def test_mig_devices_are_listed_beside_the_whole_card(notebook: Notebook, machine: FakeMachine) -> None:
    with Client() as client:
        listed = [(g.label, g.kind, g.memory_total_bytes) for g in client.gpus()]
    assert [("MIG 0", "mig", 10 * GIB), ("MIG 1", "mig", 40 * GIB), ("GPU 2", "gpu", 80 * GIB)] == listed


@pytest.mark.parametrize(("options", "place"), [("--gpu-type 10gb", 0), ("--gpu-type 40gb", 1)])
def test_a_job_sees_its_mig_device_by_uuid(notebook: Notebook, machine: FakeMachine, options: str, place: int) -> None:
    assert saw(notebook, options) == machine.gpus[0].mig[place].uuid.decode()


def test_a_job_that_asks_for_memory_gets_the_smallest_device_that_has_it(
    notebook: Notebook, machine: FakeMachine
) -> None:
    assert saw(notebook, "--gpu-mem 30G") == machine.gpus[0].mig[1].uuid.decode()
