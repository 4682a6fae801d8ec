"""Which names a cell reads before it has assigned them. Knows control flow; runs nothing, sees no values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from jupysched.namespace.names import (
    Deferred,
    Flow,
    FunctionNode,
    NameVisitor,
    all_stores,
    annotations_of,
    code_globals,
    code_stores,
    without_defaults,
)
from jupysched.namespace.shell_syntax import WORD, shell_use

_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def analyse(tree: ast.Module, transform: Callable[[str], str] | None = None) -> Flow:
    """Return what this cell does with names; `transform` turns IPython's syntax in magics into Python."""
    visitor = _Visitor(all_stores(tree))
    visitor.transform = transform
    visitor.block(tree.body)
    visitor.end_cell()
    return visitor.flow


class _Visitor(NameVisitor):
    transform: Callable[[str], str] | None = None

    def shell_call(self, method: str, constants: tuple[str, ...]) -> None:
        super().shell_call(method, constants)
        use = shell_use([(method, constants)])
        self.flow.wanted.update(dict.fromkeys(sorted(use.words - self.definite)))
        for text in use.code:
            try:
                tree = ast.parse(self.transform(text) if self.transform else text)
            except SyntaxError:
                self.flow.wanted.update(dict.fromkeys(WORD.findall(text)))
                continue
            self.anywhere |= all_stores(tree)
            if constants[0] in {"time", "capture"}:
                self.block(tree.body)
            else:  # what %timeit assigns is gone after it
                self.branches(tree.body, [])

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

    visit_AsyncFor = visit_For

    def visit_With(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            self.visit(item.context_expr)
            if item.optional_vars is not None:
                self.visit(item.optional_vars)
        self.block(node.body)

    visit_AsyncWith = visit_With

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
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
        expression = ast.Lambda(args=without_defaults(node.args), body=node.body)
        body = self.body_of(ast.Expr(expression), node.body)
        for name in body.reads:
            if not self.is_hidden(name):
                self.read(name, inside_function=True)

    def visit_FunctionDef(self, node: FunctionNode) -> None:
        for decorator in node.decorator_list:
            self.visit(decorator)
        self.defaults(node.args)
        for annotation in annotations_of(node):
            self.visit(annotation)
        plain = type(node)(
            name=node.name,
            args=without_defaults(node.args),
            body=node.body,
            decorator_list=[],
            returns=None,
            type_comment=None,
        )
        self.define(
            node.name, self.body_of(plain, *node.body), at_once=bool(node.decorator_list) or bool(self.in_class)
        )

    visit_AsyncFunctionDef = visit_FunctionDef

    def define(self, name: str, body: Deferred, *, at_once: bool) -> None:
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
        self.define(node.name, Deferred(reads, stores), at_once=bool(node.decorator_list))

    def defaults(self, args: ast.arguments) -> None:
        for value in (*args.defaults, *(d for d in args.kw_defaults if d is not None)):
            self.visit(value)

    def body_of(self, node: ast.stmt, *inner: ast.AST) -> Deferred:
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
        return Deferred(code_globals(code, nested_only=True), code_stores(code))

    def end_cell(self) -> None:
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
