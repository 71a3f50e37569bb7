"""The shape of a definition: its syntax without docstrings, comments, layout, annotations, error texts and names.

Local names are numbered as they appear. A name of ours is replaced by the place at which it first appears in the
definition, and stands in the shape's links; a keyword is replaced by the place of the parameter that it names. Names of
other packages, and texts that are no error's, stay as they are: they are what the code does.
"""

# ruff: noqa: N802, N815 - methods are named as ast names what they write

import ast
import builtins
import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.contracts.reach import House

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
NAMES_AN_ATTRIBUTE = ("getattr", "setattr", "hasattr", "field_validator", "attrgetter")


def digest(*parts: object) -> str:
    """Sixteen hexadecimal digits that stand for the parts."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Shape:
    """A definition without its names: a digest, and what its numbered names refer to, in order."""

    code: str
    links: tuple[tuple[str, str], ...]
    """Of kind "definition" or "module" with a dotted name, "attribute" with a name, "keyword" with METHOD NAME."""
    annotations: frozenset[str]
    """Dotted names of definitions that stand in annotations alone: they are reached, and are no code."""


class Writer:
    """Writes a definition down as tokens without names."""

    def __init__(self, house: "House", name: str) -> None:
        self.house, self.name = house, name
        self.module = house.modules[house.home(name)]
        self.tokens: list[str] = []
        self.links: dict[tuple[str, str], int] = {}
        self.annotations: set[str] = set()
        self.scopes: list[dict[str, str]] = []
        self.n_locals = 0
        parent = name.rpartition(".")[0]
        self.own_class = parent if parent not in house.modules else (name if house.is_class(name) else None)

    def shape(self) -> Shape:
        for node in self.house.statements(self.name):
            if isinstance(node, ast.ClassDef):
                self._class(node)
            elif isinstance(node, FUNCTIONS):
                self._function(node)
            else:
                self._write(node)
                place = place_of(self.name.rpartition(".")[2], node)
                self.tokens += [] if place is None else [f"target {place}"]
        return Shape(digest(*self.tokens), tuple(self.links), frozenset(self.annotations))

    def taken(self) -> set[str]:
        """Classes of ours that a function's parameters are annotated with."""
        for node in self.house.statements(self.name):
            for argument in _arguments(node) if isinstance(node, FUNCTIONS) else ():
                self._annotation(argument.annotation)
        return self.annotations

    # ---- names

    def _link(self, kind: str, target: str) -> None:
        self.tokens.append(f"#{self.links.setdefault((kind, target), len(self.links))}")

    def _local(self, name: str) -> str | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    def _enter(self, names: Iterable[str]) -> None:
        scope: dict[str, str] = {}
        self.scopes.append(scope)
        for name in names:
            scope[name] = ""  # numbered when first met

    def _number(self, name: str) -> str:
        scope = next(scope for scope in reversed(self.scopes) if name in scope)
        if not scope[name]:
            self.n_locals += 1
            scope[name] = f"local{self.n_locals}"
        return scope[name]

    def _attribute(self, name: str) -> None:
        self._link("attribute", name)

    def _global(self, dotted: str) -> None:
        """Write a dotted name that is not local."""
        first = dotted.partition(".")[0]
        if first in self.module.definitions:
            whole = f"{self.module.name}.{dotted}"
        elif first in self.module.imports:
            whole = ".".join([self.module.imports[first], *dotted.split(".")[1:]])
        else:
            kind = "builtin" if hasattr(builtins, first) else "free"
            self.tokens.append(f"{kind} {dotted}")
            return
        resolved = self.house.resolve(whole) if self.house.is_ours(whole) else None
        if resolved is None:
            self.tokens.append(f"other {whole}")
            return
        target, rest = resolved
        if target in self.house.modules:
            self._link("module", target)
        else:
            self._link("definition", target)
        for name in rest:
            self._attribute(name)

    def _target(self, node: ast.expr) -> str | None:
        """Definition of ours that an expression names."""
        dotted = dotted_name(node)
        if dotted is None or self._local(dotted.partition(".")[0]) is not None:
            return None
        resolved = self.house.resolve(self.house.meaning(self.module, dotted))
        return resolved[0] if resolved and not resolved[1] and resolved[0] not in self.house.modules else None

    # ---- syntax

    def _write(self, node: object) -> None:
        if isinstance(node, list):
            self.tokens.append("[")
            for item in node:
                if not is_text(item):
                    self._write(item)
            self.tokens.append("]")
        elif isinstance(node, ast.AST):
            special: Callable[[ast.AST], None] | None = getattr(self, f"write_{type(node).__name__}", None)
            if special is None:
                self._plain(node)
            else:
                special(node)
        else:
            self.tokens.append(repr(node))

    def _plain(self, node: ast.AST) -> None:
        self.tokens.append(type(node).__name__)
        for name, value in ast.iter_fields(node):
            if name not in ("ctx", "type_comment", "kind"):
                self._write(value)

    def write_Name(self, node: ast.Name) -> None:
        if self._local(node.id) is not None:
            self.tokens.append(self._number(node.id))
        elif self.own_class == self.name and node.id in self.house.members(self.name):
            self._attribute(node.id)
        else:
            self._global(node.id)

    def write_Attribute(self, node: ast.Attribute) -> None:
        dotted = dotted_name(node)
        first = (dotted or "").partition(".")[0]
        is_known = first in self.module.definitions or first in self.module.imports
        if dotted and self._local(first) is None and is_known:
            self._global(dotted)
            return
        self.tokens.append("Attribute")
        self._write(node.value)
        self._attribute(node.attr)

    def write_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and "." in node.value and node.value in self.house.modules:
            self._link("module", node.value)
        else:
            self.tokens.append(f"{type(node.value).__name__} {node.value!r}")

    def write_Tuple(self, node: ast.Tuple) -> None:
        """A registry names a definition by its module and its name."""
        texts = [e.value for e in node.elts if isinstance(e, ast.Constant) and isinstance(e.value, str)]
        if len(texts) == len(node.elts) == 2 and texts[0] in self.house.modules:
            resolved = self.house.resolve(".".join(texts))
            if resolved is not None:
                self._link("definition", resolved[0])
                return
        self._plain(node)

    def write_Raise(self, node: ast.Raise) -> None:
        self.tokens.append("Raise")
        if isinstance(node.exc, ast.Call):
            self._refusal(node.exc)
        elif node.exc is not None:
            self._write(node.exc)
        if node.cause is not None:
            self._write(node.cause)

    def _refusal(self, node: ast.Call) -> None:
        """An exception without its words: what values its text shows does count."""
        self._write(node.func)
        for argument in [*node.args, *(keyword.value for keyword in node.keywords)]:
            self._write(_Wordless().visit(ast.parse(ast.unparse(argument), mode="eval")).body)

    def write_Call(self, node: ast.Call) -> None:
        name = (dotted_name(node.func) or "").rpartition(".")[2]
        if name.endswith(("Error", "Exception", "Warning")):
            self._refusal(node)
            return
        if name == "cast" and len(node.args) == 2:
            self._annotation(node.args[0])
            self._write(node.args[1])
            return
        self.tokens.append("Call")
        self._write(node.func)
        if name in NAMES_AN_ATTRIBUTE:
            for argument in node.args:
                is_name = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
                self._attribute(argument.value) if is_name else self._write(argument)
        else:
            self._write(node.args)
        for keyword in node.keywords:
            if not (name == "Field" and keyword.arg == "description"):
                self._keyword(node, name, keyword)

    def _keyword(self, call: ast.Call, name: str, keyword: ast.keyword) -> None:
        """A keyword stands for the place of the parameter that it names."""
        self.tokens.append("keyword")
        if keyword.arg is None:
            self.tokens.append("**")
        elif name == "replace" and self._target(call.func) is None:
            self._attribute(keyword.arg)
        else:
            self._place(call.args[0] if name == "partial" and call.args else call.func, keyword.arg)
        self._write(keyword.value)

    def _place(self, function: ast.expr, argument: str) -> None:
        target = self.own_class if isinstance(function, ast.Name) and function.id == "cls" else self._target(function)
        names: list[str] = []
        if target is not None and self.house.is_class(target):
            names = self.house.fields(target)
        elif target is not None:
            names = [name for n in self.house.statements(target) if isinstance(n, FUNCTIONS) for name in parameters(n)]
        elif isinstance(function, ast.Attribute) and self._is_object(function.value):
            self._link("keyword", f"{function.attr} {argument}")
            return
        self.tokens.append(f"parameter {names.index(argument)}" if argument in names else argument)

    def _is_object(self, node: ast.expr) -> bool:
        """False for what is imported from elsewhere, such as numpy."""
        dotted = dotted_name(node)
        if dotted is None or self._local(dotted.partition(".")[0]) is not None:
            return True
        return self.house.is_ours(self.house.meaning(self.module, dotted))

    def write_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            self.tokens.append("Assign")
            self._write([node.target])
            self._write(node.value)

    def _annotation(self, node: ast.expr | None) -> None:
        """Remember the definitions that an annotation names."""
        for part in ast.walk(node) if node is not None else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                try:
                    self._annotation(ast.parse(part.value, mode="eval").body)
                except SyntaxError:
                    continue
            elif isinstance(part, (ast.Name, ast.Attribute)) and (target := self._target(part)):
                if self.house.is_class(target):
                    self.annotations.add(target)
                else:  # an alias: what it names
                    alias = Writer(self.house, target)
                    for statement in self.house.statements(target):
                        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and target != self.name:
                            alias._annotation(statement.value)
                    self.annotations |= alias.annotations

    # ---- scopes

    def write_FunctionDef(self, node: Function) -> None:
        self.tokens.append(self._number(node.name) if self._local(node.name) is not None else "def")
        self._function(node)

    write_AsyncFunctionDef = write_FunctionDef

    def _function(self, node: Function) -> None:
        self.tokens.append(type(node).__name__)
        self._write(node.decorator_list)
        self._write([*node.args.defaults, "|", *(d for d in node.args.kw_defaults)])
        self._annotation(node.returns)
        self._inside(node, node.body)

    def write_Lambda(self, node: ast.Lambda) -> None:
        self.tokens.append("Lambda")
        self._write([*node.args.defaults, "|", *node.args.kw_defaults])
        self._inside(node, [node.body])

    def _inside(self, node: Scope, body: list[ast.stmt] | list[ast.expr]) -> None:
        self._enter(_bound(node))
        arguments = node.args
        for group in (
            arguments.posonlyargs,
            arguments.args,
            [arguments.vararg],
            arguments.kwonlyargs,
            [arguments.kwarg],
        ):
            self.tokens.append("parameters")
            for argument in group:
                if argument is not None:
                    self._annotation(argument.annotation)
                    self.tokens.append(self._number(argument.arg))
        self._write(body)
        self.scopes.pop()

    def _comprehension(self, node: ast.AST) -> None:
        generators: list[ast.comprehension] = node.generators  # type: ignore[attr-defined]
        self._enter(name for generator in generators for name in stored(generator.target))
        self.tokens.append(type(node).__name__)
        self._write(generators)
        for name, value in ast.iter_fields(node):
            if name != "generators":
                self._write(value)
        self.scopes.pop()

    write_ListComp = write_SetComp = write_DictComp = write_GeneratorExp = _comprehension

    def write_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        self.tokens.append("except")
        if node.type is not None:
            self._write(node.type)
        if node.name is not None:
            self.tokens.append(self._number(node.name) if self._local(node.name) is not None else node.name)
        self._write(node.body)

    def write_Import(self, node: ast.AST) -> None:
        """What it binds is resolved where it is used."""

    write_ImportFrom = write_Global = write_Nonlocal = write_Import

    def write_MatchAs(self, node: ast.MatchAs) -> None:
        self.tokens.append(f"MatchAs {node.name and self._number(node.name)}")
        if node.pattern is not None:
            self._write(node.pattern)

    def write_ClassDef(self, node: ast.ClassDef) -> None:
        self.tokens.append(self._number(node.name) if self._local(node.name) is not None else "class")
        self._write([*node.bases, *node.decorator_list, *node.body])

    def _class(self, node: ast.ClassDef) -> None:
        """The head and the fields of a class; its methods are definitions of their own."""
        self.tokens.append("class")
        self._write(node.decorator_list)
        self._write(node.bases)
        for keyword in node.keywords:
            self._write(keyword)
        for statement in node.body:
            if isinstance(statement, FUNCTIONS) or is_text(statement):
                continue
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                self.tokens.append("field")
                self._attribute(statement.target.id)
                if self.house.is_model(self.name):
                    self._write(statement.annotation)
                else:
                    self._annotation(statement.annotation)
                if statement.value is not None:
                    self._write(statement.value)
            elif isinstance(statement, ast.Assign) and [n for n in stored(statement) if n == "__slots__"]:
                for name in ast.walk(statement.value):
                    if isinstance(name, ast.Constant):
                        self._attribute(str(name.value))
            else:
                self._write(statement)


