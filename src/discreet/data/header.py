"""What a table's header must say before its rows are read."""

import re
from collections import Counter
from collections.abc import Collection, Sequence

from discreet.errors import DataMismatchError

_STORED = frozenset(
    [
        *("BOOL", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"),
        *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT", "DOUBLE"),
        *("DECIMAL", "DECIMAL32", "DECIMAL64", "DECIMAL128", "DECIMAL256"),
        *("VARCHAR", "ENUM", "UUID", "JSON", "NULL", "UNKNOWN"),
    ]
)
"""Storage types of numbers and text, in the words of all engines; the last two where every cell is missing."""

_NUMBER = r"[-+]?[$€£]? ?(\d[\d .,'_]*|[.,]\d+)([eE][-+]?\d+)?[%€$£ ]*"
_DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}[- .]*[A-Za-z]{3,9}[- .,]*\d{2,4}|\d{1,2}(:\d{2})+.*"
_WORD = r"[Tt]rue|TRUE|[Ff]alse|FALSE|[Yy]es|YES|no|NA|[Nn]/[Aa]|NaN|nan|[-+]?inf|[Nn]ull|NULL|[Nn]one|\.|-+|\?+"
_AMOUNT = r"[<>~=]{1,2} ?\d.*|\d[\d.,]* ?[A-Za-z%€$£]{1,4}\d?|\d+ ?/ ?\d+|\d*[½¼¾]"
_PLACE = r"\d+[- ]\D.*|[A-Za-z]{3,9}[. ]+\d{1,2},?( \d{2,4})?"
_CODE = r"[A-Za-z]*\d+([.-]\d+){2,}|[A-Z]\d{2}\.\d+"
_VALUE = rf"(?s){_NUMBER}|{_DATE}|{_WORD}|{_AMOUNT}|{_PLACE}|{_CODE}|[^@]+@[^@]+"
"""What a cell looks like, and a name does not: a number, a date or time, a truth value, a mark of a missing cell, an
amount, a code, an address of a house or of mail."""

_MOST_OF_A_NAME = 200
"""Characters; what is longer is a text, and is not searched for patterns, which takes the square of its length."""


def may_be_row(names: Sequence[str]) -> bool:
    """Tell whether the first line of a file may be a person's row instead of the columns' names.

    True where one is empty, repeats or looks like a value. A row of words alone looks as names do.

    Examples
    --------
    >>> may_be_row(["age", "income_2020"]), may_be_row(["north", "2020-03-01"]), may_be_row(["age", ""])
    (False, True, True)
    """
    cells = [name.strip() for name in names]
    return len(set(cells)) < len(cells) or any(map(_is_value, cells))


def _is_value(cell: str) -> bool:
    return not 0 < len(cell) <= _MOST_OF_A_NAME or re.fullmatch(_VALUE, cell) is not None


def require(header: Sequence[tuple[str, str]], columns: Sequence[str]) -> None:
    """Refuse a table that lacks columns, or whose storage cannot hold numbers or text."""
    kinds = dict(header)
    names = Counter(name for name, _ in header)
    for name in columns:
        if names[name] != 1:
            problem = (
                "the table has it more than once"
                if name in names
                else f"is not in the table{nearly(name, list(names))}"
            )
            raise DataMismatchError(
                f"Column {shown(name)} is declared, but {problem}. Correct the metadata or the table."
            )
        if not is_number_or_text(kinds[name]):
            raise DataMismatchError(
                f"Column {shown(name)} must hold numbers or text, but its storage type is {shown_type(kinds[name])}. "
                "Convert it before it is opened here."
            )


def require_all(header: Sequence[tuple[str, str]], declared: Sequence[str]) -> None:
    """Refuse a table in memory that lacks a declared column, whether or not it will be read."""
    names = {name for name, _ in header}
    missing = [shown(name) for name in declared if name not in names]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise DataMismatchError(
            f"A table in memory must have all declared columns as they are, but it lacks {', '.join(missing[:3])}"
            f"{more}. Hand over the whole table: candidates=[...] says which columns take part."
        )


def refuse_stored(header: Sequence[tuple[str, str]], derived: Collection[str]) -> None:
    """Refuse a table that has a column of a derived one's name: which of them is meant could not be told."""
    stored = {name for name, _ in header} if derived else set()
    for name in derived:
        if name in stored:
            raise DataMismatchError(
                f"A derived column must not be in the table, but {shown(name)} is. Declare it without `derived`, or "
                "give the derived one another name."
            )


def is_number_or_text(kind: str) -> bool:
    """Tell whether a storage type holds numbers or text, and not lists of them."""
    return not kind.rstrip().endswith("]") and base_of(kind) in _STORED


def base_of(kind: str) -> str:
    """Return a storage type without its arguments, such as DECIMAL for decimal(9, 2)."""
    return kind.upper().partition("(")[0].strip().strip('"')


def shown_type(kind: str) -> str:
    """Return a type without its arguments: labels of an enumeration, fields of a structure may come from the rows."""
    outer = re.split(r"[(\[<]", kind.upper())[0][:40]
    return f"{outer}[]" if kind.endswith("]") else outer


def nearly(name: str, names: Sequence[str]) -> str:
    """Name a column spelled nearly the same, and no other: without a header, the first row stands there."""
    near = [other for other in names if other.strip().casefold() == name.strip().casefold()]
    return f", though {shown(near[0])} is" if near else ""


def shown(name: str) -> str:
    """Return a column's name on one line: control characters escaped, at most 60 characters."""
    return repr(name[:60])
