"""Whether the cells of a column can be what is declared of it, by the storage type that its header tells.

Labels of an enumeration may come from the rows: they are neither compared nor shown.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.data.cells import level_codes, numbers
from discreet.data.columns import CategoryColumn, Features, NumericColumn
from discreet.data.header import base_of, is_number_or_text, nearly, shown, shown_type
from discreet.data.lint import column_place, printable
from discreet.data.metadata import Metadata
from discreet.errors import DataMismatchError

_SIGNED = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_INTEGERS = frozenset((*_SIGNED, "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"))
_TEXTS = frozenset(("VARCHAR", "ENUM", "UUID", "JSON"))
_OF_NO_TYPE = frozenset(("NULL", "UNKNOWN"))
_WHOLE = r"0|-?[1-9][0-9]*"
_SCALE = r"[A-Z0-9]+\(\s*\d+\s*,\s*(\d+)\s*\)"


def misfit(column: NumericColumn | CategoryColumn, storage: str) -> str | None:
    """Return why no cell of a storage type can be what is declared, and what to do; None where the two fit.

    The end of a sentence about the column.

    Examples
    --------
    >>> smoker = CategoryColumn(type="category", levels=("no", "yes"))
    >>> misfit(smoker, "VARCHAR")
    >>> print(misfit(smoker, "BIGINT"))
    must hold its level 'no', but its storage type is BIGINT, which cannot. Write the levels as the table has them, such as `levels: ["0", "1"]`, or convert the column to text.
    """  # noqa: E501
    base = base_of(storage)
    if not is_number_or_text(storage):
        return f"must hold numbers or text, but its storage type is {shown_type(storage)}. Convert it first."
    if base in _OF_NO_TYPE:
        return None
    if isinstance(column, NumericColumn):
        if base not in _TEXTS:
            return None
        return (
            f"is declared as a number, but its storage type is {shown_type(storage)}. Convert it to a type of numbers, "
            "or declare `type: category` with its levels."
        )
    levels = column.levels or ()
    is_possible = _possible(column, storage.upper().strip())
    lacking = [level for level, fits in zip(levels, is_possible, strict=True) if not fits and level != column.unknown]
    if not lacking:
        return None
    written = '["false", "true"]' if base in ("BOOL", "BOOLEAN") else '["0", "1"]'
    return (
        f"must hold its level {shown(lacking[0])}, but its storage type is {shown_type(storage)}, which cannot. Write "
        f"the levels as the table has them, such as `levels: {written}`, or convert the column to text."
    )


def require_fit(metadata: Metadata, types: Mapping[str, str], columns: Iterable[str]) -> None:
    """Refuse a table of which a column's storage type cannot hold what is declared: the first is named, in one line.

    Types of columns whose cells have their own are not among them, and derived columns are not looked for.
    """
    for name in columns:
        column = metadata.column(name) if name in types else None
        problem = None if column is None else misfit(column, types[name])
        if problem is not None:
            raise DataMismatchError(f"Column {shown(name)} {problem}")


@dataclass(frozen=True)
class ColumnFit:
    """What is declared of a column beside what the header tells of it.

    Parameters
    ----------
    name : str or None
        The column; None for all features together.
    declared : str
        Its type in the metadata.
    stored : str or None
        Its storage type without what is inside; None where cells have types of their own, or the column is absent.
    problem : str or None
        Why the two do not fit, and what to do, as the end of a sentence; None where they do.
    """

    name: str | None
    declared: str
    stored: str | None
    problem: str | None

    @property
    def place(self) -> str:
        """Where in the metadata it is declared."""
        return "features" if self.name is None else column_place(self.name)

    @property
    def complaint(self) -> str:
        """The problem as a sentence; empty where there is none."""
        subject = "Features" if self.name is None else f"Column {shown(self.name)}"
        return "" if self.problem is None else f"{subject} {self.problem}"

    def __str__(self) -> str:
        declared = f"{'features' if self.name is None else printable(self.name)}: {self.declared}"
        if self.problem and "is not in the table" in self.problem:
            return f"{declared}: not in the table"
        stored = "no storage type" if self.stored is None else f"stored as {self.stored}"
        verdict = "does not fit" if self.problem else "not checked" if self.stored is None else "fits"
        return f"{declared}, {stored}: {verdict}"


def compared(metadata: Metadata, header: Sequence[tuple[str, str]], types: Mapping[str, str]) -> list[ColumnFit]:
    """Compare all that is declared with a header; a table of one value a row is compared without its features.

    The columns in the order of the metadata, then the unit's, then all features together.

    Examples
    --------
    >>> column = {"type": "integer", "lower": 0, "upper": 110, "source": "by definition"}
    >>> metadata = Metadata.from_value({"dataset": "toy", "unit": "person", "neighboring": "add_or_remove_one",
    ...     "columns": {"age": column}})
    >>> [fit] = compared(metadata, [("age", "VARCHAR")], {"age": "VARCHAR"})
    >>> fit.stored, fit.problem is None
    ('VARCHAR', False)
    """
    times = Counter(name for name, _ in header)
    header_names = list(times)
    fits = []
    for name, column in metadata.columns.items():
        if name in metadata.derived:
            stands = "is derived, but the table has one of that name. Rename it, or declare it without `derived`."
            problem = stands if name in times else None
        else:
            problem = _absent(name, times, header_names) or _of_type(column, types.get(name))
        fits.append(_fit(name, column.type, types.get(name), problem))
    if metadata.unit_id is not None:
        fits.append(
            _fit(
                metadata.unit_id, "unit_id", types.get(metadata.unit_id), _absent(metadata.unit_id, times, header_names)
            )
        )
    if metadata.features is not None and metadata.layout is None:
        fits.append(_of_features(metadata, metadata.features, times, types))
    return fits


def _fit(name: str, declared: str, storage: str | None, problem: str | None) -> ColumnFit:
    return ColumnFit(name, declared, None if storage is None else shown_type(storage), problem)


def _of_type(column: NumericColumn | CategoryColumn, storage: str | None) -> str | None:
    return None if storage is None else misfit(column, storage)


def _absent(name: str, times: Mapping[str, int], header_names: Sequence[str]) -> str | None:
    if times.get(name) == 1:
        return None
    problem = "the table has it more than once" if name in times else f"is not in the table{nearly(name, header_names)}"
    return f"is declared, but {problem}. Correct the metadata or the table."


def _of_features(
    metadata: Metadata, features: Features, times: Mapping[str, int], types: Mapping[str, str]
) -> ColumnFit:
    """Compare all features at once: the first that does not fit is named."""
    header_names = list(times)
    names = (
        [name for name in header_names if metadata.column(name) is features]
        if features.names is None
        else features.names
    )
    kinds = sorted({shown_type(types[name]) for name in names if name in types})
    problem = None
    if features.count not in (None, len(names)) or not names:
        least = "at least one" if features.count is None else features.count
        problem = f"must be {least} of the table's columns, but {len(names)} are named so. Correct match or count."
    for name in names if problem is None else ():
        misfit = _absent(name, times, header_names) or _of_type(features, types.get(name))
        if misfit is not None:
            problem = f"must all fit, but column {shown(name)} {misfit}"
            break
    return ColumnFit(None, features.type, ", ".join(kinds) or None, problem)


def _possible(column: CategoryColumn, storage: str) -> npt.NDArray[np.bool_]:
    """Tell which levels a cell can be read as, by the row map itself."""
    levels = list(column.levels or ())
    base = base_of(storage)
    places = np.arange(len(levels))
    if base in _TEXTS or not levels:
        return np.ones(len(levels), dtype=np.bool_)
    if base in ("BOOL", "BOOLEAN"):
        return np.isin(places, level_codes(pa.array([True, False]), column))
    as_numbers = numbers(pa.array(levels))
    cells = as_numbers.astype(np.float32) if base == "FLOAT" else as_numbers
    # A cell nearest to the level: where that is no number, or is another level's too, the row map reads another.
    is_read: npt.NDArray[np.bool_] = level_codes(pa.array(cells, from_pandas=True), column) == places
    scale = _scale(storage)
    if scale is not None:
        is_read &= np.array([np.isfinite(value) and round(float(value), scale) == value for value in as_numbers])
    if base in _INTEGERS:  # which are compared as text first
        is_read |= np.array([re.fullmatch(_WHOLE, level) is not None for level in levels])
    return is_read


def _scale(storage: str) -> int | None:
    """Return how many digits stand after the point, where the type tells."""
    if base_of(storage) in _INTEGERS:
        return 0
    scale = re.fullmatch(_SCALE, storage)
    return int(scale.group(1)) if scale else None
