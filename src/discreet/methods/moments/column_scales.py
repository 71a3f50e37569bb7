"""Where columns lie and how wide they are, bought before unit rows: narrow and skewed ones then tell as much."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.data.metadata import CategoryColumn, Metadata, half_width
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.unit_rows import SCALE, SQUARE, Scaling, column_sums
from discreet.mechanisms.rng import Source
from discreet.methods.base.noise_budget import NoiseBudget, PrivateEstimate, drawn_together
from discreet.release import MomentsRecord
from discreet.typing import Floats, Integers

SHARE = Fraction(1, 10)
"""Of the moments' budget."""

LARGEST_ERROR = 0.1
"""Of the noise in a column's mean, in half ranges: beyond it nothing is bought."""

NAME = "column scales"
UNIT = 2 * GRID**2
"""Steps in a half range, and in its square."""

SPREAD = 2.0 * SQUARE
"""Mean square of cells spread evenly over [-1, 1], which a column of that standard deviation is left to have."""

TYPICAL_MEAN, TYPICAL_VARIANCE = 0.3, 0.1
"""By how much columns differ in these: what is bought is drawn towards an even column as its noise is beside them."""


@dataclass(frozen=True)
class ColumnScales:
    """What is bought of a design's numeric columns: their sums, those of their squares, and where it is private the
    number of rows.

    Parameters
    ----------
    design : Design
        Of unit rows.
    """

    design: Design

    @cached_property
    def is_numeric(self) -> tuple[bool, ...]:
        """Which of x's columns are not a level's."""
        names = zip(self.design.candidates, self.design.widths, strict=True)
        declared = self.design.metadata.declared
        return tuple(not isinstance(declared(name), CategoryColumn) for name, width in names for _ in range(width))

    @property
    def n_numbers(self) -> int:
        """How many numbers are released, in one draw."""
        return 2 * sum(self.is_numeric) + int(self.design.metadata.n_rows is None)

    def estimate(self) -> PrivateEstimate:
        """Return what needs noise, with its sensitivity. Claim: ``noisy_moments.privacy.md``."""
        p, metadata = sum(self.is_numeric), self.design.metadata
        replaces = metadata.neighboring is NeighboringRelation.REPLACE_ONE
        l2, formula = (Fraction(4 * p), "2 sqrt(p)") if replaces else (Fraction(5 * p, 4) + 1, "sqrt(5 p / 4 + 1)")
        c = metadata.rows_per_unit
        words = f"{c} x {formula}" if c > 1 else formula
        return PrivateEstimate(NAME, l2 * (c * UNIT) ** 2, Fraction(1), UNIT, words, self.n_numbers)

    def error(self, budget: NoiseBudget, n_rows: float) -> float:
        """Return the standard deviation of the noise in a column's mean, in half ranges, for a share of a budget."""
        return math.sqrt(self.estimate().variance(budget.part(SHARE))) / UNIT / n_rows

    def is_worth_it(self, budget: NoiseBudget, n_rows: float) -> bool:
        """Tell from public facts whether the columns' scales would be told well enough."""
        return any(self.is_numeric) and self.error(budget, n_rows) <= LARGEST_ERROR

    def draw(self, table: Table, budget: NoiseBudget, rng: Source) -> Scaling:
        """Add the noise to the exact sums, for a share of a budget; what comes out may be released.

        Claim: ``noisy_moments.privacy.md``.
        """
        numeric, width = np.array(self.is_numeric), len(self.is_numeric)
        plain = Design(self.design.metadata, self.design.target, self.design.candidates, self.design.center, self._half)
        sums = table.map_reduce(plain, column_sums, np.zeros((2, 1 + width), dtype=np.int64))
        count, of_cells, of_squares = int(sums[0, 0]), sums[0, 1:][numeric], sums[1, 1:][numeric]
        values = [2 * GRID * int(value) for value in of_cells] + of_squares.tolist()
        n_rows = self.design.metadata.n_rows
        values += [count * UNIT] if n_rows is None else []
        estimate, part = self.estimate(), budget.part(SHARE)
        noisy = np.array(drawn_together([estimate], {NAME: values}, part, rng)[NAME], dtype=np.float64) / UNIT
        rows = max(float(noisy[-1]) if n_rows is None else float(n_rows), 1.0)
        p = int(numeric.sum())
        error = math.sqrt(estimate.variance(part)) / UNIT / rows
        middles, factors = np.zeros(width, dtype=np.int64), np.full(width, SCALE, dtype=np.int64)
        middles[numeric], factors[numeric] = scaled_to(noisy[:p] / rows, noisy[p : 2 * p] / rows + 0.5, error)
        return Scaling(tuple(middles.tolist()), tuple(factors.tolist()))

    @property
    def _half(self) -> float:
        return self.design.bound if self.design.unit_bound is None else self.design.unit_bound


def scaled_to(means: Floats, squares: Floats, error: float) -> tuple[Integers, Integers]:
    """Return middles and factors that make columns of noisy means and mean squares as even ones are.

    Shapes: means, squares (p,); returns (p,), (p,).
    """
    means = np.clip(means, -1.0, 1.0)
    variance_error = error * np.sqrt(1.0 + 4.0 * means**2)
    variances = np.clip(squares - means**2, 0.0, 1.0)
    trust = TYPICAL_VARIANCE**2 / (TYPICAL_VARIANCE**2 + variance_error**2)
    variances = np.maximum(trust * variances + (1.0 - trust) * SPREAD, variance_error)
    middles = np.rint(GRID * means * TYPICAL_MEAN**2 / (TYPICAL_MEAN**2 + error**2)).astype(np.int64)
    factors = np.clip(np.rint(SCALE * np.sqrt(SPREAD / np.maximum(variances, 1e-9))), 1, 32 * SCALE).astype(np.int64)
    return middles, factors


def scaling_of(record: MomentsRecord, metadata: Metadata) -> Scaling | None:
    """Return the scaling of columns in an earlier release; None where they had their declared bounds."""
    middles, factors = list[int](), list[int]()
    places = [j for j, owner in enumerate(record.owners) if owner is not None]
    for j in places:
        column = metadata.declared(str(record.owners[j]))
        middle, half = (0.0, 1.0) if isinstance(column, CategoryColumn) else half_width(column)
        middles.append(round(GRID * (record.centers[j] - middle) / half))
        factors.append(round(SCALE * half / record.half_widths[j]))
    is_plain = not any(middles) and set(factors) <= {SCALE}
    return None if is_plain else Scaling(tuple(middles), tuple(factors))
