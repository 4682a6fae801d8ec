"""What the numbers mean by which the NVIDIA driver reports an error (XID), and whether the card is to blame. Pure.

Names are those of NVIDIA's XID catalogue. Errors of a program end that program and leave the card well; errors of the hardware
take the card out of use until somebody has looked at it."""

from __future__ import annotations

from typing import NamedTuple


class Meaning(NamedTuple):
    """One number."""

    #: as NVIDIA publishes it
    name: str
    #: what it means for the person whose job it was
    means: str
    #: is the card to blame, so that no new job should meet it?
    is_hardware: bool


_PROGRAM, _CARD = False, True
MEANINGS: dict[int, Meaning] = {
    13: Meaning(
        "Graphics Engine Exception", "the program did something invalid, often an index out of range", _PROGRAM
    ),
    31: Meaning("GPU memory page fault", "the program read or wrote GPU memory that is not its own", _PROGRAM),
    32: Meaning("Invalid or corrupted push buffer stream", "the program sent the GPU broken commands", _PROGRAM),
    43: Meaning("GPU stopped processing", "the program failed and its work was dropped; the GPU is well", _PROGRAM),
    45: Meaning("Preemptive cleanup, due to previous errors", "the program ended while the GPU still worked", _PROGRAM),
    48: Meaning("Double Bit ECC Error", "GPU memory returned a wrong value that could not be corrected", _CARD),
    61: Meaning("Internal micro-controller breakpoint/warning", "the GPU's own controller failed", _CARD),
    62: Meaning("Internal micro-controller halt", "the GPU's own controller stopped", _CARD),
    63: Meaning(
        "ECC page retirement or row remapping recording event", "broken GPU memory is replaced at the next reset", _CARD
    ),
    64: Meaning(
        "ECC page retirement or row remapper recording failure", "broken GPU memory could not be replaced", _CARD
    ),
    69: Meaning("Graphics Engine class error", "the program did something invalid", _PROGRAM),
    74: Meaning("NVLINK Error", "a link between GPUs failed", _CARD),
    79: Meaning("GPU has fallen off the bus", "the GPU does not answer any more", _CARD),
    92: Meaning("High single-bit ECC error rate", "GPU memory needs correcting too often", _CARD),
    94: Meaning("Contained ECC error", "GPU memory failed under one program; others were not touched", _CARD),
    95: Meaning("Uncontained ECC error", "GPU memory failed, and any program on this GPU may be affected", _CARD),
    119: Meaning("GSP RPC Timeout", "the GPU's system processor does not answer", _CARD),
    120: Meaning("GSP Error", "the GPU's system processor failed", _CARD),
    140: Meaning("Unrecovered ECC Error", "GPU memory returned a wrong value", _CARD),
}
#: an error that we have no word for is told, and drains nothing
UNKNOWN = Meaning("not in our list", "NVIDIA's XID catalogue says more", _PROGRAM)


def meaning(xid: int) -> Meaning:
    """What the number means."""
    return MEANINGS.get(xid, UNKNOWN)


def is_hardware(xid: int) -> bool:
    """Does it take the card out of use?"""
    return meaning(xid).is_hardware


def sentence(label: str, xid: int) -> str:
    """'GPU 3 reported XID 79 (GPU has fallen off the bus): the GPU does not answer any more'."""
    found = meaning(xid)
    return f"{label} reported XID {xid} ({found.name}): {found.means}"
