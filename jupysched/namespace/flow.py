"""Which names a cell reads before it has assigned them. Knows syntax trees; runs nothing, sees no values.

A name is *needed* when some path reaches a read of it with no assignment before, *wanted* when it may have been
assigned already, or is read only inside a function that the cell defines. Functions count from the moment when their
name is loaded: from then on they could be called.
"""

from __future__ import annotations

import ast
import dis
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)
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


def _code_stores(code: types.CodeType) -> set[str]:
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_GLOBAL"}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _code_stores(constant)
    return names


def analyse(tree: ast.Module) -> Flow:
    """Return what this cell does with names."""
    visitor = _Visitor(_all_stores(tree))
    visitor.block(tree.body)
    visitor.finish()
    return visitor.flow


def _all_stores(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, _FunctionNode | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
    return names


@dataclass(slots=True)
class _Deferred:
    reads: dict[str, None]
    stores: set[str]


class _Visitor(ast.NodeVisitor):
    def __init__(self, stores_anywhere: set[str]) -> None:
        self.flow = Flow()
        self.anywhere = stores_anywhere
        self.definite: set[str] = set()
        self.maybe: set[str] = set()
        #: names of comprehension scopes and class bodies around this node
        self.hidden: list[set[str]] = []
        self.in_class: list[set[str]] = []
        self.deferred: dict[str, _Deferred] = {}
        #: bodies of the methods of the class being visited
        self.methods: list[_Deferred] = []
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
                self.flow.shell_calls.append((function.attr, constants))
                self.flow.mentioned.add("get_ipython")
                self.starred = self.starred or constants[:1] == ("run",)
                return
        self.generic_visit(node)
        if isinstance(function, ast.Name) and function.id == "exec":
            self.starred = True

    # statements whose order differs from that of their fields

    def block(self, body: Iterable[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name) and not self.is_hidden(node.target.id):
            self.read(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.visit(node.annotation)
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)
        elif not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            self.visit(target)

    # branches

    def branches(self, *bodies: list[ast.stmt]) -> None:
        before, before_maybe = set(self.definite), set(self.maybe)
        ends: list[set[str]] = []
        maybe = set(before_maybe)
        for body in bodies:
            self.definite, self.maybe = set(before), set(before_maybe)
            self.block(body)
            maybe |= self.maybe
            if not (body and isinstance(body[-1], _LEAVES)):
                ends.append(self.definite)
        self.definite = set.intersection(*ends) if ends else before
        self.maybe = maybe

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        self.branches(node.body, node.orelse)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        self.branches([ast.Expr(node.body)], [ast.Expr(node.orelse)])

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.visit(node.values[0])
        for value in node.values[1:]:
            self.branches([ast.Expr(value)], [])

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        if isinstance(node.test, ast.Constant) and node.test.value:
            self.block(node.body)
            return
        self.branches(node.body, [])
        self.block(node.orelse)

    def visit_For(self, node: ast.For | ast.AsyncFor) -> None:
        self.visit(node.iter)
        self.branches([_as_statement(node.target), *node.body], [])
        self.block(node.orelse)

    visit_AsyncFor = visit_For  # type: ignore[assignment]

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.visit(item.optional_vars)
        self.block(node.body)

    visit_AsyncWith = visit_With  # type: ignore[assignment]

    def visit_Try(self, node: ast.Try) -> None:
        before = set(self.definite)
        self.block(node.body)
        self.block(node.orelse)
        ends = [self.definite]
        maybe = set(self.maybe)
        for clause in node.handlers:
            self.definite, self.maybe = set(before), set(maybe)
            if clause.type is not None:
                self.visit(clause.type)
            if clause.name:
                self.store(clause.name)
            self.block(clause.body)
            maybe |= self.maybe
            if not (clause.body and isinstance(clause.body[-1], _LEAVES)):
                ends.append(self.definite)
        self.definite, self.maybe = set.intersection(*ends), maybe
        self.block(node.finalbody)

    visit_TryStar = visit_Try

    def visit_Match(self, node: ast.Match) -> None:
        self.visit(node.subject)
        bodies: list[list[ast.stmt]] = []
        for case in node.cases:
            bodies.append([_Case(case), *case.body])  # type: ignore[list-item]
        self.branches(*bodies, [])

    def visit__Case(self, node: _Case) -> None:
        self.visit(node.case.pattern)
        if node.case.guard is not None:
            self.visit(node.case.guard)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.pattern is not None:
            self.visit(node.pattern)
        if node.name:
            self.store(node.name)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.store(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self.generic_visit(node)
        if node.rest:
            self.store(node.rest)

    # imports

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self.flow.imports.add(alias.name)
            self.store(alias.asname or alias.name.split(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.module and not node.level:
            self.flow.imports.add(node.module)
        for alias in node.names:
            if alias.name == "*":
                self.starred = True
            else:
                self.store(alias.asname or alias.name)

    # scopes

    def visit_comprehension_scope(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        self.visit(node.generators[0].iter)
        scope: set[str] = set()
        self.hidden.append(scope)
        inside, self.in_class = self.in_class, []
        for position, generator in enumerate(node.generators):
            if position:
                self.visit(generator.iter)
            scope |= {n.id for n in ast.walk(generator.target) if isinstance(n, ast.Name)}
            for condition in generator.ifs:
                self.visit(condition)
        if isinstance(node, ast.DictComp):
            self.visit(node.key)
            self.visit(node.value)
        else:
            self.visit(node.elt)
        self.hidden.pop()
        self.in_class = inside

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_scope

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.defaults(node.args)
        expression = ast.Lambda(args=_bare(node.args), body=node.body)
        body = self.body_of(ast.Expr(expression), node.body)
        for name in body.reads:
            if not self.is_hidden(name):
                self.read(name, inside_function=True)

    def visit_FunctionDef(self, node: _FunctionNode) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.defaults(node.args)
        for annotation in _annotations(node):
            self.visit(annotation)
        bare = type(node)(
            name=node.name, args=_bare(node.args), body=node.body, decorator_list=[], returns=None, type_comment=None
        )
        self.define(node.name, self.body_of(bare, *node.body), at_once=bool(node.decorator_list) or bool(self.in_class))

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def define(self, name: str, body: _Deferred, *, at_once: bool) -> None:
        if self.in_class:
            self.in_class[-1].add(name)
            self.methods.append(body)
            return
        self.store(name)
        if at_once:
            self.deferred[name] = body
            self.fire(name)
        else:
            self.deferred[name] = body

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for expression in (*node.decorator_list, *node.bases, *(k.value for k in node.keywords)):
            self.visit(expression)
        outer, self.methods = self.methods, []
        self.in_class.append(set())
        self.block(node.body)
        self.in_class.pop()
        reads: dict[str, None] = {}
        stores: set[str] = set()
        for method in self.methods:
            reads.update(method.reads)
            stores |= method.stores
        self.methods = outer
        reads.pop(node.name, None)
        self.define(node.name, _Deferred(reads, stores), at_once=bool(node.decorator_list))

    def defaults(self, args: ast.arguments) -> None:
        for value in (*args.defaults, *(d for d in args.kw_defaults if d is not None)):
            self.visit(value)

    def body_of(self, node: ast.stmt, *inner: ast.AST) -> _Deferred:
        for part in inner:
            for child in ast.walk(part):
                if isinstance(child, ast.Constant) and isinstance(child.value, str):
                    self.flow.strings.append(child.value)
                elif isinstance(child, ast.Attribute):
                    self.flow.mentioned.add(child.attr)
                elif isinstance(child, ast.Import):
                    self.flow.imports.update(alias.name for alias in child.names)
                elif isinstance(child, ast.ImportFrom) and child.module and not child.level:
                    self.flow.imports.add(child.module)
        module = ast.fix_missing_locations(ast.Module(body=[node], type_ignores=[]))
        code = compile(module, "<cell>", "exec", dont_inherit=True)
        return _Deferred(code_globals(code, nested_only=True), _code_stores(code))

    def finish(self) -> None:
        if self.flow.dynamic or self.flow.shell_calls:
            for name in list(self.deferred):
                self.fire(name)


class _Case(ast.AST):
    """A pattern as if it were a statement, so that branches() can visit it."""

    def __init__(self, case: ast.match_case) -> None:
        super().__init__()
        self.case = case


def _as_statement(target: ast.expr) -> ast.stmt:
    return ast.Expr(target)


def _bare(args: ast.arguments) -> ast.arguments:
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


def _annotations(node: _FunctionNode) -> Iterator[ast.expr]:
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *(a for a in (args.vararg, args.kwarg) if a)]
    yield from (a.annotation for a in every if a.annotation is not None)
    if node.returns is not None:
        yield node.returns
