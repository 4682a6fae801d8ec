"""What the tables of the command line say."""

import pytest

from jupysched import words
from jupysched.wire.records import GpuRecord, JobRecord


def a_gpu(**more: object) -> GpuRecord:
    return GpuRecord(id="G", node="n", index=0, label="GPU 0", name="A100", kind="gpu", **more)  # type: ignore[arg-type]


def test_a_gpu_that_is_held_and_drained_says_both() -> None:
    assert "job 7; drained: fan" in words.gpu_table([a_gpu(jobs=[7], drained="fan")], {})
    assert "drained: fan" in words.gpu_table([a_gpu(drained="fan")], {})
    assert "free" in words.gpu_table([a_gpu()], {})


def test_memory_is_told_as_far_as_it_is_known() -> None:
    assert "2.0 GB of 80.0 GB" in words.gpu_table(
        [a_gpu(memory_used_bytes=2_000_000_000, memory_total_bytes=80_000_000_000)], {}
    )
    assert "2.0 GB  n/a" in words.gpu_table([a_gpu(memory_used_bytes=2_000_000_000)], {})


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        ([], ""),
        (["GPU 0"], "GPU 0"),
        (["GPU 1", "GPU 2"], "GPUs 1, 2"),
        (["GPU-fa4e0", "GPU-fa4e1"], "GPU-fa4e0, GPU-fa4e1"),
        (["GPU 1", "CPU slot 0"], "GPU 1, CPU slot 0"),
    ],
)
def test_where_a_job_ran_is_said_also_of_gpus_that_are_gone(gpus: list[str], said: str) -> None:
    assert words.where(JobRecord(id=1, user="u", name="n", state="running", gpus=gpus)) == said