class _Wordless(ast.NodeTransformer):
    """Takes the words out of a text and leaves the values that it shows."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        values = [self.visit(value.value) for value in node.values if isinstance(value, ast.FormattedValue)]
        return ast.Tuple(values, ast.Load()) if values else ast.Constant("")


def is_text(node: object) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def dotted_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (start := dotted_name(node.value)):
        return f"{start}.{node.attr}"
    return None


def stored(node: ast.AST) -> list[str]:
    """Names that a statement or target binds, in the order of its syntax."""
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def place_of(name: str, node: ast.AST) -> int | None:
    """Which of several names that a statement binds; none where it binds one, or none."""
    names = stored(node)
    return names.index(name) if len(names) > 1 and name in names else None


def _arguments(node: Scope) -> list[ast.arg]:
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def parameters(node: Scope) -> list[str]:
    return [argument.arg for argument in _arguments(node)]


def _bound(node: Scope) -> set[str]:
    """Names that are local to a function, but for those that it imports."""
    names = {argument.arg for argument in (*_arguments(node), node.args.vararg, node.args.kwarg) if argument}
    outer: set[str] = set()
    waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
    while waiting:
        part = waiting.pop()
        if isinstance(part, (*FUNCTIONS, ast.ClassDef)):
            names.add(part.name)
            waiting += part.decorator_list
            continue
        if isinstance(part, ast.Lambda):
            continue
        if isinstance(part, COMPREHENSIONS):  # its own names are its own, but for := in it
            names |= {inner.target.id for inner in ast.walk(part) if isinstance(inner, ast.NamedExpr)}
            continue
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            outer |= set(part.names)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, (ast.Store, ast.Del)):
            names.add(part.id)
        elif isinstance(part, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and part.name:
            names.add(part.name)
        waiting += ast.iter_child_nodes(part)
    return names - outer
