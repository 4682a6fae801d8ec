"""What tests with a real kernel ask of the outputs under a cell."""

from tests.cases.notebook import Notebook
from tests.cases.outputs import Outputs


def ended(notebook: Notebook, seen: Outputs, within_s: float = 30) -> Outputs:
    """Return what stands under the cell when its job has ended and the results are in."""
    notebook.listen_until(
        lambda: (
            seen.card
            and seen.card["state"] in ("succeeded", "failed", "cancelled")
            and (seen.card["has_landed"] or not seen.card["returned"])
        ),
        within_s=within_s,
        what="the end of the job",
    )
    return seen
