"""The words of the glossary are the words of the code: a banned word in a name fails, and says what to write instead."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.source import PACKAGE, modules, name, tree

#: word -> what to write. Compared with each part of a snake_case or CamelCase name.
BANNED = {
    "abort": "stop, or preempt",
    "accelerator": "gpu",
    "complete": "ended, or the state",
    "completed": "ended, or the state",
    "device": "gpu",
    "done": "ended, or the state",
    "engine": "what it is",
    "evict": "stop, or preempt",
    "finish": "end",
    "finished": "ended, or the state",
    "handler": "what it does",
    "helper": "what it does",
    "helpers": "what they do",
    "kill": "stop, or preempt",
    "killed": "stopped, or preempted",
    "manager": "what it keeps",
    "master": "leader",
    "process_": "a verb that says what is done",
    "reclaim": "stop, or preempt",
    "scheduler": "daemon, decide, or Dask's scheduler",
    "service": "what it is",
    "slave": "rank",
    "status": "state",
    "task": "job (a task is Dask's)",
    "tasks": "jobs (a task is Dask's)",
    "terminate": "stop, or preempt",
    "util": "what it knows",
    "utils": "what it knows",
    "worker": "agent (a worker is Dask's)",
    "workers": "agents (a worker is Dask's)",
}

#: Names that others gave, and we must or may repeat: the name, or module:name, or module: for a whole file.
ALLOWED_NAMES = {
    # asyncio, concurrent.futures
    "add_done_callback", "asyncio.Task", "create_task", "done", "is_done", "task_done",
    # signals and processes, as the system spells them
    "kill", "killpg", "SIGKILL", "killed_by_signal", "terminate",
    # Jupyter's messages and traits, Tornado's handlers, the Hub's services
    "status", "status_code", "set_status", "handler", "handlers", "web_handlers",
    # NVML
    "device", "devices",
    # IPython's display hook, which we stand in for
    "finish_displayhook",
    # CUDA_VISIBLE_DEVICES
    "CUDA_VISIBLE_DEVICES",
}  # fmt: skip
#: Files that speak Dask, whose words they are.
SPEAKS_DASK = re.compile(r"adapters/(dask|local_cuda|cuda)_?\w*\.py$")
DASKS_WORDS = {"worker", "workers", "task", "tasks", "scheduler", "status"}
#: Files of which every name of a class that a framework calls ends in the framework's word.
SPEAKS_TORNADO = re.compile(r"(server|hub|panels)/")
TORNADOS_WORDS = {"handler", "handlers", "status", "service"}
SPEAKS_NVML = re.compile(r"adapters/nvml\w*\.py$")
NVMLS_WORDS = {"device", "devices"}


def words(identifier: str) -> list[str]:
    """Return the parts of a name, in lower case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", identifier)
    return [part.lower() for part in spaced.split("_") if part]


def given(module: ast.Module) -> Iterator[tuple[str, int]]:
    """Yield the names that a module gives to something, with the line: what it merely uses was named by others."""
    asyncios = {id(part) for node in ast.walk(module) if _makes_an_asyncio_task(node) for part in ast.walk(node)}
    for node in ast.walk(module):
        if id(node) in asyncios and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr, node.lineno
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname, 0


def _makes_an_asyncio_task(node: ast.AST) -> bool:
    """Whether the statement gives a name to a task of asyncio, which has the right to be called one."""
    if isinstance(node, ast.Assign):
        return "create_task" in ast.unparse(node.value)
    return isinstance(node, ast.AnnAssign) and "asyncio.Task" in ast.unparse(node.annotation)


def allowed_words(path: str) -> set[str]:
    """Return the banned words that belong to the framework this file speaks to."""
    allowed: set[str] = set()
    for speaks, theirs in ((SPEAKS_DASK, DASKS_WORDS), (SPEAKS_TORNADO, TORNADOS_WORDS), (SPEAKS_NVML, NVMLS_WORDS)):
        if speaks.search(path):
            allowed |= theirs
    return allowed


@pytest.mark.parametrize("path", modules(), ids=name)
def test_names_use_the_words_of_the_glossary(path: Path) -> None:
    allowed = allowed_words(str(path.relative_to(PACKAGE)))
    found = sorted(
        {
            f"{name(path)}:{line} {identifier}: not '{word}' but {BANNED[word]}"
            for identifier, line in given(tree(path))
            if identifier not in ALLOWED_NAMES
            for word in words(identifier)
            if word in BANNED and word not in allowed
        }
    )
    assert found == []


@pytest.mark.parametrize("path", modules(), ids=name)
def test_files_are_named_by_what_they_know(path: Path) -> None:
    allowed = allowed_words(str(path.relative_to(PACKAGE)))
    assert [part for part in words(path.stem) if part in BANNED and part not in allowed] == []


def test_a_banned_word_is_found_in_either_spelling() -> None:
    assert words("finishTheHTTPTask") == ["finish", "the", "http", "task"]
    assert words("_kill_all") == ["kill", "all"]
    assert [found for found, _ in given(ast.parse("def finish(task): self.status = task.done()"))] == [
        "finish",
        "task",
        "status",
    ]
