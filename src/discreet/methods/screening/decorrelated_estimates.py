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
from discreet.kernels.rows.decorrelated_rows import BINS, DISTANCES, OCTAVES, STEPS, SaturatedRows
from discreet.kernels.rows.decorrelated_scores import Target
from discreet.kernels.sufficient_statistics.cut_columns import MOST_CENTER, Columns, columns_of, shrunk_means
from discreet.kernels.sufficient_statistics.decorrelation import SAMPLING, Pilot, corrected, pilot
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.cube import cube_noise, cube_variance
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.methods.screening.decorrelated_columns import cut_at
from discreet.methods.screening.decorrelated_plan import HALF, OF_UNIFORM, ScorePlan
from discreet.release import StepRecord
from discreet.typing import Cells, Floats, Integers

REACH = 1.3
"""How far centers are sought again from the first ones, in standard deviations of their noise."""


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
        """Return the rows with where their columns are cut: around public or noisy centers, by bounds or noisy spreads.

        What a column fills of [-1, 1] stands out of noise that is as large for all: wide bounds hide none.
        """
        if self.plan.is_scaled:
            return self.plan.rows
        rows = self._centered()
        if "x_scale" not in self.plan.parts:
            return cut_at(rows, self.plan.saturation)
        averages, _ = self._averages("x_scale", rows.log_distances, STEPS)
        # An average of 1 lies at the bound, of -1 `OCTAVES` below it, and that of a uniform column `OF_UNIFORM` below
        # it.
        octaves = (1.0 - averages) * OCTAVES / 2.0 - OF_UNIFORM
        return cut_at(rows, self.plan.cut * np.minimum(np.exp2(-octaves), 1.0))

    def _centered(self) -> SaturatedRows:
        """Return the rows with their columns' centers: public, or noisy means, where noise is large by a second look.

        A second look cuts at w around the first center c: c + w mean(cut((x - c) / w)). Its noise is w times that of a
        first look at the same price, and a column that is far narrower than its bounds lies within w.
        """
        rows = self.plan.rows
        if "x_center" not in self.plan.parts:
            return rows
        averages, spread = self._averages("x_center", rows.plain_sums, GRID)
        centers = np.zeros(rows.width, dtype=np.int64)
        centers[~rows.is_two_valued] = np.rint(shrunk_means(averages, spread**2) * GRID)
        rows = replace(rows, centers=tuple(centers.tolist()))
        if "x_recenter" not in self.plan.parts:
            return rows
        # From public facts and what was released: the second look is another public row map.
        reach = min(max(round(REACH * spread * GRID), 1), GRID)
        averages, spread = self._averages("x_recenter", partial(rows.near_sums, reach=reach), GRID)
        moved = centers[~rows.is_two_valued] + np.rint(averages * reach)
        centers[~rows.is_two_valued] = np.rint(np.clip(moved, -MOST_CENTER * GRID, MOST_CENTER * GRID))
        return replace(rows, centers=tuple(centers.tolist()))

    def _averages(self, name: str, sums_of: Callable[..., Integers], steps: int) -> tuple[Floats, float]:
        """Return noisy averages of the columns that are not of two values, and the standard deviation of their noise.

        `sums_of` are sums of numbers in [-1, 1], in units of 1 / `steps`.
        """
        plan, n = self.plan, self.plan.n_means
        self.steps.append(plan.parts[name].record())
        if not n:
            return np.zeros(0), 0.0
        work = partial(sums_of, with_count=plan.buys_count)
        sums = self.table.map_reduce(plan.design, work, np.zeros(n, dtype=np.int64))
        noisy = np.array(cube_noise(sums.tolist(), plan.scale(name) * steps, self.rng), dtype=np.float64) / steps
        spread = math.sqrt(cube_variance(n, plan.scale(name)))
        # A noisy count near 0 or below would turn averages over: it is taken as no less than its noise.
        n_rows = max(float(noisy[0]), spread) if plan.buys_count else float(plan.metadata.n_rows or 1)
        return noisy[plan.buys_count :] / n_rows, spread / n_rows

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
        # The first sum counts the rows: where their number is public it is left out, and gets no noise.
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
        is_centered = self.plan.is_scaled or "x_center" in self.plan.bought
        facts = (self.plan.rows.is_two_valued, self.plan.cut, is_centered)
        return n_rows, columns_of(averages[: self.plan.width], moments, variance, *facts)

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
