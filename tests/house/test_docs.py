"""The documents stay true: links lead somewhere, generated blocks are current, and nothing that users may write goes unsaid."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager

from tests.house.source import ROOT, in_git, modules, name

README = ROOT / "README.md"
DOCUMENTS = [path for path in in_git() if path.suffix == ".md"]
GENERATED = [path for path in DOCUMENTS if "[[[cog" in path.read_text(encoding="utf-8")]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))

LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Set by us for a job to read, not by users for us.
OUR_OWN = {"JUPYSCHED_ATTEMPT", "JUPYSCHED_JOB", "JUPYSCHED_SPOOL"}


@pytest.mark.parametrize("document", DOCUMENTS, ids=name)
def test_every_link_inside_the_project_leads_somewhere(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (document.parent / link).exists()] == []


@pytest.mark.parametrize("document", GENERATED, ids=name)
def test_generated_blocks_are_current(document: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "cogapp", "--check", document], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"run `make docs`\n{ran.stdout}{ran.stderr}"


def test_every_magic_option_is_said() -> None:
    from jupysched.magic.options import OPTIONS

    assert unsaid(option.word for option in OPTIONS) == []


def test_every_state_and_reason_is_said() -> None:
    from jupysched.core.states import JobState, Reason

    assert unsaid(f"`{word.value}`" for word in [*JobState, *Reason]) == []


def test_every_setting_and_variable_is_said() -> None:
    import msgspec

    from jupysched.daemon.settings import Settings

    found = {
        word for path in modules() for word in re.findall(r"JUPYSCHED_[A-Z_]*[A-Z]", path.read_text(encoding="utf-8"))
    }
    settings = {f"`{field.name}`" for field in msgspec.structs.fields(Settings)}
    assert unsaid(sorted(found - OUR_OWN | settings)) == []


def test_every_verb_of_the_command_line_is_said() -> None:
    import argparse

    from jupysched.cli import make_parser

    verbs = [
        verb
        for action in make_parser()._actions
        if isinstance(action, argparse._SubParsersAction)
        for verb in action.choices
    ]
    assert verbs != []
    assert unsaid(verbs) == []


def test_every_make_target_that_is_said_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    said = {target for path in DOCUMENTS for target in re.findall(r"`?\$? ?make ([a-z-]+)", code_in(path))}
    assert said - targets == set()


@pytest.mark.parametrize(
    "block", BLOCK.findall(README.read_text(encoding="utf-8")), ids=lambda block: block.splitlines()[0]
)
def test_every_python_block_of_the_readme_is_python(block: str) -> None:
    from jupysched.magic.args import read_line

    first, _, rest = block.partition("\n")
    if first.startswith("%%gpujob"):
        read_line(first.removeprefix("%%gpujob"))
        block = rest
    compile(TransformerManager().transform_cell(block), "README.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("page", DECISIONS, ids=name)
def test_a_decision_says_why_and_what_would_change_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    number = int(page.name.partition("-")[0])
    assert text.startswith(f"# {number}. ")
    for heading in ("Context", "Decision", "Alternatives refused", "What would change our mind"):
        assert f"**{heading}.**" in text or f"## {heading}" in text, heading


def test_decisions_are_numbered_without_gaps() -> None:
    assert [int(page.name.partition("-")[0]) for page in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def unsaid(words: Iterable[str]) -> list[str]:
    """Return those of the words that the README does not contain."""
    text = README.read_text(encoding="utf-8")
    return [word for word in words if word not in text]


def code_in(document: Path) -> str:
    """Return what stands in code, inline or in blocks."""
    text = document.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", text, flags=re.DOTALL))
