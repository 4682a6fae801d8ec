"""A cell's reads are what it really reads: no more than is needed, never less."""

import builtins
import contextlib
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from jupysched.namespace.capture import reads


class Everything(dict[str, object]):
    """A notebook in which every name is a variable."""

    def __contains__(self, name: object) -> bool:
        return not hasattr(builtins, str(name))

    def __getitem__(self, name: str) -> object:
        return 0


def needed(cell: str, user_ns: Mapping[str, object] | None = None) -> set[str]:
    found = reads(cell, Everything() if user_ns is None else user_ns, transform=TransformerManager().transform_cell)
    return set(found.needed)


def wanted(cell: str) -> set[str]:
    return set(reads(cell, Everything(), transform=TransformerManager().transform_cell).wanted)


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("x = a\nx", "a"),
        ("a += 1", "a"),
        ("a[0] = b", "a b"),
        ("a.b = c", "a c"),
        ("with open('f') as f:\n    f.read()", ""),
        ("[i for i in a if i > b]", "a b"),
        ("[j for i in a for j in i]", "a"),
        ("any((last := v) for v in a)\nlast", "a"),
        ("for i in a:\n    b = i", "a"),
        ("def g(f):\n    return f + 1\ng(1)", ""),
        ("def g():\n    return x\nx = 1\ng()", ""),
        ("def g():\n    return x\ng()", "x"),
        ("def g():\n    return lock", ""),
        ("def g(a=b, *, c=d) -> e:\n    pass", "b d e"),
        ("@deco\ndef g():\n    return y", "deco y"),
        ("class C(Base, metaclass=M):\n    k = N\n    j = k\n    def f(self):\n        return z\nC()", "Base M N z"),
        ("try:\n    import q\nexcept ImportError:\n    q = None\nq", ""),
        ("lambda x: x + y", "y"),
        ("match a:\n    case {'k': v, **rest}:\n        v, rest\n    case C(x):\n        x", "a C"),
        ("try:\n    x = a\nexcept E as e:\n    raise e\nx", "a E"),
        ("import a.b.c\na.b", ""),
        ("count: int = 0\nlater: Opt[int]", "Opt"),
        ("f'{a} {b!r:>{w}}'", "a b w"),
        ("async with a as b:\n    async for c in b:\n        await d(c)", "a d"),
        ("%timeit -n 1 -r 1 slow(name)", "slow name"),
        ("%time y = x + 1\ny", "x"),
        ("def f():\n    def g():\n        return deep\n    return g\nf()", "deep"),
        ("x = x", "x"),
        ("if a:\n    x = 1\nelse:\n    raise E\nx", "a E"),
        ("while True:\n    x = 1\n    break\nx", ""),
        ("del a\n", ""),
        ("print(pi_π, _private)", "pi_π _private"),
    ],
)
def test_a_cell_needs_what_it_reads_before_assigning_it(cell: str, names: str) -> None:
    assert set(names.split()) == needed(cell)


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("if a:\n    x = 1\nx", "x"),
        ("!echo {folder} $name", "folder name"),
        ("eval('p + q')", "p q"),
        ("df.query('x > @limit')", "limit"),
        ("def g():\n    return x\ncall(g)\nx = 1", "x"),
        ("out = !ls {folder}", "folder"),
        ("%%bash\necho $name", "name"),
    ],
)
def test_what_may_be_read_travels_when_it_can(cell: str, names: str) -> None:
    assert set(names.split()) <= wanted(cell)


def test_a_name_that_is_only_deleted_need_not_travel() -> None:
    found = reads("del a", {"a": 1})
    assert (frozenset({"a"}), frozenset()) == (found.dropped, found.names)


def test_a_syntax_error_has_the_line_of_the_cell() -> None:
    with pytest.raises(SyntaxError) as caught:
        reads("x = 1\nif x\n    pass", {})
    assert caught.value.lineno == 2
    with pytest.raises(SyntaxError):
        reads("return 1", {})


def test_names_of_the_shell_are_not_variables_unless_redefined() -> None:
    from IPython.core.autocall import ExitAutocall

    shell = {"In": [""], "Out": {}, "_i1": "x", "exit": ExitAutocall(), "open": open}
    assert frozenset() == reads("In, Out, _i1, exit, open('f')", shell).names
    assert {"exit", "list", "id"} == set(reads("exit, list, id", {"exit": 3, "list": [1], "id": 7}).needed)


NAMES = st.sampled_from("abcdef")
EXPRESSIONS = st.recursive(
    NAMES,
    lambda e: st.one_of(
        st.tuples(e, e).map("({0[0]} + {0[1]})".format),
        st.tuples(NAMES, e, e).map("sum([{0[1]} for {0[0]} in [{0[2]}]])".format),
        st.tuples(NAMES, e).map("({0[0]} := {0[1]})".format),
        st.tuples(NAMES, e).map("(lambda {0[0]}: {0[1]})(1)".format),
    ),
    max_leaves=4,
)


def indent(body: str) -> str:
    return "\n".join("    " + line for line in body.splitlines())


STATEMENTS = st.recursive(
    st.one_of(
        st.tuples(NAMES, EXPRESSIONS).map("{0[0]} = {0[1]}".format),
        st.tuples(NAMES, EXPRESSIONS).map("{0[0]} += {0[1]}".format),
        EXPRESSIONS,
        NAMES.map("del {0}".format),
    ),
    lambda s: st.one_of(
        st.tuples(s, s).map("{0[0]}\n{0[1]}".format),
        st.tuples(EXPRESSIONS, s, s).map(lambda t: f"if {t[0]}:\n{indent(t[1])}\nelse:\n{indent(t[2])}"),
        st.tuples(NAMES, s).map(lambda t: f"for {t[0]} in [1, 2]:\n{indent(t[1])}"),
        st.tuples(s, s).map(lambda t: f"try:\n{indent(t[0])}\nexcept NameError:\n{indent(t[1])}"),
        st.tuples(NAMES, NAMES, EXPRESSIONS).map(
            lambda t: f"def {t[0]}({t[1]}):\n    return {t[2]}\ntry:\n    {t[0]}(1)\nexcept TypeError:\n    pass"
        ),
        st.tuples(NAMES, s).map(lambda t: f"class {t[0]}:\n{indent(t[1])}"),
    ),
    max_leaves=5,
)


class Watched(dict[str, object]):
    """A namespace that notes what is read while it still has the notebook's value."""

    def __init__(self) -> None:
        super().__init__()
        self.read: set[str] = set()
        self.own: set[str] = set()

    def __getitem__(self, name: str) -> object:
        if not self.own.issuperset({name}) and name in "abcdef":
            self.read.add(name)
            return 1
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: object) -> None:
        self.own.add(name)
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self.own.add(name)
        super().pop(name, None)


@given(STATEMENTS)
def test_what_a_running_cell_reads_was_captured(cell: str) -> None:
    try:
        found = reads(cell, Everything())
    except SyntaxError:
        return  # a walrus that rebinds a comprehension's variable
    watched = Watched()
    with contextlib.suppress(NameError, TypeError):
        exec(compile(cell, "<cell>", "exec"), {}, watched)
    assert watched.read - found.names - found.dropped == set()
