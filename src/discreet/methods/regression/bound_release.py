"""A noisy histogram of counts for pure epsilon: where counts are clipped before the objective is perturbed."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.events import LaplaceEvent
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.kernels.glm.count_bound import UNIT, CountBound, Histogram, HistogramRequest, chosen_bound
from discreet.kernels.glm.families import Family
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.release import ClippedRecord, NoiseRecord
from discreet.typing import Cells, Integers

SHARE = Fraction(1, 10)
"""Of epsilon."""


@dataclass(frozen=True)
class BoundRelease:
    """One pass before the coefficients are released: what it costs and how it is drawn.

    Parameters
    ----------
    epsilon : Fraction
        Of the pass.
    family : Family
        Counts up to the declared bound.
    replaces : bool
        A unit's rows are replaced by others, else added or removed.
    n_rows : int
        The most rows of a unit.
    """

    epsilon: Fraction
    family: Family
    replaces: bool
    n_rows: int

    @property
    def event(self) -> LaplaceEvent:
        """What the pass costs."""
        return LaplaceEvent(self.epsilon)

    @property
    def sensitivity(self) -> int:
        """Rows that leave a bin or come to one: a row that is replaced does both."""
        return (2 if self.replaces else 1) * self.n_rows

    @property
    def scale(self) -> Fraction:
        """Of the noise, in the histogram's units."""
        return self.sensitivity * UNIT / self.epsilon

    def noise(self, claim: str) -> NoiseRecord:
        """Return the noise box."""
        return NoiseRecord(
            mechanism="discrete_laplace",
            noise="laplace",
            sensitivity=float(self.sensitivity),
            scale=float(self.scale) / UNIT,
            unit="rows",
            formula="l1, of the numbers of rows whose count is in each bin",
            numerics="exact draw on whole steps",
            claim=claim,
        )

    def chosen(self, table: Table, design: Design, noise: float, rng: Source) -> CountBound:
        """Return where counts are clipped.

        `noise` is the standard deviation of the noise on a score whose residuals are at most 1.
        """
        histogram, target = Histogram.of(self.family), design.n_columns - 1

        def work(cells: Cells) -> Integers:
            return histogram.sums(cells[:, target:])

        exact = table.map_reduce(design, work, np.zeros(histogram.n_columns, dtype=np.int64))
        noisy = discrete_laplace([int(value) for value in exact], self.scale, rng)
        request = HistogramRequest(histogram, float(self.epsilon), math.sqrt(2.0) * float(self.scale))
        return chosen_bound(request, np.array([float(value) for value in noisy]), noise)


def bound_record(counts: CountBound) -> dict[str, Any]:
    """Return what a release tells of where counts were clipped."""
    clipped = ClippedRecord(low=counts.low, high=counts.high, counted=True, stretch=0.0)
    return {"count_bound": counts.bound, "clipped": clipped}
