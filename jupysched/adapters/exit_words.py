"""How an attempt ended, in words. Knows exit.json, signals and the usual causes; knows nothing of jobs or of GPUs' state."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Any

from jupysched.core.job import Exit

GIB = 1 << 30
#: A process ended by SIGKILL that held this part of the machine's memory was most likely ended because memory ran out.
MEMORY_SUSPECT = 0.6
_CUDA_MEMORY = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "cudaErrorMemoryAllocation",
)
_CUDA_NAMES = ("torch.cuda.OutOfMemoryError", "torch.OutOfMemoryError", "OutOfMemoryError")
_RAM_NAMES = ("MemoryError", "_ArrayMemoryError", "ArrayMemoryError")
_RAM_WORDS = ("DefaultCPUAllocator: can't allocate memory", "Cannot allocate memory", "std::bad_alloc")
#: what a signal usually means to somebody who did not send it
SIGNALS: dict[int, str] = {
    signal.SIGSEGV: "a crash in native code (a C extension or a CUDA library)",
    signal.SIGABRT: "native code gave up (a failed assertion, or memory that could not be had)",
    signal.SIGBUS: "memory it had mapped was not there; often /dev/shm or a disk is full",
    signal.SIGFPE: "an arithmetic fault in native code, such as an integer division by zero",
    signal.SIGILL: "native code built for another CPU",
    signal.SIGTERM: "somebody outside asked it to end",
    signal.SIGINT: "somebody outside interrupted it",
    signal.SIGHUP: "somebody outside hung it up",
    signal.SIGXCPU: "a CPU time limit of this system was reached",
    signal.SIGPIPE: "it wrote to a pipe that nobody read",
}


def exit_from(words: Mapping[str, Any]) -> Exit:
    """Return what exit.json (or the shim's last message, which holds the same) says, with the likely cause."""
    end = words.get("end")
    end = end if isinstance(end, Mapping) else {}
    code, number = _number(words.get("code")), _number(words.get("signal"))
    outcome = end.get("outcome")
    outcome = outcome if isinstance(outcome, str) else None
    if outcome == "ok" and end.get("told") is True and words.get("stopped") is True:
        # It was told to end and did: that is not the end of its work.
        outcome = "interrupted"
    error = _error(end)
    sentence, memory = _told(outcome, error, end) if outcome in ("error", "interrupted") else ("", False)
    if number is not None:
        sentence, memory = _signalled(number, words, stopped=bool(words.get("stopped")))
    elif not sentence:
        sentence = _coded(code, outcome, end)
    returned = end.get("returned")
    names = tuple(str(name) for name in returned) if isinstance(returned, list) else ()
    return Exit(
        code=code, signal=number, outcome=outcome, error=error, sentence=sentence, out_of_memory=memory, returned=names
    )


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _error(end: Mapping[str, Any]) -> str | None:
    name, value = str(end.get("ename") or ""), str(end.get("evalue") or "")
    if not name:
        return None
    first = value.strip().splitlines()[0][:300] if value.strip() else ""
    return f"{name}: {first}" if first else name


def _told(outcome: str, error: str | None, end: Mapping[str, Any]) -> tuple[str, bool]:
    """The sentence for an error that the cell itself met, and whether memory was its cause."""
    if outcome == "interrupted":
        return "The cell was interrupted.", False
    name, value = str(end.get("ename") or ""), str(end.get("evalue") or "")
    if name in _CUDA_NAMES or any(words in value for words in _CUDA_MEMORY):
        return f"The GPU's memory was full ({error}).", True
    if name in _RAM_NAMES or any(words in value for words in _RAM_WORDS):
        return f"The machine's memory (RAM) was full ({error}).", True
    return error or "The cell raised an exception.", False


def _signalled(number: int, words: Mapping[str, Any], *, stopped: bool) -> tuple[str, bool]:
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    what = f"Its process was ended by signal {number} ({name})"
    if stopped:
        return f"{what}, as ordered.", False
    if number != signal.SIGKILL:
        return f"{what}: {SIGNALS[number]}." if number in SIGNALS else f"{what}.", False
    used = _number(words.get("max_rss_bytes"))
    # Less than this says nothing about memory.
    held = f" It held up to {used / GIB:.1f} GiB." if used and used >= GIB / 10 else ""
    if used and used >= MEMORY_SUSPECT * memory_limit_bytes():
        return f"{what}: most likely the machine's memory (RAM) ran out.{held}", True
    return f"{what} from outside; the system does that when memory (RAM) runs out.{held}", False


def _coded(code: int | None, outcome: str | None, end: Mapping[str, Any]) -> str:
    if code is None:
        return "Nobody saw how its process ended."
    if outcome == "exit":
        return f"The cell ended its process with exit code {end.get('exit_code', code)}."
    if outcome == "ok" and not code:
        return ""
    if not code:
        return "Its process ended with exit code 0 before the cell was through (os._exit does that)."
    return f"Its process ended with exit code {code}."


def memory_limit_bytes() -> int:
    """Return the memory that processes here can have: the machine's, or the limit of this container."""
    with open("/proc/meminfo", encoding="ascii") as file:
        total = int(file.readline().split()[1]) * 1024
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path, encoding="ascii") as file:
                word = file.read().strip()
        except OSError:
            continue
        if word.isdigit():
            return min(total, int(word))
    return total
