"""Squared scores of units with noise for pure epsilon: how much more than the family's they vary."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from discreet.accounting.events import EllipsoidEvent
from discreet.data.contribution_bound import OfUnits
from discreet.data.design import RowMap
from discreet.data.engine import Table
from discreet.kernels.glm.families import Columns
from discreet.kernels.glm.sandwich import Spread, spread_sds
from discreet.kernels.moments.moments import GRID
from discreet.mechanisms.ellipsoid import ellipsoid_noise
from discreet.mechanisms.rng import Source
from discreet.release import NoiseRecord
from discreet.typing import Cells, Floats, Integers

SHARE = Fraction(1, 20)
"""Of epsilon."""


@dataclass(frozen=True)
class SpreadRelease:
    """One pass after the coefficients are released: what it costs and how it is drawn.

    Parameters
    ----------
    epsilon : Fraction
        Of the pass.
    n_coefficients : int
        With the constant.
    replaces : bool
        A unit's rows are replaced by others, else added or removed.
    """

    epsilon: Fraction
    n_coefficients: int
    replaces: bool

    @property
    def event(self) -> EllipsoidEvent:
        """What the pass costs."""
        return EllipsoidEvent(self.epsilon)

    @property
    def n_numbers(self) -> int:
        """The products on and above the diagonal, and the sum of lengths."""
        return self.n_coefficients * (self.n_coefficients + 1) // 2 + 1

    @property
    def mu(self) -> float:
        """That of Gaussian noise with the same standard deviations: a number's variance is (n + 1) scale^2."""
        return float(self.epsilon) / math.sqrt(self.n_numbers + 1.0)

    @property
    def scales(self) -> tuple[float, float]:
        """Half axes of the unit ellipsoid on lengths and on the products' diagonal; less by sqrt(2) beside it."""
        return spread_sds(float(self.epsilon), self.replaces)

    def noise(self, claim: str) -> NoiseRecord:
        """Return the noise box."""
        of_products = self.scales[1] / GRID**2
        return NoiseRecord(
            mechanism="ellipsoid_noise",
            noise="ellipsoid",
            sensitivity=2.0**0.5 if self.replaces else 1.0,
            scale=of_products,
            unit="longest squared score of a unit",
            formula="Frobenius norm of the products of a unit's score, cut in length",
            numerics="exact draw on whole steps",
            claim=claim,
        )

    def sums(self, table: Table, rows: RowMap, spread: Spread, places: Columns, rng: Source) -> Floats:
        """Return the pass's sums with their noise, shape (p, p + 1)."""
        p = self.n_coefficients
        work: Callable[[Cells], Integers] = partial(_of_rows, spread, places)
        of_units: OfUnits | None = None
        if table.metadata.rows_per_unit > 1:
            of_units = partial(spread.map.sums_of_units, columns=places)
        exact = table.map_reduce(rows, work, np.zeros((p, p + 1), dtype=np.int64), None, of_units)
        upper, (of_lengths, of_products) = np.triu_indices(p), self.scales
        scales = [of_products if i == j else of_products / 2.0**0.5 for i, j in zip(*upper, strict=True)]
        values: list[Any] = [int(value) for value in exact[:, :p][upper]]
        length, *products = ellipsoid_noise([int(exact[0, p]), *values], [of_lengths, *scales], rng)
        noisy = np.zeros((p, p + 1))
        noisy[0, p] = float(length)
        noisy[upper] = noisy[upper[::-1]] = [float(value) for value in products]
        return noisy


def _of_rows(spread: Spread, places: Columns, cells: Cells) -> Integers:
    return spread.map.sums(*places.of(cells))
