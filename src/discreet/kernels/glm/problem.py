"""What is public about a logistic or Poisson regression: what its passes are planned from."""

import math
from dataclasses import dataclass

import numpy as np

from discreet.kernels.glm.families import Family, Groups, squared_norm
from discreet.kernels.glm.pooled_score import TYPICAL_SQUARE
from discreet.typing import Floats

BOX = 50.0
"""Largest absolute coefficient per half range; an interval that reaches it has no end there."""

START, SEARCH, LOOK = 0.45, 0.06, 0.06
"""Shares of mu^2: of the first pass, of each one that looks for a better point, and of the look at long scores."""


@dataclass(frozen=True)
class Problem:
    """What is public about a regression.

    Parameters
    ----------
    family : Family
        The response's law.
    n_coefficients : int
        With the constant.
    groups : tuple of tuple of int
        Columns that are dummies of one category, its reference level left out.
    mu : float
        The whole Gaussian differential privacy parameter; infinite for no noise.
    replace : bool
        Neighbors differ by a record's content, else by its presence.
    n_rows : int
        Public number of rows where `count_is_public`; else a public guess, which only sets the number of passes.
    level : float
        Of the intervals.
    box : float
        Largest absolute coefficient per half range.
    largest_sd : float
        No noise may have a larger standard deviation, in the integers' units; at least `attainable_sd`.
    constant : tuple of float
        The first interval is that of this combination of the coefficients; default the constant's own.
    offset : float, optional
        Half the range of an offset in the linear predictor. The first pass has it as its last column.
    weighted : bool
        Whether rows have weights from 0 to 1.
    count_is_public : bool, optional
        Default under `replace`, where no unit may own more rows than another.
    robust : bool
        Whether a last pass tells the sampling variance by units, in place of the family's.
    rows_per_unit : int
        The most rows of one unit, which costs so many times the mu of a row.
    n_units : int, optional
        Public number of units; default as few as the rows can be of.
    finds_bound : bool
        Whether a pass before all finds where counts are clipped.
    is_capped : bool
        Long rows count less: as much less as makes up for their length.
    start : float
        Share of mu^2 of the first pass.
    usual : tuple of float, optional
        Mean of the counts, and how well its logarithm is known, by an earlier release.
    two_valued : tuple of int
        Columns that have no other values than their bounds.
    """

    family: Family
    n_coefficients: int
    groups: Groups
    mu: float
    replace: bool
    n_rows: int
    level: float = 0.95
    box: float = BOX
    largest_sd: float = math.inf
    constant: tuple[float, ...] = ()
    offset: float | None = None
    weighted: bool = False
    count_is_public: bool | None = None
    robust: bool = False
    rows_per_unit: int = 1
    n_units: int | None = None
    finds_bound: bool = False
    is_capped: bool = True
    start: float = START
    usual: tuple[float, float] | None = None
    two_valued: tuple[int, ...] = ()

    @property
    def knows_count(self) -> bool:
        """Whether the number of rows, of their weights where they have some, is public."""
        is_public = self.replace if self.count_is_public is None else self.count_is_public
        return is_public and not self.weighted and not self.is_capped

    @property
    def squared_norm(self) -> float:
        """Largest squared norm of a row with its constant."""
        return squared_norm(self.n_coefficients, self.groups)

    @property
    def n_first(self) -> int:
        """Columns of the first pass."""
        return self.n_coefficients + (self.offset is not None)

    @property
    def first_norm(self) -> float:
        """Largest squared norm of a row in the first pass."""
        return squared_norm(self.n_first, self.groups)

    @property
    def cap(self) -> float:
        """Squared norm from which on a row counts less: a typical one."""
        of_known = 1.0 + len(self.two_valued)
        return of_known + TYPICAL_SQUARE * (self.squared_norm - of_known) if self.is_capped else math.inf

    @property
    def longest(self) -> float:
        """Largest squared norm of what a row counts for."""
        return min(self.squared_norm, self.cap)

    @property
    def precision(self) -> Floats:
        """Of the weak prior."""
        return np.full(self.n_coefficients, (self.box / 2.0) ** -2.0)
