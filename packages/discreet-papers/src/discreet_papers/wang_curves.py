"""Algorithm 2 of Wang et al. 2018 by the number of released points: what its figures draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from discreet.accounting.guarantee import exact_epsilon
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.rng import Source
from discreet.methods.base.rows_in_memory import all_rows
from discreet.methods.public_records.hybrid_published import STEP
from discreet.typing import Floats, Integers
from discreet_papers.wang_counts import GrowingSet
from discreet_papers.wang_pairs import Error, Pair, published


@dataclass(frozen=True)
class Parts:
    """How the epsilon that is claimed is divided.

    Parameters
    ----------
    order : Fraction
        For the counts beside all points, which order them.
    weights : Fraction
        For the counts of all sizes together.
    criterion : Fraction
        For the error of all sizes together, as claimed; each size takes all of it.
    """

    order: Fraction
    weights: Fraction
    criterion: Fraction

    def cost(self, n_sizes: int) -> Fraction:
        """Return the privacy cost for a claimed epsilon of 1, were sensitivities right, with each criterion counted."""
        return self.order + self.weights + n_sizes * self.criterion


SIMULATED = Parts(Fraction(4, 10), Fraction(1, 10), Fraction(1, 2))
"""Section 5.1: 0.8, 0.2 and 1 of half the total."""

CLINICAL = Parts(Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
"""Section 5.2."""

ORDER_SHARE = Fraction(8, 10)
"""Of epsilon, for the order of the points where one size is released: the paper's ratio."""


@dataclass(frozen=True)
class Curve:
    """Estimates by the number of released points.

    Parameters
    ----------
    sizes : tuple of int
        Numbers of points.
    coefficients : tuple of tuple of float
        Of each.
    errors : tuple of Error
        Of each; not private.
    """

    sizes: tuple[int, ...]
    coefficients: tuple[tuple[float, ...], ...]
    errors: tuple[Error, ...]

    def choose(self, epsilon: Fraction, rng: Source) -> int:
        """Return the place of the least error after noise for a sensitivity of 1, as printed.

        Not private: the sensitivity grows like sqrt(n) / 4.

        Source: Wang et al. 2018, Algorithm 2, steps 5 and 6.
        """
        steps = [round(error.t * STEP) for error in self.errors]
        return int(np.argmin(discrete_laplace(steps, STEP / epsilon, rng)))


class Algorithm:
    """The published algorithm on one pair of tables.

    Parameters
    ----------
    pair : Pair
        Of tables.
    sizes : sequence of int
        Numbers of points to compare, increasing.
    parts : Parts
        Of the epsilon that is claimed.
    """

    def __init__(self, pair: Pair, sizes: Sequence[int], parts: Parts = SIMULATED) -> None:
        self.pair, self.sizes, self.parts = pair, tuple(sizes), parts
        prepared: Any = published(pair, self.sizes)(epsilon=1.0).prepare(pair.metadata, pair.target)
        self._objective, self._X, self._y = prepared.objective, prepared.X, prepared.y
        self._cells = prepared.points.cells
        self._rows = all_rows(pair.table, prepared.points.design)

    @cached_property
    def _all(self) -> GrowingSet:
        growing = GrowingSet(self._rows, self._cells)
        growing.add(np.arange(len(self._cells)))
        return growing

    def without_noise(self) -> Curve:
        """Return the estimates on exact counts, the points in the order of exact counts: the figures' black curve."""
        return self._curve(None, None, True, Source.seeded(0))

    def as_claimed(self, epsilon: float, rng: Source) -> tuple[Curve, int]:
        """Return the algorithm as printed, at the epsilon that it claims.

        Returns (1) the red curve of the figures; (2) the place that the noisy criteria choose.

        The draws are those of `PublicSubset(as_published=True)`, where the parts are the same.

        Source: Wang et al. 2018, Algorithm 2.
        """
        return self._run(exact_epsilon(epsilon), rng)

    def honest(self, epsilon: float, rng: Source) -> tuple[Curve, int]:
        """Return curve and place with every criterion charged: all parts smaller, so that they add up to epsilon."""
        return self._run(exact_epsilon(epsilon) / self.parts.cost(len(self.sizes)), rng)

    def one_size(self, epsilon: float, rng: Source) -> Curve:
        """Return the curve of sizes fixed beforehand: no criterion, ties counted once.

        Each size alone is private at epsilon; which one is best is not known.
        """
        total = exact_epsilon(epsilon)
        return self._curve(ORDER_SHARE * total, (1 - ORDER_SHARE) * total, False, rng)

    def _run(self, claimed: Fraction, rng: Source) -> tuple[Curve, int]:
        each = self.parts.weights * claimed / len(self.sizes)
        curve = self._curve(self.parts.order * claimed, each, True, rng)
        return curve, curve.choose(self.parts.criterion * claimed, rng)

    def _curve(self, order: Fraction | None, weights: Fraction | None, of_ties: bool, rng: Source) -> Curve:
        """Return the curve with noise for these parts of epsilon, without noise for None."""
        ranked = np.argsort(-_noisy(self._all.counts(of_ties), order, rng), kind="stable")
        growing, before = GrowingSet(self._rows, self._cells), 0
        coefficients, errors = [], []
        theta: Floats | None = None
        for size in self.sizes:
            growing.add(ranked[before:size])
            before, subset = size, np.sort(ranked[:size])
            noisy = np.maximum(_noisy(growing.counts(of_ties)[subset], weights, rng), 0.0)
            theta = self._objective.minimize(self._X[subset], self._y[subset], noisy, 0.0, theta)
            estimates = tuple(each.estimate for each in self._objective.record(theta).coefficients)
            coefficients.append(estimates)
            errors.append(self.pair.error(estimates))
        return Curve(self.sizes, tuple(coefficients), tuple(errors))


def _noisy(counts: Integers, epsilon: Fraction | None, rng: Source) -> Floats:
    if epsilon is None:
        return counts.astype(np.float64)
    return np.array(discrete_laplace(counts.tolist(), 2 / epsilon, rng), dtype=np.float64)
