"""Whatever a cell does to a net of values, the notebook's own net ends up the same, alias for alias."""

import random
import types
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from jupysched.namespace.diff import pack_changes
from jupysched.namespace.land import land, load_values
from jupysched.namespace.objects import ObjectStore
from jupysched.namespace.pack import pack_inputs
from jupysched.namespace.unpack import load_inputs

Plain = types.SimpleNamespace


def a_net(dice: random.Random, size: int) -> list[Any]:
    """Return values that hold one another, in circles too."""
    made: list[Any] = []
    for _ in range(size):
        kind = dice.choice(["list", "dict", "set", "plain", "array", "bytes", "tuple"])
        known = made[:] or [0]
        part = dice.choice([*known, dice.randrange(9), str(dice.randrange(9))])
        made.append(
            {
                "list": lambda part=part: [part, dice.randrange(9)],
                "dict": lambda part=part: {dice.randrange(9): part, "k": dice.randrange(9)},
                "set": lambda: {dice.randrange(9), "s"},
                "plain": lambda part=part: Plain(a=part),
                "array": lambda: bytearray(dice.randbytes(dice.choice([3, 70_000]))),
                "bytes": lambda: dice.randbytes(dice.choice([3, 70_000])),
                "tuple": lambda part=part: (part, dice.randrange(9)),
            }[kind]()
        )
    for value in made:
        if isinstance(value, list) and dice.random() < 0.3:
            value.append(dice.choice(made))
    return made


def change(net: list[Any], dice: random.Random, steps: int) -> None:
    """Do things to these values that a cell might do."""
    for _ in range(steps):
        value, part = dice.choice(net), dice.choice([*net, 77, "new", [dice.randrange(9)]])
        what = dice.randrange(3)
        if isinstance(value, list | dict) and what == 0:
            value.clear()
        elif isinstance(value, list):
            value.insert(0 if what == 1 else len(value), part)
        elif isinstance(value, dict):
            value["k" if what == 1 else "z"] = part
        elif isinstance(value, set):
            value.add(dice.randrange(99))
        elif isinstance(value, Plain):
            setattr(value, dice.choice(["a", "b"]), part)
        elif isinstance(value, bytearray):
            value[0] ^= 1


def drawn(value: Any, seen: dict[int, int] | None = None) -> Any:
    """Return a picture of a net in which aliases show."""
    seen = {} if seen is None else seen
    if type(value) in (int, str, bytes):
        return value
    if id(value) in seen:
        return ("again", seen[id(value)])
    seen[id(value)] = len(seen)
    if isinstance(value, dict):
        return ("dict", [(k, drawn(v, seen)) for k, v in value.items()])
    if isinstance(value, list | tuple):
        return (type(value).__name__, [drawn(v, seen) for v in value])
    if isinstance(value, set):
        return ("set", sorted(map(repr, value)))
    if isinstance(value, bytearray):
        return ("bytearray", bytes(value))
    return ("plain", [(k, drawn(v, seen)) for k, v in vars(value).items()])


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(0, 8))
def test_the_notebooks_net_becomes_the_jobs_net(seed: int, size: int, steps: int) -> None:
    dice = random.Random(seed)
    net = a_net(dice, size)
    notebook: dict[str, Any] = {"net": net, "alias": net[0], "rest": Plain(first=net[-1])}
    with TemporaryDirectory() as folder:
        objects = ObjectStore(Path(folder) / "objects")
        packed = pack_inputs("net, alias, rest", notebook, objects=objects)
        packed.write(Path(folder) / "input.pickle")
        job: dict[str, Any] = {}
        baseline = load_inputs(Path(folder) / "input.pickle", job, objects)
        before = drawn(notebook)
        assert before == drawn({name: job[name] for name in notebook})
        change(job["net"], dice, steps)
        job["brand"] = [job["net"][0], job["net"]]
        returned = pack_changes(Path(folder) / "result.pickle", job, baseline, objects)
        landing = land(Path(folder) / "result.pickle", notebook, packed.sent, objects)
        names = ("net", "alias", "rest", "brand")
        assert drawn([job[name] for name in names]) == drawn([notebook[name] for name in names])
        assert (notebook["net"] is net, [], []) == (True, landing.conflicts, landing.failures + returned.notes)
        elsewhere: dict[str, Any] = {}
        values = load_values(
            Path(folder) / "result.pickle", objects, elsewhere, input_path=Path(folder) / "input.pickle"
        )
        assert drawn(job["brand"]) == drawn(values["brand"])
        assert set(returned.names) == set(values)
