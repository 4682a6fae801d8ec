"""What is known of a cell's names at one of its lines. Knows syntax trees; knows no control flow.

A name is *needed* when some path reaches a read of it with no assignment before, *wanted* when it may have been
assigned already, or is read only inside a function that the cell defines. Functions count from the moment when their
name is loaded: from then on they could be called.
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Iterator
from dataclasses import dataclass, field

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
#: calls that may reach any name of the namespace through a string
DYNAMIC = frozenset({"eval", "exec", "globals", "locals", "vars", "dir", "get_ipython", "compile", "__import__"})


@dataclass(slots=True)
class Flow:
    """What a cell does with names, in the order of its lines."""

    #: read on some path before any assignment
    needed: dict[str, None] = field(default_factory=dict)
    #: possibly read before an assignment
    wanted: dict[str, None] = field(default_factory=dict)
    #: deleted without having been read or assigned
    dropped: set[str] = field(default_factory=set)
    #: assigned somewhere
    stored: set[str] = field(default_factory=set)
    #: full names of modules that the cell imports
    imports: set[str] = field(default_factory=set)
    #: every name and attribute that is mentioned
    mentioned: set[str] = field(default_factory=set)
    #: text of string constants, for names that are used through strings
    strings: list[str] = field(default_factory=list)
    #: calls of get_ipython().METHOD(constants), in order
    shell_calls: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    #: the cell may reach names through strings
    dynamic: bool = False


def code_globals(code: types.CodeType, *, nested_only: bool = False) -> dict[str, None]:
    """Return the global names that this code and the code inside it read, in order."""
    names: dict[str, None] = {}
    if not nested_only:
        for instruction in dis.get_instructions(code):
            if instruction.opname in {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS", "DELETE_GLOBAL"}:
                names[instruction.argval] = None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(code_globals(constant))
    return names


def code_mentions(code: types.CodeType) -> set[str]:
    """Return every name and attribute that this code mentions."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= code_mentions(constant)
    return names


def code_stores(code: types.CodeType) -> set[str]:
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= code_stores(constant)
    return names


@dataclass(slots=True)
class Deferred:
    reads: dict[str, None]
    stores: set[str]


class NameVisitor(ast.NodeVisitor):
    def __init__(self, stores_anywhere: set[str]) -> None:
        self.flow = Flow()
        self.anywhere = stores_anywhere
        self.definite: set[str] = set()
        self.maybe: set[str] = set()
        #: names of comprehension scopes and class bodies around this node
        self.hidden: list[set[str]] = []
        self.in_class: list[set[str]] = []
        self.deferred: dict[str, Deferred] = {}
        #: bodies of the methods of the class being visited
        self.methods: list[Deferred] = []
        #: an import * may have bound anything
        self.starred = False

    # names

    def read(self, name: str, *, inside_function: bool = False) -> None:
        self.flow.mentioned.add(name)
        if name in DYNAMIC:
            self.flow.dynamic = True
        self.fire(name)
        if name in self.definite:
            return
        may_be_bound = name in self.maybe or self.starred
        if may_be_bound or (inside_function and name in self.anywhere):
            self.flow.wanted.setdefault(name)
        else:
            self.flow.needed.setdefault(name)

    def fire(self, name: str) -> None:
        body = self.deferred.pop(name, None)
        if body is None:
            return
        for read in body.reads:
            self.read(read, inside_function=True)
        self.maybe |= body.stores

    def store(self, name: str) -> None:
        if self.in_class:
            self.in_class[-1].add(name)
            return
        self.flow.stored.add(name)
        self.definite.add(name)
        self.maybe.add(name)
        self.deferred.pop(name, None)

    def is_hidden(self, name: str) -> bool:
        return any(name in scope for scope in self.hidden) or (bool(self.in_class) and name in self.in_class[-1])

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            if not self.is_hidden(node.id):
                self.read(node.id)
        elif isinstance(node.ctx, ast.Store):
            self.store(node.id)
        else:
            self.drop(node.id)

    def drop(self, name: str) -> None:
        if self.in_class:
            self.in_class[-1].discard(name)
            return
        if name not in self.maybe and name not in self.flow.needed:
            self.flow.dropped.add(name)
        self.definite.add(name)  # a later read fails here as it would in the notebook
        self.maybe.add(name)
        self.deferred.pop(name, None)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.flow.mentioned.add(node.attr)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str):
            self.flow.strings.append(node.value)

    def shell_call(self, method: str, constants: tuple[str, ...]) -> None:
        """Note a magic or shell line."""
        self.flow.shell_calls.append((method, constants))
        self.starred = self.starred or constants[:1] == ("run",)

    def visit_Call(self, node: ast.Call) -> None:
        function = node.func
        if (
            isinstance(function, ast.Attribute)
            and isinstance(function.value, ast.Call)
            and isinstance(function.value.func, ast.Name)
            and function.value.func.id == "get_ipython"
        ):
            constants = tuple(a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
            if len(constants) == len(node.args):
                self.flow.mentioned.add("get_ipython")
                self.shell_call(function.attr, constants)
                return
        self.generic_visit(node)
        if isinstance(function, ast.Name) and function.id == "exec":
            self.starred = True


def all_stores(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, FunctionNode | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return names


def without_defaults(args: ast.arguments) -> ast.arguments:
    """The same parameters without defaults and annotations, which belong to the scope around."""

    def plain(arg: ast.arg) -> ast.arg:
        return ast.arg(arg=arg.arg)

    return ast.arguments(
        posonlyargs=[plain(a) for a in args.posonlyargs],
        args=[plain(a) for a in args.args],
        vararg=plain(args.vararg) if args.vararg else None,
        kwonlyargs=[plain(a) for a in args.kwonlyargs],
        kw_defaults=[None for _ in args.kwonlyargs],
        kwarg=plain(args.kwarg) if args.kwarg else None,
        defaults=[],
    )


def annotations_of(node: FunctionNode) -> Iterator[ast.expr]:
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in (args.vararg, args.kwarg) if a)]
    yield from (a.annotation for a in every if a.annotation is not None)
    if node.returns is not None:
        yield node.returns
