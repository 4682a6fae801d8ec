"""On a real NVIDIA GPU: real NVML, real dask-cuda, real CUDA in jobs. Changes no setting of the card."""

from collections.abc import Iterator

import pytest

from jupysched.client import Client
from tests.cases.notebook import Notebook
from tests.faults.on_gpus import house_with_gpus, usable_gpus
from tests.faults.standing import text_of, wait_for_end
from tests.waiting import eventually

pytestmark = [
    pytest.mark.leaky("one daemon with its Dask workers lives for the whole file"),
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("gpu"),
]


@pytest.fixture(scope="module")
def notebook() -> Iterator[Notebook]:
    """A notebook on this machine's GPUs, with an agent for each."""
    with house_with_gpus(1), Notebook("gpu") as opened:
        opened.run("%load_ext jupysched")
        yield opened


def test_gpus_are_found_with_names_memory_and_readings(notebook: Notebook) -> None:
    with Client() as client:
        gpus = eventually(lambda: [g for g in client.gpus() if g.memory_used_bytes is not None], what="readings")
    for gpu in gpus:
        assert gpu.kind in ("gpu", "mig")
        assert gpu.id.startswith(("GPU-", "MIG-"))
        assert gpu.memory_total_bytes


def test_a_job_sees_exactly_its_gpu_and_its_tensors_come_back_to_the_cpu(notebook: Notebook) -> None:
    pytest.importorskip("torch")
    seen = notebook.run(
        "%%gpujob --wait\nimport os, torch\n"
        "print(os.environ['CUDA_VISIBLE_DEVICES'], torch.cuda.device_count())\n"
        "x = torch.randn(512, 512, device='cuda')\n"
        "trace = float((x @ x).trace())\n"
        "net = torch.nn.Linear(4, 2).cuda()"
    )
    assert seen.error is None, seen.error
    uuid, count = seen.stdout.split()
    assert (True, "1") == (uuid.startswith(("GPU-", "MIG-")), count)
    found = notebook.evaluate({"x": "x.device.type == 'cpu'", "net": "next(net.parameters()).device.type == 'cpu'"})
    assert {"x": "True", "net": "True"} == found


def test_a_zygote_with_torch_leaves_cuda_to_its_jobs(notebook: Notebook) -> None:
    pytest.importorskip("torch")
    for _ in range(3):
        seen = notebook.run("%%gpujob --wait\nimport torch\nprint(torch.ones(3, device='cuda').sum().item())")
        assert (None, "3.0\n") == (seen.error, seen.stdout)


def test_running_out_of_gpu_memory_is_called_that(notebook: Notebook) -> None:
    pytest.importorskip("torch")
    seen = notebook.run(
        "%%gpujob\nimport torch\nkept = []\nwhile True:\n    kept.append(torch.empty(1 << 30, dtype=torch.uint8, device='cuda'))",
        allow_stdin=True,
    )
    assert seen.card is not None
    job = wait_for_end(int(seen.card["id"]), within_s=120)
    assert ("failed", "out_of_memory") == (job.state, job.reason)


def test_a_gang_of_all_gpus_sees_them_all(notebook: Notebook) -> None:
    every = eventually(lambda: len(usable_gpus()), what="usable GPUs")
    seen = notebook.run(
        f"%%gpujob --gpus {every}\nimport os\nprint(os.environ['CUDA_VISIBLE_DEVICES'])", allow_stdin=True
    )
    assert seen.card is not None
    job = wait_for_end(int(seen.card["id"]), within_s=120)
    assert every == len(set(text_of(job).strip().split(",")))


def test_the_gpu_is_free_again_when_the_job_has_ended(notebook: Notebook) -> None:
    with Client() as client:
        assert [] == [g.jobs for g in client.gpus() if g.jobs]
        foreign = eventually(lambda: [g.foreign for g in client.gpus()], what="readings")
    assert [[] for _ in foreign] == foreign, "a process of ours outlived its job on the GPU"
