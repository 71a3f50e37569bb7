"""Small faults that may be put into a module of Python, one at a time.

Operators: relations moved by their boundary or turned round, arithmetic swapped, constants one more or less (real
numbers twice or half), conditions negated, `and` for `or`, `not` dropped, signs dropped, `min` for `max` and `floor`
for `ceil` and their like, one neighboring relation for the other, slices off by one, and a raise, a call or a returned
value removed.

Left alone, for no behavior of the product lies there: docstrings, annotations, aliases of types, decorators (caches,
frozen classes), strings and f-strings (the texts of errors among them), and the keywords `strict` and `copy`, which
check or save what is the same either way.
"""

import ast
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[], None]

RELATIONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("floor", "ceil"),
    ("any", "all"),
    ("log", "log1p"),
    ("exp", "expm1"),
    ("REPLACE_ONE", "ADD_OR_REMOVE_ONE"),
)
NAMES = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}


@dataclass(frozen=True)
class Place:
    """Where a fault may be put: a node of the tree, and which of its changes."""

    node: int
    change: int
    line: int


@dataclass(frozen=True)
class Fault:
    """A module with a fault in it, and the line that has it before and after."""

    source: str
    before: str
    after: str


def places(source: str) -> list[Place]:
    """Return every place of a module where a fault may be put."""
    tree = ast.parse(source)
    kept = set(_left_alone(tree))
    return [
        Place(at, which, getattr(node, "lineno", 0))
        for at, node in enumerate(ast.walk(tree))
        if id(node) not in kept
        for which in range(len(changes(node)))
    ]


def with_fault(source: str, place: Place) -> Fault:
    """Return a module with a fault at a place."""
    tree = ast.parse(source)
    lines = ast.unparse(tree).splitlines()
    node = next(node for at, node in enumerate(ast.walk(tree)) if at == place.node)
    changes(node)[place.change]()
    faulty = ast.unparse(ast.fix_missing_locations(tree))
    differ = [line for line in difflib.ndiff(lines, faulty.splitlines()) if line[:2] in ("- ", "+ ")]
    before = next((line[2:].strip() for line in differ if line[0] == "-"), "")
    after = next((line[2:].strip() for line in differ if line[0] == "+"), "")
    return Fault(faulty, before, after)


def changes(node: ast.AST) -> list[Change]:
    """Return what may be done to a node, each in place."""
    found = [*_of_expressions(node), *_of_conditions(node), *_of_statements(node)]
    if isinstance(node, ast.Slice):
        found += [_set(node, end, _one_more(getattr(node, end))) for end in ("lower", "upper") if _moves(node, end)]
    return found


def _of_expressions(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=ops):
            for at, op in enumerate(ops):
                yield from (_put(ops, at, other()) for other in RELATIONS[type(op)])
        case ast.BinOp(left=left, op=op, right=right) if type(op) in ARITHMETIC and not (_text(left) or _text(right)):
            yield _set(node, "op", ARITHMETIC[type(op)]())
        case ast.AugAssign(op=op, value=value) if type(op) in ARITHMETIC and not _text(value):
            yield _set(node, "op", ARITHMETIC[type(op)]())
        case ast.BoolOp(op=op):
            yield _set(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.UnaryOp(op=ast.USub()):
            yield _set(node, "op", ast.UAdd())
        case ast.UnaryOp(op=ast.Not() | ast.Invert() as op, operand=operand):
            yield _set(node, "operand", ast.UnaryOp(op, operand))
        case ast.Constant(value=bool() as value):
            yield _set(node, "value", not value)
        case ast.Constant(value=int() as value):
            yield from (_set(node, "value", value + 1), _set(node, "value", value - 1))
        case ast.Constant(value=float() as value):
            yield from (_set(node, "value", 2.0 * value if value else 1.0), _set(node, "value", 0.5 * value or -1.0))
        case ast.Name(id=name) if name in NAMES:
            yield _set(node, "id", NAMES[name])
        case ast.Attribute(attr=name) if name in NAMES:
            yield _set(node, "attr", NAMES[name])


def _of_conditions(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not _turned_already(test):
            yield _set(node, "test", ast.UnaryOp(ast.Not(), test))
        case ast.comprehension(ifs=ifs):
            yield from (
                _put(ifs, at, ast.UnaryOp(ast.Not(), one)) for at, one in enumerate(ifs) if not _turned_already(one)
            )


def _of_statements(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield _set(node, "value", ast.Constant(None))
    for name in ("body", "orelse", "finalbody"):
        found = getattr(node, name, None)
        statements: list[ast.stmt] = found if isinstance(found, list) else []
        for at, one in enumerate(statements):
            if isinstance(one, ast.Raise) or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call)):
                yield _put(statements, at, ast.Pass())


def _left_alone(tree: ast.Module) -> Iterator[int]:
    """Nodes, by identity, that hold no behavior."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                parts = [*node.decorator_list]
                parts += [] if isinstance(node, ast.ClassDef) else [node.returns]
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                parts = [annotation]
            case ast.JoinedStr() | ast.keyword(arg="strict" | "copy"):
                parts = [node]
            case ast.BinOp(op=ast.BitOr() | ast.BitAnd()) if node in [getattr(one, "value", None) for one in tree.body]:
                parts = [node]
        for part in parts:
            yield from (id(one) for one in ast.walk(part)) if part is not None else ()


def _turned_already(test: ast.expr) -> bool:
    """Whether another operator turns this condition round."""
    single = isinstance(test, ast.Compare) and len(test.ops) == 1
    return single or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))


def _text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _moves(node: ast.Slice, end: str) -> bool:
    """Whether an end of a slice is there, and is no constant, which is moved as such."""
    found = getattr(node, end)
    found = found.operand if isinstance(found, ast.UnaryOp) else found
    return found is not None and not isinstance(found, ast.Constant)


def _one_more(node: ast.expr) -> ast.expr:
    return ast.BinOp(node, ast.Add(), ast.Constant(1))


def _set(node: ast.AST, field: str, value: object) -> Change:
    return lambda: setattr(node, field, value)


def _put(items: list[ast.cmpop] | list[ast.expr] | list[ast.stmt], at: int, item: ast.AST) -> Change:
    return lambda: items.__setitem__(at, item)  # type: ignore[call-overload]
