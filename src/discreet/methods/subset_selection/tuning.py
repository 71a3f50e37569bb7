"""Private estimates before a selection: bounds, center and clip of the target, a row count, R, a residual variance.

Each is made on request only, from its share of epsilon, and released as a step. The noise of a part depends on
public facts and on earlier parts alone.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from discreet.accounting.events import LaplaceEvent, SelectionEvent
from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.bound_grid import bound_grid
from discreet.data.clipped_target import ClippedTarget
from discreet.data.engine import Table
from discreet.data.metadata import Metadata, NumericColumn, half_width
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.target_places import CENTERS, CLIPS, center_counts, clip_counts
from discreet.kernels.sufficient_statistics.clip import widening
from discreet.mechanisms.additive import check_scale, discrete_laplace
from discreet.mechanisms.generalized_exponential import noisy_min_scaled
from discreet.mechanisms.quantile import noisy_quantile
from discreet.mechanisms.rng import Source
from discreet.mechanisms.selection import Noise, noisy_min
from discreet.methods.base.part import Part
from discreet.methods.base.private_bounds import estimate_bounds, sides_of, with_design
from discreet.methods.base.rank_part import rank_part
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.sum_of_squares import noisy_squares, squares_part
from discreet.methods.subset_selection.target_scale import MEDIAN
from discreet.parameters.subset_selection import SHARES
from discreet.release import NoiseRecord, StepRecord
from discreet.typing import Integers

Y_QUANTILE = 0.5
"""Of |y - center|: noise grows with the square of the bound, and a target that is clipped still tells high from low."""


RADII = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
"""R / r that may be chosen (privacy specification 3.2)."""

WIDE = 30
"""From this ratio of the largest to the smallest R on, their sensitivities are too different to be treated as one."""

LEAST_VARIANCE = Fraction(1, 10**6)
"""s_min^2 / r^2."""


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


def split(epsilon: Fraction, parts: Sequence[str], shares: Mapping[str, float] | None) -> dict[str, Fraction]:
    """Return the epsilon of each private estimate.

    Parameters
    ----------
    epsilon : Fraction
        Of the whole request, in nats.
    parts : sequence of str
        Their names.
    shares : dict of str to float, optional
        Shares of epsilon in place of the defaults.

    Returns
    -------
    dict of str to Fraction
        Their sum is less than epsilon; the selection has the rest, exactly.

    Raises
    ------
    InvalidParameterError
        When the parts would leave nothing for the selection.
    """
    part_shares = {name: exact((shares or {}).get(name, SHARES[name]), f"shares[{name!r}]") for name in parts}
    total = sum(part_shares.values(), Fraction(0))
    if total >= 1:
        named = ", ".join(f"{name} {float(share):g}" for name, share in part_shares.items())
        raise InvalidParameterError(
            f"shares must leave something for the selection, but {named} add up to {float(total):g} of epsilon. "
            "Lower them, or make a part public."
        )
    return {name: epsilon * share for name, share in part_shares.items()}


@dataclass(frozen=True)
class Tuning:
    """The public plan of the private estimates before the selection.

    Parameters
    ----------
    metadata : Metadata
        As declared, before any bound is estimated.
    wide : Setting
        With the widest bounds and the largest radius that can come out.
    noise : {"exponential", "gumbel", "laplace"}
        Law of the noise of every choice.
    mechanism : str
        Its name.
    budget : dict of str to Fraction
        Epsilon of each part, from `split`.
    remaining : Fraction
        Epsilon of what comes after.
    y_center, y_bound, l1_radius : float or None
        Public ones, as far as they are given; a center that is estimated is not one.
    y_quantile : Fraction
        Which quantile of |y - y_center| the bound is to be.
    l1_grid : tuple of float or None
        Public values that R may take, in units of the target; by default multiples of r.
    n_public : int or None
        Number of rows, public or guessed.
    y_factor : float
        By what the quantile of |y - y_center| is multiplied.
    most_clipped : float or None
        Share of a column's rows that private bounds should cut at most, so that slopes are not bent; default any.
    """

    metadata: Metadata
    wide: Setting
    noise: Noise
    mechanism: str
    budget: dict[str, Fraction]
    remaining: Fraction
    y_center: float | None
    y_bound: float | None
    l1_radius: float | None
    y_quantile: Fraction
    l1_grid: Sequence[float] | None
    n_public: int | None
    y_factor: float = 1.0
    most_clipped: float | None = None

    # ---- the plan

    @property
    def parts(self) -> tuple[Part, ...]:
        """The private estimates, in order; the noise is the largest that it can be."""
        makers: dict[str, Callable[[], list[Part]]] = {
            "bounds": self._bound_parts,
            "y_center": lambda: [self._center_part()],
            "y_bound": lambda: [self._y_part()],
            "n_rows": lambda: [self._count_part("n_rows", "the number of rows")],
            "l1_radius": lambda: [self._radius_part(self.wide)],
            "sigma2": lambda: [self._variance_part(self.wide)],
            "clipped": lambda: [self._count_part("clipped", "the number of clipped rows")],
        }
        return tuple(part for name in makers if name in self.budget for part in makers[name]())

    @property
    def _relation(self) -> NeighboringRelation:
        return self.metadata.neighboring

    def _rank_part(self, name: str, epsilon: Fraction, quantile: Fraction, n_points: int) -> Part:
        return rank_part(name, epsilon, quantile, self.metadata, n_points, self.mechanism)

    def _bound_parts(self) -> list[Part]:
        sides = sides_of(self.metadata, self.wide.design.columns)
        tail, n_points = self.tail(), len(bound_grid())
        epsilon = self.budget["bounds"] / len(sides)
        return [
            self._rank_part(f"{side} bound of {name}", epsilon, tail if side == "lower" else 1 - tail, n_points)
            for name, side in sides
        ]

    def tail(self) -> Fraction:
        """Share of rows that a private bound may cut at its end: half a per cent, or as many as the noise of the choice
        can hide.
        """
        if self.n_public is None:
            return Fraction(1, 50)
        n_sides = len(sides_of(self.metadata, self.wide.design.columns))
        scale = float(2 * self.metadata.rows_per_unit * n_sides / self.budget["bounds"])
        # Beyond all rows the scores are equal: leave more rows than the largest of the noise, scale log(points).
        # A bound that lies beyond all rows may be huge: where it is moved out anyhow, more rows are left.
        rows = (1.5 if self.most_clipped is None else 1.9) * scale * math.log(len(bound_grid()))
        least, steps = (0.005, 1000) if self.most_clipped is None else (self.most_clipped / 2.0, 10_000)
        return Fraction(round(steps * min(max(rows / self.n_public, least, 1 / steps), 0.2)), steps)

    @property
    def _bounds_factor(self) -> float:
        """By what private bounds are made wider: as far as noise forbids to ask for fewer rows beyond them."""
        return 1.0 if self.most_clipped is None else widening(float(self.tail()), self.most_clipped / 2.0)

    def _center_part(self) -> Part:
        return self._rank_part("y_center", self.budget["y_center"], MEDIAN, CENTERS)

    def _y_part(self) -> Part:
        return self._rank_part("y_bound", self.budget["y_bound"], self.y_quantile, len(CLIPS))

    def _count_part(self, name: str, words: str) -> Part:
        rows, epsilon = self.metadata.rows_per_unit, self.budget[name]
        check_scale(rows / epsilon, words)
        box = NoiseRecord(
            mechanism="discrete_laplace",
            noise="laplace",
            sensitivity=float(rows),
            scale=float(rows / epsilon),
            unit="rows",
            formula=f"{rows}: rows of one {self.metadata.unit}",
            numerics="exact draw",
            claim="methods/subset_selection/tuning.privacy.md",
        )
        return Part(name, LaplaceEvent(epsilon), box)

    def _ratios(self, setting: Setting) -> tuple[Fraction, ...]:
        """R / r that may be chosen, increasing."""
        if self.l1_grid is None:
            return RADII
        bound = exact(setting.design.bound, "y_bound")
        return tuple(sorted(exact(radius, "l1_grid") / bound for radius in self.l1_grid))

    def _radius_part(self, setting: Setting) -> Part:
        ratios, epsilon, unit = self._ratios(setting), self.budget["l1_radius"], setting.design.bound**2
        largest = Sensitivity.of(setting.design, ratios[-1])
        if ratios[-1] > WIDE * ratios[0]:
            numbers = {"sensitivity": 2.0, "inflation": 0.0, "scale": float(2 / epsilon), "unit": "own sensitivities"}
            text = {"formula": "2: each score in units of its own (r + R)^2 and another's"}
            claim = "mechanisms/generalized_exponential.privacy.md"
        else:
            inflation = 2 * largest.error + self._rounding(setting)
            numbers = {
                "sensitivity": float(largest.gamma) * unit,
                "inflation": float(inflation) * unit,
                "scale": float((largest.gamma + inflation) / epsilon) * unit,
            }
            text = {"formula": "range of the full model's score at the largest R"}
            claim = "methods/subset_selection/tuning.privacy.md"
        draw = {"mechanism": self.mechanism, "noise": self.noise, "n_candidates": len(ratios)}
        text |= {"numerics": "exact draw; score errors counted in the inflation", "claim": claim}
        box = NoiseRecord.model_validate({**numbers, **draw, **text})
        return Part("l1_radius", SelectionEvent(epsilon, self.noise), box)

    def _variance_part(self, setting: Setting) -> Part:
        return squares_part("sigma2", setting, self.budget["sigma2"], "f(all candidates), divided by n - p")

    # ---- the run

    def _run(self, table: Table, rng: Source, progress: Callable[[int], None] | None) -> Tuned:
        """See `estimate_privately`."""
        setting, steps = self.wide, list[StepRecord]()
        parts = {part.name: part for part in self.parts}
        if "bounds" in self.budget:
            setting = self._private_bounds(table, rng, parts, steps)
        if "y_center" in self.budget:
            setting = self._private_center(setting, table, rng, parts, steps)
        if "y_bound" in self.budget:
            setting = self._private_clip(setting, table, rng, parts, steps)
        moments = table.moments(setting.design, progress)
        n_rows = self.n_public
        if "n_rows" in self.budget:
            rows = int(moments[0, 0]) // GRID**2
            scale = self.metadata.rows_per_unit / self.budget["n_rows"]
            n_rows = max(discrete_laplace([rows], scale, rng)[0], 1)
            steps.append(parts["n_rows"].record(float(n_rows)))
        if "l1_radius" in self.budget:
            setting = self._private_radius(setting, moments, rng, steps)
        sigma2 = None
        if "sigma2" in self.budget:
            sigma2 = self._private_variance(setting, moments, n_rows or 1, rng, steps)
        clipped = self._clipped(setting, table, rng, steps) if "clipped" in self.budget else None
        return Tuned(setting, moments, n_rows, sigma2, tuple(steps), clipped)

    def _clipped(self, setting: Setting, table: Table, rng: Source, steps: list[StepRecord]) -> int:
        """Rows whose target lies beyond the bounds as they are now, with noise."""
        rows = ClippedTarget(replace(setting.design, bound=setting.design.unit_bound or setting.design.bound))
        exact_count = int(table.map_reduce(rows, rows.count, np.zeros(1, dtype=np.int64))[0])
        scale = self.metadata.rows_per_unit / self.budget["clipped"]
        counted = discrete_laplace([exact_count], scale, rng)[0]
        steps.append(self._count_part("clipped", "the number of clipped rows").record(float(counted)))
        return counted

    def _at_radius(self, setting: Setting) -> Setting:
        """With the public R, or the default one, for the bound as it is now; as wide as can be where R is private."""
        bound = setting.design.bound
        if "l1_radius" in self.budget:
            return replace(setting, radius=max(self.l1_grid) if self.l1_grid else 8.0 * bound)
        ratio = self.wide.radius / self.wide.design.bound
        return replace(setting, radius=self.l1_radius if self.l1_radius is not None else ratio * bound)

    def _private_bounds(self, table: Table, rng: Source, parts: Mapping[str, Part], steps: list[StepRecord]) -> Setting:
        sides = sides_of(self.metadata, self.wide.design.columns)
        epsilon = self.budget["bounds"] / len(sides)
        law = (epsilon, rng, self.noise, self._bounds_factor)
        metadata, bounds = estimate_bounds(table, self.metadata, sides, self.tail(), *law)
        steps += [parts[name].record(value) for name, value in bounds.items()]
        design = with_design(self.wide.design, self.metadata, metadata, self.y_center, self.y_bound)
        return self._at_radius(replace(self.wide, design=design))

    def _private_center(
        self, setting: Setting, table: Table, rng: Source, parts: Mapping[str, Part], steps: list[StepRecord]
    ) -> Setting:
        """The median of the target within its bounds; then rows are encoded anew around it, with the bound as it is."""
        response = setting.design.metadata.declared(self.wide.design.target)
        middle, half = half_width(response) if isinstance(response, NumericColumn) else (0.0, 1.0)
        alone = replace(setting.design, candidates=(), center=middle, bound=half, unit_bound=None, row_norm=None)
        counts = table.map_reduce(alone, center_counts, np.zeros(CENTERS, dtype=np.int64))
        law = (self._relation, self.metadata.rows_per_unit, self.budget["y_center"], rng, self.noise)
        place = noisy_quantile(counts, MEDIAN, *law)
        center = middle + half * (2 * place - (CENTERS - 1)) / (CENTERS - 1)
        steps.append(parts["y_center"].record(center))
        return replace(setting, design=replace(setting.design, center=center))

    def _private_clip(
        self, setting: Setting, table: Table, rng: Source, parts: Mapping[str, Part], steps: list[StepRecord]
    ) -> Setting:
        """A quantile of |y - center|, on the grid of the cells; then rows are encoded anew, clipped to it."""
        # The length of a unit row needs all of it.
        alone = setting.design if setting.design.unit_bound is not None else replace(setting.design, candidates=())
        counts = table.map_reduce(alone, clip_counts, np.zeros(len(CLIPS), dtype=np.int64))
        law = (self._relation, self.metadata.rows_per_unit, self.budget["y_bound"], rng, self.noise)
        quantile = float(CLIPS[noisy_quantile(counts, self.y_quantile, *law)]) / GRID
        bound = min(self.y_factor * quantile, 1.0) * setting.design.bound
        steps.append(parts["y_bound"].record(bound))
        return self._at_radius(replace(setting, design=replace(setting.design, bound=bound)))

    def _private_radius(self, setting: Setting, moments: Integers, rng: Source, steps: list[StepRecord]) -> Setting:
        """Specification 3.2 (b), or (c) where the grid is wide."""
        ratios, epsilon = self._ratios(setting), self.budget["l1_radius"]
        largest, wide = Sensitivity.of(setting.design, ratios[-1]), ratios[-1] > WIDE * ratios[0]
        sensitivities = [Sensitivity.of(setting.design, ratio) for ratio in ratios]
        tolerances = [float(sensitivity.tolerance if wide else largest.tolerance) for sensitivity in sensitivities]
        fits = [setting.full_score(moments, *pair) for pair in zip(ratios, tolerances, strict=True)]
        scores = np.array(fits) + self._noise_costs(setting)
        if wide:
            sizes = [sensitivity.size + sensitivity.error for sensitivity in sensitivities]
            chosen = noisy_min_scaled(scores, sizes, epsilon, rng, self.noise)
        else:
            gamma = largest.range + self._rounding(setting)
            chosen = noisy_min(scores, gamma, epsilon, rng, self.noise)
        radius = self._radius_of(setting, chosen)
        part = self._radius_part(setting)
        steps.append(part.record(radius))
        return replace(setting, radius=radius)

    def _radius_of(self, setting: Setting, chosen: int) -> float:
        if self.l1_grid is None:
            return float(RADII[chosen]) * setting.design.bound
        return float(sorted(self.l1_grid)[chosen])

    def _noise_costs(self, setting: Setting) -> npt.NDArray[np.float64]:
        """kappa_j: the noise that each R costs the selection (specification 3.2), in squared target bounds."""
        spread = 2.0 * math.log(max(setting.space.n_models, 2))
        ranges = [Sensitivity.of(setting.design, ratio).range for ratio in self._ratios(setting)]
        return spread * np.array([float(score_range / self.remaining) for score_range in ranges])

    def _rounding(self, setting: Setting) -> Fraction:
        """Twice the rounding error of adding the noise costs."""
        return Fraction(float(self._noise_costs(setting).max())) / 2**50

    def _private_variance(
        self, setting: Setting, moments: Integers, n_rows: int, rng: Source, steps: list[StepRecord]
    ) -> float:
        """Specification 3.3: sigma^2 from the full model's residual sum of squares, in squared target bounds."""
        sensitivity = Sensitivity.of(setting.design, setting.ratio)
        exact_sum = setting.full_score(moments, setting.ratio, float(sensitivity.tolerance))
        total = noisy_squares(exact_sum, sensitivity, self.budget["sigma2"], rng)
        p = setting.design.n_columns - (1 if setting.intercept else 2)
        variance = float(min(max(total / max(n_rows - p, 1), LEAST_VARIANCE), Fraction(1)))
        steps.append(self._variance_part(setting).record(variance * setting.design.bound**2))
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
    return plan._run(table, rng, progress)
