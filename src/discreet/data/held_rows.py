"""Encoded rows that are kept for the next pass, where several passes ask for the same."""

import pyarrow as pa

from discreet.data.design import RowMap
from discreet.typing import Cells


class HeldRows:
    """A row map that keeps what it encodes in its first pass, 2 bytes a cell; later passes take it from there.

    Parameters
    ----------
    design : RowMap
        What encodes.

    Notes
    -----
    It lives as long as one request, and each block is what the row map gives: a pass adds up the same integers.
    """

    def __init__(self, design: RowMap) -> None:
        self._design = design
        self._blocks: list[Cells] = []
        self._is_whole = False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns that are read."""
        return self._design.columns

    @property
    def n_columns(self) -> int:
        """Number of integers a row becomes."""
        return self._design.n_columns

    @property
    def blocks(self) -> list[Cells] | None:
        """All encoded rows, once a pass has come to its end."""
        return self._blocks if self._is_whole else None

    def start(self) -> None:
        """Forget the rows of a pass that did not come to its end."""
        self._blocks = []

    def finish(self) -> None:
        """Record that a pass has read all rows."""
        self._is_whole = True

    def encode(self, batch: pa.RecordBatch) -> Cells:
        """Return the integers of a batch of rows, and keep them; threads may call it side by side."""
        cells = self._design.encode(batch)
        self._blocks.append(cells)
        return cells
