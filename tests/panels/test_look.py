"""Legends have room beside a notebook."""

import pytest

from jupysched.panels import look


@pytest.mark.parametrize(
    ("labels", "beside"),
    [
        (["GPU 0", "GPU 1"], 2),
        ([f"GPU {n}" for n in range(8)], 4),
        (["resnet (11) loss", "resnet (11) train_loss", "resnet (11) val_loss"], 2),
        (["x" * 200, "y"], 1),
    ],
)
def test_a_row_of_a_legend_has_as_many_entries_as_have_room(labels: list[str], beside: int) -> None:
    assert look.entries_beside(labels) == beside
