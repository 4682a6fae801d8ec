"""What the documents of the core say is so."""

import re
from pathlib import Path

from jupysched.core.diagram import mermaid
from jupysched.core.policies import POLICIES, make_policy, register
from tests.core.builders import a_state, applied, asked, ev, granted, joined

HOME = Path(__file__).parent.parent.parent


def test_the_diagram_is_printed_from_the_table():
    text = (HOME / "jupysched/core/README.md").read_text()
    assert mermaid() in text, "paste what jupysched.core.diagram.mermaid() returns into jupysched/core/README.md"


def test_every_file_of_the_core_is_named():
    text = (HOME / "jupysched/core/README.md").read_text()
    names = {p.stem for p in (HOME / "jupysched/core").glob("*.py")} - {"__init__", "errors", "times", "diagram"}
    assert [n for n in sorted(names) if not re.search(rf"\b{n}\b", text)] == []


def test_every_policy_is_described():
    text = (HOME / "docs/policies.md").read_text()
    assert [name for name in POLICIES if f"| `{name}`" not in text] == []


def test_the_policy_of_the_how_to_works():
    text = (HOME / "docs/policies.md").read_text()
    code = re.search(r"```python\n(.*?)```", text, re.S)[1]
    assert len(code.splitlines()) <= 40
    scope: dict[str, object] = {}
    exec(code, scope)
    before = dict(POLICIES)
    try:
        register("short-names", scope["ShortNames"])
        assert make_policy("short-names", {}).summary
        state = a_state(
            ev.PolicySet(at=0, by="root", name="short-names"),
            joined(gpus=1),
            asked(1, user="barbara"),
            asked(2, at=1, user="al"),
        )
        assert granted(applied(state, 2)) == [2]
    finally:
        POLICIES.clear()
        POLICIES.update(before)
