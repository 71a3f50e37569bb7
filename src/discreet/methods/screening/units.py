"""What a choice above a threshold chooses: single columns, and groups of columns that enter together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from discreet.errors import InvalidParameterError
from discreet.methods.base.candidates import check_units
from discreet.typing import Floats, Integers

FORCED = -1


@dataclass(frozen=True)
class Units:
    """The public units of a screening.

    Parameters
    ----------
    n_columns : int
        Columns that are free to enter.
    n_units : int
        Units that they make.
    unit_of : ndarray of int, shape (number of candidates,), optional
        The unit of each candidate, `FORCED` for one that always enters. None where each candidate is a unit.
    """

    n_columns: int
    n_units: int
    unit_of: npt.NDArray[np.int64] | None = None

    @classmethod
    def of(cls, candidates: Sequence[str], forced: Sequence[str], groups: Sequence[Sequence[str]]) -> "Units":
        """Return the units of a request, or refuse names that are not candidates, or that repeat."""
        if not forced and not groups:
            return cls(len(candidates), len(candidates))
        check_units(candidates, forced, groups)
        place_of = {name: place for place, name in enumerate(candidates)}
        unit_of = np.arange(len(candidates))
        for group in groups:
            places = [place_of[name] for name in group]
            unit_of[places] = min(places, default=0)
        unit_of[[place_of[name] for name in forced]] = FORCED
        is_free = unit_of != FORCED
        if not is_free.any():
            raise InvalidParameterError("A column must be free to enter. Name a candidate that is not forced.")
        first, unit_of[is_free] = np.unique(unit_of[is_free], return_inverse=True)
        return cls(int(is_free.sum()), len(first), unit_of)

    def owners(self, n_columns: int) -> npt.NDArray[np.int64]:
        """Return the unit of each column, `FORCED` for one that always enters. Shapes: returns (n_columns,)."""
        return np.arange(n_columns) if self.unit_of is None else self.unit_of

    def scores(self, column_scores: Integers) -> Integers:
        """Return the largest score of each unit's columns: it moves by no more than one of them does."""
        if self.unit_of is None:
            return column_scores
        is_free, largest = self.unit_of != FORCED, np.zeros(self.n_units, dtype=column_scores.dtype)
        np.maximum.at(largest, self.unit_of[is_free], column_scores[is_free])
        return largest

    def by_column(self, of_units: Floats, chosen: Sequence[int], candidates: Sequence[str]) -> dict[str, float]:
        """Return the numbers of chosen units by the names of their columns. Shapes: of_units (n_units,)."""
        owners = zip(candidates, self.owners(len(candidates)), strict=True)
        return {name: float(of_units[unit]) for name, unit in owners if unit in chosen}

    def columns(self, chosen: Sequence[int]) -> list[int]:
        """Return the places of the chosen units' columns and of the forced ones, in increasing order."""
        if self.unit_of is None:
            return sorted(chosen)
        return [int(place) for place in np.flatnonzero(np.isin(self.unit_of, [FORCED, *chosen]))]
