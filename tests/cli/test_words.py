"""What the tables of the command line say."""

from jupysched import words
from jupysched.wire.records import GpuRecord


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
