"""The text of a derived column, such as ``log(income + 1)``, as a tree: a small closed grammar, nothing is executed."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

MAX_LENGTH = 500
MAX_NESTING = 30
"""Parentheses, functions and signs within each other."""
MAX_DEPTH = 100
"""Steps from a result to a column."""
MAX_POWER = 10

FUNCTIONS = {"log": 1, "log1p": 1, "exp": 1, "sqrt": 1, "abs": 1, "min": None, "max": None}
"""How many arguments each takes; None for two or more."""
COMPARISONS = ("<=", ">=", "==", "!=", "<", ">")
GRAMMAR = (
    "numbers, columns, + - * / **, ( ), < <= > >= == !=, log, log1p, exp, sqrt, abs, min, max, is(category, 'level')"
)

_NUMBER = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})|(?P<name>[^\W\d][\w.]*|`[^`]+`)|(?P<text>'[^']*'|\"[^\"]*\")"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/(),<>]))"
)


@dataclass(frozen=True)
class Expression:
    """A step of a computation.

    Parameters
    ----------
    operation : str
        ``number``, ``column``, ``is``, a sign, or a function's name; ``negative`` for a minus before a number.
    parts : tuple of Expression
        What it is done with.
    number : float
        A number, or the exponent of ``**``.
    column : str
        A column's name.
    level : str, optional
        Of a category.
    text : str
        As it was written.
    """

    operation: str
    parts: tuple["Expression", ...] = ()
    number: float = 0.0
    column: str = ""
    level: str | None = None
    text: str = ""
    depth: int = 1

    def sources(self) -> tuple[tuple[str, str | None], ...]:
        """Return the columns that it is made of, each with the level that it is compared with; each once."""
        return tuple(dict.fromkeys(self._sources()))

    def _sources(self) -> Iterator[tuple[str, str | None]]:
        if self.operation in ("column", "is"):
            yield self.column, self.level
        for part in self.parts:
            yield from part._sources()


@lru_cache(maxsize=1000)
def parsed(text: str) -> Expression:
    """Return the tree of an expression, or raise ValueError in one line.

    Examples
    --------
    >>> parsed("age * is(site, 'north')").sources()
    (('age', None), ('site', 'north'))
    """
    if len(text) > MAX_LENGTH:
        raise ValueError(f"an expression must have at most {MAX_LENGTH} characters, but it has {len(text)}: shorten it")
    return _Parser(text).whole()


@dataclass(frozen=True)
class _Token:
    kind: str
    value: str
    start: int
    end: int


class _Parser:
    """Recursive descent: a comparison of sums of products of powers."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._nesting = text, 0, 0
        self._tokens = list(_tokens(text))

    def whole(self) -> Expression:
        tree = self._comparison()
        if self._now.kind != "end":
            raise self._unexpected()
        return tree

    @property
    def _now(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, *values: str) -> str | None:
        """Step over a sign if it is one of these."""
        if self._now.kind == "sign" and self._now.value in values:
            self._at += 1
            return self._tokens[self._at - 1].value
        return None

    def _need(self, sign: str) -> None:
        if self._take(sign) is None:
            raise self._unexpected(f", where {sign} is needed")

    def _unexpected(self, more: str = "") -> ValueError:
        found_text = "it ends" if self._now.kind == "end" else f"there is {self._now.value[:40]!r}"
        return ValueError(
            f"an expression must be made of {GRAMMAR}, but {found_text} at character {self._now.start + 1}{more}"
        )

    def _node(self, start: int, operation: str, *parts: Expression, number: float = 0.0) -> Expression:
        depth = 1 + max(part.depth for part in parts)
        if depth > MAX_DEPTH:
            raise ValueError(f"an expression must have at most {MAX_DEPTH} steps after each other: shorten it")
        text = self._text[start : self._tokens[self._at - 1].end]
        return Expression(operation, parts, number=number, text=text, depth=depth)

    def _deeper(self) -> None:
        self._nesting += 1
        if self._nesting > MAX_NESTING:
            raise ValueError(f"an expression must be nested at most {MAX_NESTING} times: shorten it")

    def _comparison(self) -> Expression:
        start, tree = self._now.start, self._sum()
        sign = self._take(*COMPARISONS)
        return tree if sign is None else self._node(start, sign, tree, self._sum())

    def _sum(self) -> Expression:
        start, tree = self._now.start, self._product()
        while sign := self._take("+", "-"):
            tree = self._node(start, sign, tree, self._product())
        return tree

    def _product(self) -> Expression:
        start, tree = self._now.start, self._signed()
        while sign := self._take("*", "/"):
            tree = self._node(start, sign, tree, self._signed())
        return tree

    def _signed(self) -> Expression:
        start = self._now.start
        sign = self._take("+", "-")
        if sign is None:
            return self._power()
        self._deeper()
        inner = self._signed()
        self._nesting -= 1
        return inner if sign == "+" else self._node(start, "negative", inner)

    def _power(self) -> Expression:
        start, tree = self._now.start, self._atom()
        if self._take("**") is None:
            return tree
        token = self._now
        if token.kind != "number" or not token.value.isdigit() or int(token.value[:4]) > MAX_POWER:
            raise ValueError(f"an exponent after ** must be a whole number from 0 to {MAX_POWER}: write / for others")
        self._at += 1
        return self._node(start, "**", tree, number=float(token.value))

    def _atom(self) -> Expression:
        token = self._now
        if self._take("("):
            self._deeper()
            tree = self._comparison()
            self._need(")")
            self._nesting -= 1
            return tree
        if token.kind not in ("number", "name"):
            raise self._unexpected()
        self._at += 1
        if token.kind == "number":
            return _number(token)
        if self._take("("):
            return self._call(token)
        name = token.value.strip("`")
        return Expression("column", column=name, text=token.value)

    def _call(self, token: _Token) -> Expression:
        if token.value == "is":
            return self._is_level(token)
        if token.value not in FUNCTIONS:
            listed = ", ".join((*FUNCTIONS, "is"))
            raise ValueError(f"a function must be one of {listed}, but it is {token.value[:40]!r}: choose another")
        self._deeper()
        parts = [self._comparison()]
        while self._take(","):
            parts.append(self._comparison())
        self._need(")")
        self._nesting -= 1
        n_needed = FUNCTIONS[token.value]
        if (len(parts) != n_needed) if n_needed else (len(parts) < 2):
            raise ValueError(
                f"{token.value} must have {n_needed or 'two or more'} argument(s), but it has {len(parts)}"
            )
        return self._node(token.start, token.value, *parts)

    def _is_level(self, token: _Token) -> Expression:
        column, comma, level = (self._tokens[min(self._at + i, len(self._tokens) - 1)] for i in range(3))
        if (column.kind, comma.value, level.kind) != ("name", ",", "text"):
            raise ValueError("is must have a category and one of its levels in quotes, such as is(site, 'north')")
        self._at += 3
        self._need(")")
        text = self._text[token.start : self._tokens[self._at - 1].end]
        return Expression("is", column=column.value.strip("`"), level=level.value[1:-1], text=text)


def _number(token: _Token) -> Expression:
    if not math.isfinite(value := float(token.value)):
        raise ValueError(f"a number must be finite, but it is {token.value[:40]}: write a smaller one")
    return Expression("number", number=value, text=token.value)


def _tokens(text: str) -> Iterator[_Token]:
    at, end = 0, len(text.rstrip())
    while at < end:
        match = _TOKEN.match(text, at)
        if match is None:
            place = at + len(text[at:]) - len(text[at:].lstrip())
            raise ValueError(
                f"an expression must be made of {GRAMMAR}, but there is {text[place]!r} at character {place + 1}"
            )
        kind = str(match.lastgroup)
        yield _Token(kind, match[kind], match.start(kind), match.end())
        at = match.end()
    yield _Token("end", "", end, end)
