"""What a table's header must say before its rows are read."""

from collections import Counter
from collections.abc import Sequence

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


def require(header: Sequence[tuple[str, str]], columns: Sequence[str]) -> None:
    """Refuse a table that lacks columns, or whose storage cannot hold numbers or text.

    Parameters
    ----------
    header : sequence of (str, str)
        Names and storage types.
    columns : sequence of str
        What must be there, once.

    Raises
    ------
    DataMismatchError
        From the header alone.
    """
    kinds = dict(header)
    names = Counter(name for name, _ in header)
    for name in columns:
        if names[name] != 1:
            found = "is there more than once" if name in names else f"is not in it{_nearly(name, list(names))}"
            raise DataMismatchError(
                f"The table must have each declared column once, but column {shown(name)} {found}. "
                "Correct the metadata or the table."
            )
        kind = kinds[name].upper()
        if kind.endswith("]") or kind.split("(")[0].strip('"') not in _STORED:
            raise DataMismatchError(
                f"Column {shown(name)} must hold numbers or text, but its storage type is {_outer(kind)}. "
                "Convert it before it is opened here."
            )


def _outer(kind: str) -> str:
    """Leave out what is inside: labels of an enumeration may come from the rows."""
    outer = kind.partition("(")[0].partition("[")[0][:40]
    return f"{outer}[]" if kind.endswith("]") else outer


def _nearly(name: str, names: Sequence[str]) -> str:
    """Tell of a column spelled nearly the same, and of no other: without a header, the first row stands there."""
    near = [other for other in names if other.strip().casefold() == name.strip().casefold()]
    return f", though {shown(near[0])} is" if near else ""


def shown(name: str) -> str:
    """Return a column's name on one line.

    Parameters
    ----------
    name : str
        From a header.

    Returns
    -------
    str
        Control characters escaped, cut at 60.
    """
    return repr(name[:60])
