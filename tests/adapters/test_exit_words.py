"""How an attempt ended is told in one sentence, with the likely cause."""

import signal
from typing import Any

import pytest

from jupysched.adapters.exit_words import SIGNALS, exit_from, memory_limit_bytes
from jupysched.core.job import Exit


def ended(code: int | None = None, number: int | None = None, **more: Any) -> dict[str, Any]:
    """An exit.json."""
    end = more.pop("end", None)
    return {"code": code, "signal": number, "stopped": False, "end": end, "max_rss_bytes": 1 << 20, "swept": 0, **more}


def error(name: str, value: str) -> dict[str, Any]:
    return {"outcome": "error", "ename": name, "evalue": value, "returned": ["loss"]}


def test_success_needs_no_sentence() -> None:
    words = ended(0, end={"outcome": "ok", "returned": ["model", "losses"]})
    assert Exit(code=0, outcome="ok", returned=("model", "losses")) == exit_from(words)


def test_an_error_is_told_by_its_name_and_first_line() -> None:
    told = exit_from(ended(1, end=error("ValueError", "no such layer\nand much more")))
    assert ("ValueError: no such layer", "ValueError: no such layer", ("loss",)) == (
        told.error,
        told.sentence,
        told.returned,
    )


@pytest.mark.parametrize(
    ("name", "value", "where"),
    [
        ("OutOfMemoryError", "CUDA out of memory. Tried to allocate 20.00 GiB", "GPU"),
        ("RuntimeError", "CUDA error: out of memory\nCUDA kernel errors might be ...", "GPU"),
        ("RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", "GPU"),
        ("MemoryError", "", "RAM"),
        ("_ArrayMemoryError", "Unable to allocate 3.64 TiB", "RAM"),
        ("RuntimeError", "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried ...", "RAM"),
    ],
)
def test_memory_that_was_full_is_named(name: str, value: str, where: str) -> None:
    told = exit_from(ended(1, end=error(name, value)))
    assert told.out_of_memory
    assert where in told.sentence


def test_an_error_that_only_speaks_of_memory_is_not_out_of_memory() -> None:
    assert not exit_from(ended(1, end=error("ValueError", "out of memory of my childhood"))).out_of_memory


@pytest.mark.parametrize("number", sorted(SIGNALS))
def test_a_signal_is_named_with_what_it_usually_means(number: int) -> None:
    told = exit_from(ended(number=number))
    assert (
        told.sentence == f"Its process was ended by signal {number} ({signal.Signals(number).name}): {SIGNALS[number]}."
    )


def test_sigkill_of_a_process_that_held_most_memory_is_out_of_memory() -> None:
    told = exit_from(ended(number=9, max_rss_bytes=int(0.9 * memory_limit_bytes())))
    assert told.out_of_memory
    assert "most likely the machine's memory (RAM) ran out" in told.sentence


def test_sigkill_of_a_small_process_is_not_blamed_on_memory_for_certain() -> None:
    told = exit_from(ended(number=9, max_rss_bytes=200 << 20))
    assert not told.out_of_memory
    assert told.sentence == (
        "Its process was ended by signal 9 (SIGKILL) from outside; the system does that when memory (RAM) runs out."
        " It held up to 0.2 GiB."
    )


def test_sigkill_that_we_ordered_is_nobodys_fault() -> None:
    told = exit_from(ended(number=9, stopped=True, max_rss_bytes=memory_limit_bytes()))
    assert ("Its process was ended by signal 9 (SIGKILL), as ordered.", False) == (told.sentence, told.out_of_memory)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (ended(7), "Its process ended with exit code 7."),
        (ended(3, end={"outcome": "exit", "exit_code": 3}), "The cell ended its process with exit code 3."),
        (ended(0), "Its process ended with exit code 0 before the cell was through (os._exit does that)."),
        (ended(), "Nobody saw how its process ended."),
        ({}, "Nobody saw how its process ended."),
        (ended(130, end={"outcome": "interrupted", "ename": "KeyboardInterrupt"}), "The cell was interrupted."),
        (ended(number=64), "Its process was ended by signal 64 (SIGRTMAX)."),
    ],
)
def test_every_other_end_has_its_sentence(words: dict[str, Any], sentence: str) -> None:
    assert sentence == exit_from(words).sentence
