"""What a user is entitled to follows from the tree of shares, among those who want GPUs."""

from hypothesis import given
from hypothesis import strategies as st

from jupysched.core.events import ShareSet
from jupysched.core.fold import fold
from jupysched.core.state import State
from jupysched.daemon.entitlement import parts


def a_state(**shares: tuple[float, str]) -> State:
    """Shares as user_ann=(2, 'group:vision')."""
    state = State()
    for name, (share, parent) in shares.items():
        fold(state, ShareSet(at=0.0, by="admin", scope=name.replace("_", ":"), share=share, parent=parent))
    return state


def test_without_shares_all_are_alike() -> None:
    assert parts(State(), ["ann", "bob", "eve", "zoe"]) == dict.fromkeys(["ann", "bob", "eve", "zoe"], 0.25)


def test_a_user_with_three_shares_beside_one_gets_three_quarters() -> None:
    assert parts(a_state(user_ann=(3, "")), ["ann", "bob"]) == {"ann": 0.75, "bob": 0.25}


def test_a_group_is_shared_by_its_users_and_by_nobody_else() -> None:
    state = a_state(group_vision=(3, ""), user_ann=(2, "group:vision"), user_bob=(1, "group:vision"))
    assert parts(state, ["ann", "bob", "eve"]) == {"ann": 0.5, "bob": 0.25, "eve": 0.25}
    assert parts(state, ["bob", "eve"]) == {"bob": 0.75, "eve": 0.25}


@given(
    st.dictionaries(
        st.sampled_from("abcdef"), st.tuples(st.floats(0.1, 9), st.sampled_from(["", "group:g", "group:h"]))
    )
)
def test_the_parts_of_all_add_up(shares: dict[str, tuple[float, str]]) -> None:
    state = a_state(group_g=(2, ""), **{f"user_{name}": share for name, share in shares.items()})
    users = [*shares, "somebody"]
    assert abs(sum(parts(state, users).values()) - 1) < 1e-9
