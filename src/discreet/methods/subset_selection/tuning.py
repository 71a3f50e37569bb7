"""Private estimates before a selection: bounds, center and clip of the target, a row count, R, a residual variance.

Each is made on request only, from its share of epsilon, and released as a step. The noise of a part depends on
public facts and on earlier parts alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.data.clipped_target import ClippedTarget
from discreet.data.engine import Table
from discreet.data.metadata import NumericColumn, half_width
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.target_places import CENTERS, CLIPS, center_counts, clip_counts
from discreet.mechanisms.additive import discrete_laplace
from discreet.mechanisms.generalized_exponential import noisy_min_scaled
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import noisy_min
from discreet.methods.base.private_bounds import estimate_bounds, sides_of, with_design
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.sum_of_squares import noisy_squares
from discreet.methods.subset_selection.target_scale import MEDIAN
from discreet.methods.subset_selection.tuning_plan import LEAST_VARIANCE, WIDE, Tuning
from discreet.release import StepRecord
from discreet.typing import Integers


@dataclass(frozen=True)
class Tuned:
    """The private estimates, and the moments under them.

    Parameters
    ----------
    setting : Setting
        With the private bounds and radius.
    moments : ndarray of int64
        Exact. Not releasable.
    n_rows : int or None
        Public, guessed, or a private estimate; at least 1.
    sigma2 : float or None
        In squared target bounds.
    steps : tuple of StepRecord
        With the values released.
    clipped : int or None
        Rows whose target is clipped, with noise.
    """

    setting: Setting
    moments: Integers
    n_rows: int | None
    sigma2: float | None
    steps: tuple[StepRecord, ...]
    clipped: int | None = None


class _Estimates:
    """The estimates of a plan, drawn one after the other."""

    def __init__(self, plan: Tuning, table: Table, rng: Source) -> None:
        self._plan, self._table, self._rng, self._budget = plan, table, rng, plan.budget
        self._parts = {part.name: part for part in plan.parts}
        self._steps: list[StepRecord] = []

    def run(self, progress: Callable[[int], None] | None) -> Tuned:
        """See `estimate_privately`."""
        setting, budget = self._plan.wide, self._budget
        if "bounds" in budget:
            setting = self._private_bounds()
        if "y_center" in budget:
            setting = self._private_center(setting)
        if "y_bound" in budget:
            setting = self._private_clip(setting)
        moments = self._table.moments(setting.design, progress)
        n_rows = self._private_rows(moments) if "n_rows" in budget else self._plan.n_public
        if "l1_radius" in budget:
            setting = self._private_radius(setting, moments)
        sigma2 = self._private_variance(setting, moments, n_rows or 1) if "sigma2" in budget else None
        clipped = self._private_clipped(setting) if "clipped" in budget else None
        return Tuned(setting, moments, n_rows, sigma2, tuple(self._steps), clipped)

    def _private_bounds(self) -> Setting:
        plan = self._plan
        sides = sides_of(plan.metadata, plan.wide.design.columns)
        law = (self._budget["bounds"] / len(sides), self._rng, plan.noise, plan.bounds_factor)
        metadata, bounds = estimate_bounds(self._table, plan.metadata, sides, plan.tail(), *law)
        self._steps += [self._parts[name].record(value) for name, value in bounds.items()]
        design = with_design(plan.wide.design, plan.metadata, metadata, plan.y_center, plan.y_bound)
        return plan.at_radius(replace(plan.wide, design=design))

    def _private_center(self, setting: Setting) -> Setting:
        """The median of the target within its bounds; then rows are encoded anew around it, with the bound as it is."""
        metadata = self._plan.metadata
        response = setting.design.metadata.declared(self._plan.wide.design.target)
        middle, half = half_width(response) if isinstance(response, NumericColumn) else (0.0, 1.0)
        alone = replace(setting.design, candidates=(), center=middle, bound=half, unit_bound=None, row_norm=None)
        counts = self._table.map_reduce(alone, center_counts, np.zeros(CENTERS, dtype=np.int64))
        law = (metadata.neighboring, metadata.rows_per_unit, self._budget["y_center"], self._rng, self._plan.noise)
        place = noisy_quantile(counts, MEDIAN, *law)
        center = middle + half * (2 * place - (CENTERS - 1)) / (CENTERS - 1)
        self._steps.append(self._parts["y_center"].record(center))
        return replace(setting, design=replace(setting.design, center=center))

    def _private_clip(self, setting: Setting) -> Setting:
        """A quantile of |y - center|, on the grid of the cells; then rows are encoded anew, clipped to it."""
        plan, metadata = self._plan, self._plan.metadata
        # The length of a unit row needs all of it.
        alone = setting.design if setting.design.unit_bound is not None else replace(setting.design, candidates=())
        counts = self._table.map_reduce(alone, clip_counts, np.zeros(len(CLIPS), dtype=np.int64))
        law = (metadata.neighboring, metadata.rows_per_unit, self._budget["y_bound"], self._rng, plan.noise)
        quantile = float(CLIPS[noisy_quantile(counts, plan.y_quantile, *law)]) / GRID
        bound = min(plan.y_factor * quantile, 1.0) * setting.design.bound
        self._steps.append(self._parts["y_bound"].record(bound))
        return plan.at_radius(replace(setting, design=replace(setting.design, bound=bound)))

    def _private_rows(self, moments: Integers) -> int:
        n_rows = max(self._noisy_count("n_rows", int(moments[0, 0]) // GRID**2), 1)
        self._steps.append(self._parts["n_rows"].record(float(n_rows)))
        return n_rows

    def _private_clipped(self, setting: Setting) -> int:
        """Rows whose target lies beyond the bounds as they are now, with noise."""
        rows = ClippedTarget(replace(setting.design, bound=setting.design.unit_bound or setting.design.bound))
        exact_count = int(self._table.map_reduce(rows, rows.count, np.zeros(1, dtype=np.int64))[0])
        counted = self._noisy_count("clipped", exact_count)
        self._steps.append(self._parts["clipped"].record(float(counted)))
        return counted

    def _noisy_count(self, name: str, exact_count: int) -> int:
        scale = self._plan.metadata.rows_per_unit / self._budget[name]
        return discrete_laplace([exact_count], scale, self._rng)[0]

    def _private_radius(self, setting: Setting, moments: Integers) -> Setting:
        """Specification 3.2 (b), or (c) where the grid is wide."""
        plan, epsilon, rng = self._plan, self._budget["l1_radius"], self._rng
        ratios = plan.ratios(setting)
        largest, wide = Sensitivity.of(setting.design, ratios[-1]), ratios[-1] > WIDE * ratios[0]
        sensitivities = [Sensitivity.of(setting.design, ratio) for ratio in ratios]
        tolerances = [float(sensitivity.tolerance if wide else largest.tolerance) for sensitivity in sensitivities]
        fits = [setting.full_score(moments, *pair) for pair in zip(ratios, tolerances, strict=True)]
        scores = np.array(fits) + plan.noise_costs(setting)
        if wide:
            sizes = [sensitivity.size + sensitivity.error for sensitivity in sensitivities]
            chosen = noisy_min_scaled(scores, sizes, epsilon, rng, plan.noise)
        else:
            # omega grows with R: the range of the largest radius covers the scores of all.
            gamma = largest.range + plan.rounding(setting)
            chosen = noisy_min(scores, gamma, epsilon, rng, plan.noise)
        radius = plan.radius_of(setting, chosen)
        self._steps.append(plan.radius_part(setting).record(radius))
        return replace(setting, radius=radius)

    def _private_variance(self, setting: Setting, moments: Integers, n_rows: int) -> float:
        """Specification 3.3: sigma^2 from the full model's residual sum of squares, in squared target bounds."""
        sensitivity = Sensitivity.of(setting.design, setting.ratio)
        exact_sum = setting.full_score(moments, setting.ratio, float(sensitivity.tolerance))
        total = noisy_squares(exact_sum, sensitivity, self._budget["sigma2"], self._rng)
        p = setting.design.n_columns - (1 if setting.intercept else 2)
        variance = float(min(max(total / max(n_rows - p, 1), LEAST_VARIANCE), Fraction(1)))
        self._steps.append(self._plan.variance_part(setting).record(variance * setting.design.bound**2))
        return variance


def estimate_privately(plan: Tuning, table: Table, rng: Source, progress: Callable[[int], None] | None = None) -> Tuned:
    """Draw the private estimates one after the other.

    Parameters
    ----------
    plan : Tuning
        What to estimate, and at which epsilon.
    table : Table
        The private table.
    rng : Source
        Where the noise comes from.
    progress : callable, optional
        Called as rows of the last pass are read.

    Returns
    -------
    Tuned
        The estimates.

    Notes
    -----
    Claim: ``tuning.privacy.md``. Cost: one pass over the rows for the moments, one more each for private bounds
    and for a private bound of the target.
    """
    return _Estimates(plan, table, rng).run(progress)
