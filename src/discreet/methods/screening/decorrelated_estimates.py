"""What decorrelated scores estimate with noise before they score: centers, a distance, products and a pilot."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.engine import Table
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import BINS, DISTANCES, SaturatedRows
from discreet.kernels.rows.decorrelated_scores import Target
from discreet.kernels.sufficient_statistics.decorrelation import (
    SAMPLING,
    Columns,
    Pilot,
    columns_of,
    corrected,
    pilot,
    shrunk_means,
)
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.cube import cube_noise, cube_variance
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.methods.screening.decorrelated_plan import HALF, ScorePlan
from discreet.release import StepRecord
from discreet.typing import Cells, Integers


@dataclass(frozen=True)
class NoisyEstimates:
    """One run of the parts before the choice: each is called once, in the order in which they stand here.

    Parameters
    ----------
    plan : ScorePlan
        Which parts there are, and their noise.
    table : Table
        The private table.
    rng : Source
        Where the noise comes from.
    steps : list of StepRecord
        What was released, in its order.
    """

    plan: ScorePlan
    table: Table
    rng: Source
    steps: list[StepRecord] = field(default_factory=list)

    def rows(self) -> SaturatedRows:
        """Return the rows with the centers of their columns: public ones, or noisy means."""
        if "x_center" not in self.plan.parts:
            return self.plan.rows
        if not self.plan.n_means:
            self.steps.append(self.plan.parts["x_center"].record())
            return self.plan.rows
        start, scale = np.zeros(self.plan.n_means, dtype=np.int64), self.plan.scale("x_center")
        sums = self.table.map_reduce(
            self.plan.design, partial(self.plan.rows.plain_sums, with_count=self.plan.buys_count), start
        )
        noisy = np.array(cube_noise(sums.tolist(), scale * GRID, self.rng), dtype=np.float64) / GRID
        self.steps.append(self.plan.parts["x_center"].record())
        spread = math.sqrt(cube_variance(len(noisy), scale))
        n_rows = max(float(noisy[0]), spread) if self.plan.buys_count else float(self.plan.metadata.n_rows or 1)
        means = shrunk_means(noisy[self.plan.buys_count :] / n_rows, (spread / n_rows) ** 2)
        centers = np.zeros(self.plan.width, dtype=np.int64)
        centers[~self.plan.rows.is_two_valued] = np.rint(means * GRID)
        return replace(self.plan.rows, centers=tuple(centers.tolist()))

    def center(self) -> int:
        """Return the target's center in steps of its grid: its noisy median, or a public point."""
        if self.plan.method.y_center != "private":
            return self.plan.public_center
        counts = self.table.map_reduce(self._target_alone, self.plan.rows.bins, np.zeros(BINS, dtype=np.int64))
        center = self.plan.center_of_bin(noisy_quantile(counts, HALF, *self._law("y_median")))
        self.steps.append(self.plan.parts["y_median"].record(self.plan.in_units(center)))
        return center

    def distance(self, center: int) -> int:
        """Return the noisy median distance of the target from its center, in steps of its grid."""
        start = np.zeros(len(DISTANCES), dtype=np.int64)
        counts = self.table.map_reduce(self._target_alone, partial(self.plan.rows.distances, center=center), start)
        distance = int(DISTANCES[noisy_quantile(counts, HALF, *self._law("y_scale"))])
        self.steps.append(self.plan.parts["y_scale"].record(distance / GRID * self.plan.design.bound))
        return distance

    def moments_and_pilot(self, rows: SaturatedRows, target: Target) -> tuple[float, Columns, Pilot]:
        """Return the number of rows, the columns' moments and the pilot's coefficients, all from noisy sums."""
        first, _ = self.plan.rows.pairs
        start = np.zeros(1 + self.plan.width + len(first) + self.plan.width + 1, dtype=np.int64)
        if not self.plan.parts.keys() & {"gram", "pilot"}:
            return float(self.plan.metadata.n_rows or 1), self.plan.public_columns, Pilot.none(self.plan.width)
        sums = self.table.map_reduce(self.plan.design, partial(rows.first_sums, target=target), start)
        n_rows, columns = self._columns(sums)
        if "pilot" not in self.plan.parts:
            return n_rows, columns, Pilot.none(self.plan.width)
        signs = cube_noise(sums[-self.plan.width - 1 :].tolist(), self.plan.scale("pilot") * GRID**2, self.rng)
        self.steps.append(self.plan.parts["pilot"].record())
        averages = np.array(signs, dtype=np.float64) / GRID**2 / n_rows
        noise = cube_variance(self.plan.width + 1, self.plan.scale("pilot")) / n_rows**2
        return n_rows, columns, pilot(columns, averages, n_rows, noise)

    def _columns(self, sums: Integers) -> tuple[float, Columns]:
        """Return the number of rows and the columns' moments, as far as they are not public from noisy sums."""
        if "gram" not in self.plan.parts:
            return float(self.plan.metadata.n_rows or 1), self.plan.public_columns
        first, second = self.plan.rows.pairs
        at = 0 if self.plan.buys_count else 1
        noisy = cube_noise(sums[at : at + self.plan.n_products].tolist(), self.plan.scale("gram") * GRID**2, self.rng)
        self.steps.append(self.plan.parts["gram"].record())
        spread = math.sqrt(cube_variance(self.plan.n_products, self.plan.scale("gram")))
        n_rows = max(noisy[0] / GRID**2, spread) if self.plan.buys_count else float(self.plan.metadata.n_rows or 1)
        if self.plan.known is not None:
            return n_rows, self.plan.public_columns
        averages = np.array(noisy[len(noisy) - self.plan.width - len(first) :], dtype=np.float64) / GRID**2 / n_rows
        moments = np.eye(self.plan.width)
        moments[first, second] = moments[second, first] = averages[self.plan.width :]
        variance = (spread / n_rows) ** 2
        return n_rows, columns_of(averages[: self.plan.width], moments, variance, self.plan.rows.is_two_valued)

    def residual_mean(self, residuals: Callable[[Cells], Integers], before: Pilot, n_rows: float) -> Pilot:
        """Return the pilot, corrected by the noisy mean of its residuals."""
        total = self.table.map_reduce(self.plan.design, residuals, np.zeros(1, dtype=np.int64))
        scale = self.plan.scale("y_shift")
        noisy = discrete_laplace([int(total[0])], scale * GRID, self.rng)[0] / GRID
        self.steps.append(self.plan.parts["y_shift"].record(noisy / n_rows))
        return corrected(before, noisy / n_rows, SAMPLING / n_rows + 2.0 * (float(scale) / n_rows) ** 2)

    @property
    def _target_alone(self) -> Design:
        return replace(self.plan.design, candidates=())

    def _law(self, name: str) -> tuple[NeighboringRelation, int, Fraction, Source]:
        return self.plan.metadata.neighboring, self.plan.rows_per_unit, self.plan.budget[name], self.rng
