"""The project can be given away, and built anywhere: a licence, no machine's paths, no registry's host."""

import re
import tomllib
from pathlib import Path

from tests.house.source import ROOT, in_git, name

#: Where packages come from is the business of the machine that builds. Written in pieces, or this file would find itself.
HOSTS = re.compile(
    "|".join(
        re.escape(".".join(parts))
        for parts in [
            ("registry", "npmjs"), ("registry", "yarnpkg"), ("npmmirror", "com"), ("files", "pythonhosted"), ("test", "pypi"),
            ("deb", "debian", "org"), ("download", "pytorch", "org"), ("conda", "anaconda"), ("cdn", "bokeh"), ("cdn", "jsdelivr"),
            ("unpkg", "com"),
        ]
    )
    + "|" + re.escape("pypi.org" + "/simple")
)  # fmt: skip
PATHS = re.compile(r"(?<![\w.])/(work|home/\w+|Users/\w+)/(main|shared)\b")


def text_files() -> list[Path]:
    """Return the files in git that are text and not data that somebody else wrote."""
    texts = []
    for path in in_git():
        try:
            path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        texts.append(path)
    return texts


def test_the_licence_is_bsd_three_clause_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "BSD-3-Clause"
    assert '"license": "BSD-3-Clause"' in (ROOT / "labextension" / "package.json").read_text()
    assert (ROOT / "LICENSE").read_text().startswith("BSD 3-Clause License")


def test_no_file_names_a_registry() -> None:
    found = [
        f"{name(path)}: {hit.group()}"
        for path in text_files()
        for hit in HOSTS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_no_file_names_a_path_of_one_machine() -> None:
    found = [
        f"{name(path)}: {hit.group()}"
        for path in text_files()
        for hit in PATHS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_lock_file_names_no_host() -> None:
    assert '"resolved"' not in (ROOT / "labextension" / "package-lock.json").read_text()


def test_both_halves_have_one_version() -> None:
    import json

    import jupysched

    package = json.loads((ROOT / "labextension" / "package.json").read_text())
    assert jupysched.__version__.startswith(package["version"])


def test_the_changelog_is_kept() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changelog
    empty = re.findall(r"^## \[[^]]+\][^\n]*\n+(?=## |\Z)", changelog, flags=re.MULTILINE)
    assert empty == [], "no empty releases"
