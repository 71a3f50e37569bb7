"""What every table or figure is: a study, parts that are computed apart, and the work on a part."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from discreet.errors import InvalidParameterError
from discreet.report.study import Column, Row, Study
from discreet.typing import Floats
from discreet_papers.public_tables import path_of

PRINTED = Column("as printed", False, "The figures of the paper.")


@dataclass(frozen=True)
class Work:
    """What a part of a study is computed from.

    Parameters
    ----------
    part : str
        Which.
    folder : Path or None
        Where public tables lie.
    repeats : int
        How often to draw.
    seed : int
        Of the part: all of its draws derive from it.
    """

    part: str
    folder: Path | None
    repeats: int
    seed: int

    def table(self, name: str, columns: tuple[str, ...]) -> Floats:
        """Return columns of a public table, of shape (n_rows, n_columns)."""
        table = self.parquet(name, columns)
        return np.column_stack([table.column(column).to_numpy().astype(np.float64) for column in columns])

    def parquet(self, name: str, columns: tuple[str, ...] | None = None) -> "pq.Table":
        """Return a public table, or some of its columns."""
        path = path_of(name, self.folder)
        try:
            return pq.read_table(path, columns=None if columns is None else list(columns))
        except (OSError, ValueError, KeyError):
            raise InvalidParameterError(
                f"The public table must be a Parquet file with the columns that its description names, but {path} "
                "cannot be read so. Fetch it again."
            ) from None


@dataclass(frozen=True)
class Experiment:
    """A study that can be done.

    Parameters
    ----------
    study : Study
        What it shows.
    parts : tuple of str
        Computed apart, in any order and process, and kept when done.
    work : callable
        Computes a part; the same rows for the same `Work`.
    """

    study: Study
    parts: tuple[str, ...]
    work: Callable[[Work], list[Row]]
