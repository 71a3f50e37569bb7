"""The public plan of private estimates before a selection: which parts there are, their epsilon and their noise."""

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
from discreet.data.metadata import Metadata
from discreet.errors import InvalidParameterError
from discreet.kernels.rows.target_places import CENTERS, CLIPS
from discreet.kernels.sufficient_statistics.clip import widening
from discreet.mechanisms.additive import check_scale
from discreet.mechanisms.selection import Noise
from discreet.methods.base.part import Part
from discreet.methods.base.private_bounds import sides_of
from discreet.methods.base.rank_part import rank_part
from discreet.methods.subset_selection.calibration import Sensitivity
from discreet.methods.subset_selection.setting import Setting
from discreet.methods.subset_selection.sum_of_squares import squares_part
from discreet.methods.subset_selection.target_scale import MEDIAN
from discreet.parameters.subset_selection import SHARES
from discreet.release import NoiseRecord

Y_QUANTILE = 0.5
"""Of |y - center|: noise grows with the square of the bound, and a target that is clipped still tells high from low."""


RADII = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
"""R / r that may be chosen (privacy specification 3.2)."""

WIDE = 30
"""From this ratio of the largest to the smallest R on, their sensitivities are too different to be treated as one."""

LEAST_VARIANCE = Fraction(1, 10**6)
"""s_min^2 / r^2."""


def split(epsilon: Fraction, parts: Sequence[str], shares: Mapping[str, float] | None) -> dict[str, Fraction]:
    """Return the epsilon of each private estimate; their shares of it are the defaults where none are given.

    Their sum is less than epsilon, or the request is refused; the selection has the rest, exactly.
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

    @property
    def parts(self) -> tuple[Part, ...]:
        """The private estimates, in order; the noise is the largest that it can be."""
        makers: dict[str, Callable[[], list[Part]]] = {
            "bounds": self._bound_parts,
            "y_center": lambda: [self._center_part()],
            "y_bound": lambda: [self._y_part()],
            "n_rows": lambda: [self._count_part("n_rows", "the number of rows")],
            "l1_radius": lambda: [self.radius_part(self.wide)],
            "sigma2": lambda: [self.variance_part(self.wide)],
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
    def bounds_factor(self) -> float:
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

    def ratios(self, setting: Setting) -> tuple[Fraction, ...]:
        """Return R / r that may be chosen, increasing."""
        if self.l1_grid is None:
            return RADII
        bound = exact(setting.design.bound, "y_bound")
        return tuple(sorted(exact(radius, "l1_grid") / bound for radius in self.l1_grid))

    def radius_part(self, setting: Setting) -> Part:
        """Return the part of R, under a setting."""
        ratios, epsilon, unit = self.ratios(setting), self.budget["l1_radius"], setting.design.bound**2
        largest = Sensitivity.of(setting.design, ratios[-1])
        if ratios[-1] > WIDE * ratios[0]:
            numbers = {"sensitivity": 2.0, "inflation": 0.0, "scale": float(2 / epsilon), "unit": "own sensitivities"}
            text = {"formula": "2: each score in units of its own (r + R)^2 and another's"}
            claim = "mechanisms/generalized_exponential.privacy.md"
        else:
            inflation = 2 * largest.error + self.rounding(setting)
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

    def variance_part(self, setting: Setting) -> Part:
        """Return the part of a residual variance, under a setting."""
        return squares_part("sigma2", setting, self.budget["sigma2"], "f(all candidates), divided by n - p")

    def at_radius(self, setting: Setting) -> Setting:
        """Return a setting with the public or default R for its bound; as wide as can be where R is private."""
        bound = setting.design.bound
        if "l1_radius" in self.budget:
            return replace(setting, radius=max(self.l1_grid) if self.l1_grid else 8.0 * bound)
        ratio = self.wide.radius / self.wide.design.bound
        return replace(setting, radius=self.l1_radius if self.l1_radius is not None else ratio * bound)

    def radius_of(self, setting: Setting, chosen: int) -> float:
        """Return the R at a place among those that may be chosen, in the target's unit."""
        if self.l1_grid is None:
            return float(RADII[chosen]) * setting.design.bound
        return float(sorted(self.l1_grid)[chosen])

    def noise_costs(self, setting: Setting) -> npt.NDArray[np.float64]:
        """Return kappa_j, the noise that each R costs the selection (specification 3.2), in squared target bounds."""
        spread = 2.0 * math.log(max(setting.space.n_models, 2))
        ranges = [Sensitivity.of(setting.design, ratio).range for ratio in self.ratios(setting)]
        return spread * np.array([float(score_range / self.remaining) for score_range in ranges])

    def rounding(self, setting: Setting) -> Fraction:
        """Return twice the rounding error of adding the noise costs."""
        return Fraction(float(self.noise_costs(setting).max())) / 2**50
