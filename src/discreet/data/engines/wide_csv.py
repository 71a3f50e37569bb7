"""CSV files of thousands of columns, which the embedded engine takes seconds to look at for every query."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa


def wide_batches(
    path: Path, delimiter: str, names: Sequence[str], columns: Sequence[str], batch_rows: int
) -> Iterator[pa.RecordBatch]:
    """Read some columns of a CSV file, every cell as text.

    Parameters
    ----------
    path : Path
        The file.
    delimiter : str
        Between cells.
    names : sequence of str
        The header.
    columns : sequence of str
        What is read.
    batch_rows : int
        The most rows of a batch.

    Yields
    ------
    pyarrow.RecordBatch
        An empty cell is a missing one.

    Notes
    -----
    As the embedded engine does it: a short record is padded, a long one cut, an empty one and one that cannot be read
    are left out.
    """
    place = {name: i for i, name in enumerate(names)}
    wanted = [place[name] for name in columns]
    rows: list[list[str | None]] = []
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        for record in _records(file, delimiter):
            padded = [cell or None for cell in record] + [None] * (len(names) - len(record))
            rows.append([padded[i] for i in wanted])
            if len(rows) == batch_rows:
                yield _batch(rows, columns)
                rows = []
    if rows:
        yield _batch(rows, columns)


def _records(lines: Iterator[str], delimiter: str) -> Iterator[list[str]]:
    """Records after the header; one that cannot be read must not keep others from being read."""
    reader = csv.reader(lines, delimiter=delimiter)
    next(reader, None)
    while True:
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error:
            continue
        if record:
            yield record


def _batch(rows: list[list[str | None]], columns: Sequence[str]) -> pa.RecordBatch:
    """Rows as columns: one array, of which each column is a part."""
    try:
        cells = _column_by_column(rows)
    except UnicodeEncodeError:  # bytes that are no text
        rows = [row for row in rows if _is_text(row)]
        cells = _column_by_column(rows)
    n = len(rows)
    return pa.RecordBatch.from_arrays([cells.slice(i * n, n) for i in range(len(columns))], names=list(columns))


def _column_by_column(rows: list[list[str | None]]) -> pa.Array:
    return pa.array([cell for column in zip(*rows, strict=True) for cell in column], pa.large_string())


def _is_text(row: list[str | None]) -> bool:
    # What stands for such a byte lies in this range, in which no text has a character.
    return not any("\udc80" <= char <= "\udcff" for cell in row if cell and not cell.isascii() for char in cell)
