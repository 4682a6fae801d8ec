"""Random numbers go on in a job as they would in the notebook; jobs sent from one state do not all draw the same."""

import random
from pathlib import Path

from jupysched.namespace import ambient
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pack import pack_inputs


def test_the_first_of_several_goes_on_and_the_others_throw_anew(tmp_path: Path) -> None:
    (tmp_path / "objects").mkdir()
    store = ObjectStore(tmp_path / "objects")
    namespace: dict[str, object] = {"__name__": "__main__"}
    first = pack_inputs("1", namespace, objects=store)
    second = pack_inputs("1", namespace, objects=store, rivals=[first.sent])
    assert (True, False) == (first.sent.has_dice, second.sent.has_dice)
    assert ambient.dice_of(first.header["ambient"])
    assert ambient.dice_of(second.header["ambient"]) == {}
    random.random()
    assert pack_inputs("1", namespace, objects=store, rivals=[first.sent, second.sent]).sent.has_dice


def test_a_state_without_dice_keeps_everything_else() -> None:
    state = ambient.collect()
    kept = ambient.without_dice(state)
    assert set(state) - set(kept) == {"random"}
    for name in ("numpy", "torch"):
        assert set(state.get(name, {})) - set(kept.get(name, {})) <= {"random"}


def test_throwing_anew_leaves_no_generator_where_it_was() -> None:
    random.seed(1)
    before = random.getstate()
    ambient.throw_anew()
    assert random.getstate() != before
