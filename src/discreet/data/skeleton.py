"""Metadata to be filled in, from the header of a table alone."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.columns import has_control
from discreet.data.lint import printable
from discreet.data.metadata import SCHEMA, Metadata
from discreet.errors import InvalidParameterError, MetadataError

MAX_NAME = 1000
"""Longest name of a column that the schema takes."""
MAX_KEY = 900
"""YAML reads no longer key on the line of its value."""
MANY = 200
"""More columns of one kind of number are declared at once."""

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "INT", "BIGINT", "HUGEINT", "BIGNUM")
_UNSIGNED = ("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")
_INTEGERS = frozenset((*_SIGNED, *_UNSIGNED))
_REALS = frozenset(("FLOAT", "REAL", "DOUBLE", "DOUBLE PRECISION", "DECIMAL", "NUMERIC"))
_CATEGORIES = frozenset(("VARCHAR", "TEXT", "STRING", "CHAR", "ENUM"))
_WHOLE_DECIMAL = re.compile(r"(DECIMAL|NUMERIC)\(\d+, *0\)", re.IGNORECASE)
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_YAML_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}

_BLANKS = {
    "integer": 'type: integer, lower: , upper: , source: ""',
    "real": 'type: real, lower: , upper: , source: ""',
    "category": 'type: category, levels: , source: ""',
    "boolean": 'type: category, levels: ["false", "true"], source: the two values of a boolean',
}

_GUIDE = """\
# What is public about the table. Written from its header alone: no row was read.
#
# Fill in the blanks from a code book, a questionnaire, a law or subject knowledge, never from the rows:
#   lower: 0, upper: 30       least and greatest value that could occur; values beyond are clipped to them
#   levels: ["no", "yes"]     every value that could occur, written as in the table
#   source: "code book, p. 3" where that is written
# A number that is only a code, such as a region's, is a category: write `type: category, levels: [...]`.
# Delete the columns that no model will use: names, identifiers, free text.
# Then: discreet metadata check FILE    lists what is missing
"""
_UNTYPED = """\
# A CSV file has no types, so each column stands here as a category. For a column of numbers write instead
#   {type: integer, lower: , upper: , source: ""}     or `type: real`, if it has decimals
"""


def skeleton(
    header: Sequence[tuple[str, str]],
    *,
    dataset: str,
    unit: str = "person",
    neighboring: NeighboringRelation | str = NeighboringRelation.ADD_OR_REMOVE_ONE,
    n_rows: int | None = None,
    typed: bool = True,
    rows_per_unit: int = 1,
    unit_id: str | None = None,
    answered: Mapping[str, Mapping[str, Any] | None] | None = None,
) -> str:
    """Write metadata with blanks for what only the owner of the data knows.

    YAML that `Metadata.from_text` reads as it stands; `lint` lists what is still blank. Not `typed`: a file of text
    alone, whose storage types say nothing of its columns. `answered`: what somebody who knows the table declares of
    columns, and None for one that is left out.

    Examples
    --------
    >>> text = skeleton([("age", "BIGINT"), ("born", "DATE")], dataset="toy")
    >>> print(text[text.index("columns:"):], end="")
    columns:
      age: {type: integer, lower: , upper: , source: ""}  # stored as BIGINT
    <BLANKLINE>
    # Left out, because a column must hold numbers or categories. To use one, turn it into one.
    #  born  stored as DATE
    """
    repeated = [name for name, count in Counter(name for name, _ in header).items() if count > 1]
    if repeated:
        shown = ", ".join(repr(printable(name)) for name in repeated[:10])
        raise MetadataError(f"Names of columns must not repeat, but these do: {shown}. Rename them in the table.")
    answers_by_column = answered or {}
    dropped = {unit_id, *(name for name, fields in answers_by_column.items() if fields is None)}
    used = [(name, storage) for name, storage in header if kind_of(name, storage) and name not in dropped]
    left_out = [(name, storage) for name, storage in header if not kind_of(name, storage)]
    declared = {name: fields for name, fields in answers_by_column.items() if fields}
    if not used:
        raise MetadataError(
            "A table must have a column of numbers or of categories, but its header has none. Choose another table."
        )
    units = (unit, rows_per_unit, unit_id)
    text = _head(dataset, units, _relation(neighboring), n_rows) + _declared(used, declared) + _left_out(left_out)
    if not typed:
        text = text.replace("columns:\n", f"{_UNTYPED}columns:\n", 1).replace("  # stored as VARCHAR\n", "\n")
    Metadata.from_text(text, "skeleton")
    return text


def _relation(neighboring: NeighboringRelation | str) -> NeighboringRelation:
    try:
        return NeighboringRelation(neighboring)
    except ValueError:
        names = " or ".join(NeighboringRelation)
        raise InvalidParameterError(f"neighboring must be {names}, but neighboring={neighboring!r}.") from None


def kind_of(name: str, storage: str) -> str | None:
    """Return integer, real, category or boolean, as fits a storage type; None where nothing does."""
    base = _base(storage)
    if not 1 <= len(name) <= MAX_NAME or has_control(name) or storage.rstrip().endswith("]"):
        return None
    if base in _INTEGERS or _WHOLE_DECIMAL.fullmatch(storage.strip()):
        return "integer"
    if base in ("BOOLEAN", "BOOL"):
        return "boolean"
    return "real" if base in _REALS else "category" if base in _CATEGORIES else None


def _base(storage: str) -> str:
    """Return a storage type without its arguments: labels of an ENUM, fields of a STRUCT may come from the rows."""
    return re.split(r"[(<]", storage)[0].strip().upper()


def _shown_type(storage: str) -> str:
    if storage.rstrip().endswith("]"):
        return "a list"
    base = printable(_base(storage))
    if base == "ENUM":
        return "ENUM; its labels may come from the rows, so they are not copied here"
    return storage.strip().upper() if _WHOLE_DECIMAL.fullmatch(storage.strip()) else base


def _quoted(text: str) -> str:
    """Return text as a YAML scalar that reads back exactly."""
    if _PLAIN.fullmatch(text) and text.lower() not in _YAML_WORDS:
        return text
    return _text(text)


def _escaped(char: str) -> str:
    code = ord(char)
    if char.isprintable():
        return char
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _head(
    dataset: str, units: tuple[str, int, str | None], neighboring: NeighboringRelation, n_rows: int | None
) -> str:
    unit, rows_per_unit, unit_id = units
    private = neighboring is NeighboringRelation.ADD_OR_REMOVE_ONE
    relation = "the number of rows is private; if public: replace_one" if private else "the number of rows is public"
    owner = "" if unit_id is None else _quoted(unit_id)
    settings = [
        ("schema", SCHEMA, "the form of this file"),
        ("dataset", _quoted(dataset), "the ledger's key: all versions and samples of these people share it"),
        ("unit", _quoted(unit), "who is protected"),
        ("rows_per_unit", str(rows_per_unit), "the most rows that one of them may own; if several, name unit_id"),
        ("unit_id", owner, "the column that tells whose row it is; it must not stand below"),
        ("neighboring", neighboring.value, relation),
        ("n_rows", "" if n_rows is None else str(n_rows), "the number of rows, under replace_one only"),
    ]
    lines = [f"{f'{key}: {value}':<32}  # {comment}\n" for key, value, comment in settings]
    return f"{_GUIDE}\n{''.join(lines)}\n"


def _declared(used: Sequence[tuple[str, str]], declared: Mapping[str, Mapping[str, Any]]) -> str:
    """Return a line a column; more numbers of one kind than anybody would read are declared at once."""
    numbers = Counter(kind for _, storage in used if (kind := kind_of("-", storage)) in ("integer", "real"))
    kind, count = max(numbers.items(), key=lambda item: item[1], default=("", 0))
    if count <= MANY:
        return _columns(used, declared)
    single = [column for column in used if kind_of(*column) != kind]
    note = "any other column, too many to list; a target among them needs a line above"
    return _columns(single or used[-1:], declared) + f"features: {{{_BLANKS[kind]}}}  # {note}\n"


def _columns(used: Sequence[tuple[str, str]], declared: Mapping[str, Mapping[str, Any]]) -> str:
    width = min(30, max(len(_quoted(name)) for name, _ in used) + 1)
    return "columns:\n" + "".join(_column(name, storage, width, declared.get(name, {})) for name, storage in used)


def _column(name: str, storage: str, width: int, fields: Mapping[str, Any]) -> str:
    blanks = _filled(fields) if fields else _BLANKS[kind_of(name, storage) or "category"]
    key = _quoted(name)
    start = f"  {key + ':':<{width}} " if len(key) < MAX_KEY else f"  ? {key}\n  : "
    return f"{start}{{{blanks}}}  # stored as {_shown_type(storage)}\n"


def _filled(fields: Mapping[str, Any]) -> str:
    """Return what was declared of a column, and blanks for the rest."""
    required = ("levels",) if fields["type"] == "category" else ("lower", "upper")
    parts = [f"type: {fields['type']}"]
    for name in required:
        value = fields.get(name, "")
        parts.append(f"{name}: {_listed(value) if isinstance(value, list) else value}")
    return ", ".join([*parts, f"source: {_text(str(fields.get('source', '')))}"])


def _listed(levels: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, levels))}]"


def _text(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(char) or _escaped(char) for char in text) + '"'


def _left_out(left_out: Sequence[tuple[str, str]]) -> str:
    if not left_out:
        return ""
    lines = [f"#  {printable(name)}  stored as {_shown_type(storage)}{_renamed(name)}\n" for name, storage in left_out]
    return "\n# Left out, because a column must hold numbers or categories. To use one, turn it into one.\n" + "".join(
        lines
    )


def _renamed(name: str) -> str:
    return "; a name must hold no control character, rename it" if has_control(name) else ""
