"""The public plan of decorrelated scores: which parts there are, what each may spend, and which noise it gets."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import cast

import numpy as np

from discreet.accounting.events import CubeEvent, LaplaceEvent
from discreet.accounting.guarantee import exact, exact_epsilon
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.errors import InvalidParameterError
from discreet.kernels.moments.moments import GRID
from discreet.kernels.rows.decorrelated_rows import BINS, DISTANCES, OCTAVES, STEPS, SaturatedRows
from discreet.kernels.sufficient_statistics.cut_columns import Columns, public_columns
from discreet.mechanisms.additive import check_scale
from discreet.mechanisms.cube import check_cube, cube_variance
from discreet.methods.base.known_columns import KnownColumns
from discreet.methods.base.part import Part
from discreet.methods.base.public_check import NAME
from discreet.methods.base.rank_part import rank_part
from discreet.methods.screening.decorrelated_columns import saturated_rows, stated_centers
from discreet.methods.screening.units import Units
from discreet.parameters.screening import DECORRELATION_SHARES, FEW_SHARES, PUBLIC_SHARES, DecorrelatedParameters
from discreet.release import NoiseRecord

CLAIM = "methods/screening/decorrelated_scores.privacy.md"

ENOUGH = 1000.0
"""Rows times epsilon, over half of what a unit moves: from here on columns are cut ever less, as noise matters less."""

SATURATIONS = (0.6, 1.0)
"""The part of each half range at which a column counts as at its end: with few rows, and with many."""

TYPICAL_ROWS = 1000
"""Guess of the number of rows where it is private, for the saturation."""

CLEAR = 0.75
"""Octaves: spreads whose noise has a larger standard deviation are not worth their price."""

MOST_DEARER = 1.7
"""Before a first screening they are worth up to so many times their share: what it does not see is lost."""

OF_UNIFORM = 1.38
"""Octaves by which cells are nearer to their center than the bound, on average, in a column that fills its bounds."""

REACHES = (0.35, 6.0)
"""Where columns are cut whose spreads are bought, in half widths of a uniform column of that spread: the same."""

ENOUGH_FOR_PILOT = 0.6
"""Of the information, where the columns' moments are public: with less a pilot costs more than it tells."""

FINE = 0.01
"""Half ranges: centers whose noise has a smaller standard deviation are not sought again."""

HALF = Fraction(1, 2)

SCALES = ("x_center", "x_recenter", "x_scale")
"""The parts that tell where columns are cut."""

UNITS = {
    "x_center": "cells in half ranges",
    "x_recenter": "distances in [-1, 1]",
    "x_scale": "logarithms of distances in [-1, 1]",
}
"""Of the sums of a part; those of the others are of products."""


class ScorePlan:
    """What is done with the rows and at which price, from public facts alone.

    Parameters
    ----------
    method : DecorrelatedParameters
        The parameters.
    design : Design
        The row map, the target around the middle of its bounds.
    units : Units
        Which candidates enter together.
    epsilon : Fraction, optional
        Of the parts; default that of the request.
    is_public : bool
        Whether public moments are used, where there are such.
    bought : collection of str, optional
        Which of `SCALES` are bought, whatever the columns are; default as `scales_bought` says.
    scaled : SaturatedRows, optional
        The rows with centers and half widths that were released before; then none are bought.
    is_first : bool
        Whether these are the parts of a first screening, for which spreads may cost more.
    """

    def __init__(
        self,
        method: DecorrelatedParameters,
        design: Design,
        units: Units,
        epsilon: Fraction | None = None,
        is_public: bool = True,
        bought: Collection[str] | None = None,
        scaled: SaturatedRows | None = None,
        is_first: bool = False,
    ) -> None:
        self.method, self.design, self.units, self.metadata = method, design, units, design.metadata
        stated_moments = method.public_moments if is_public else None
        self.known = None if stated_moments is None else KnownColumns.of(stated_moments, design)
        rows, self.entering = saturated_rows(design, units, has_products=self.known is None)
        self.rows = replace(rows, centers=stated_centers(method.x_center, design, rows)) if scaled is None else scaled
        self.width, self.is_scaled = self.rows.width, scaled is not None
        self.scales_times = within((1.0, MOST_DEARER), self._scale_noise(self.rows.n_real) / CLEAR) if is_first else 1.0
        self.bought = self.scales_bought(self.rows.n_real) if bought is None else frozenset(bought)
        self.budget = _budget(method, self._default_shares, epsilon)
        self.parts = self._parts()

    @property
    def rows_per_unit(self) -> int:
        """The most rows that count of one unit."""
        return self.metadata.rows_per_unit

    @property
    def moved(self) -> int:
        """The most that one unit changes a sum of products in [-1, 1] by, in rows."""
        return (2 if self.metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1) * self.rows_per_unit

    @property
    def saturation(self) -> float:
        """As stated, or the nearer to 1 the more rows there publicly are beside the noise."""
        if self.method.saturation is not None:
            return self.method.saturation
        if self.known is not None:
            return 1.0
        return within(SATURATIONS, self.information**0.4)

    def scales_bought(self, n_real: int) -> frozenset[str]:
        """Return which of `SCALES` are bought where at most so many columns are not of two values."""
        if self.known is not None or not self.rows.n_real or self.is_scaled:
            return frozenset()
        centers = {"x_center"} if self.method.x_center == "private" else set[str]()
        if not self._has_scales(n_real):
            return frozenset(centers)
        return frozenset(centers | {"x_scale"} | ({"x_recenter"} if centers and self._recenters(n_real) else set()))

    def _recenters(self, n_real: int) -> bool:
        """Whether centers have so much noise that they are sought again near the first ones."""
        sums = self.information * ENOUGH * DECORRELATION_SHARES["x_center"]
        # An average's noise has the scale moved / (epsilon of the part x rows), which is 2 over `sums`.
        return math.sqrt(cube_variance(self.buys_count + n_real, 2.0)) / sums > FINE

    def _has_scales(self, n_real: int) -> bool:
        if self.method.saturation is not None or "x_scale" in (self.method.shares or {}):
            return self.method.saturation is None
        return self._scale_noise(n_real) / self.scales_times <= CLEAR

    def _scale_noise(self, n_real: int) -> float:
        """Standard deviation of the noise of so many columns' spreads at the share they have by default, in octaves."""
        sums = self.information * ENOUGH * DECORRELATION_SHARES["x_scale"]
        return math.sqrt(cube_variance(self.buys_count + n_real, 2.0)) / sums * OCTAVES / 2.0

    @property
    def cut(self) -> float:
        """Where columns are cut, in half widths of a uniform one of their spread, or as wide as its bounds."""
        return within(REACHES, self.information**0.3) if self.is_cut_by_spread else self.saturation

    @property
    def is_cut_by_spread(self) -> bool:
        """Whether columns are cut by their noisy spreads: else by their bounds."""
        return self.is_scaled or "x_scale" in self.bought

    @property
    def n_means(self) -> int:
        """Sums of each of `SCALES`: of columns that are not of two values, and where it is private of rows."""
        return self.buys_count + self.rows.n_real

    @property
    def public_center(self) -> int:
        """The target's center in steps of its grid, where it is public; else the middle of its bounds."""
        y_center = self.method.y_center
        public = self.design.center if isinstance(y_center, str) else float(y_center)
        return round(min(max((public - self.design.center) / self.design.bound, -1.0), 1.0) * GRID)

    @staticmethod
    def center_of_bin(place: int) -> int:
        """Return the middle of a bin of the target's bounds, in steps."""
        return round((2 * place + 1 - BINS) * (2 * GRID + 1) / (2 * BINS))

    def in_units(self, center: int) -> float:
        """Return a center in the target's unit, from steps."""
        return self.design.center + center / GRID * self.design.bound

    @property
    def _n_guess(self) -> int:
        return self.metadata.n_rows or self.method.n0 or TYPICAL_ROWS

    @property
    def _default_shares(self) -> dict[str, float]:
        """Shares of the parts before the choice, of those that there are."""
        shares = DECORRELATION_SHARES
        if self.known is not None:
            shares = PUBLIC_SHARES if self.information >= ENOUGH_FOR_PILOT else FEW_SHARES
        absent = set() if self.method.y_center == "private" else {"y_median"}
        absent |= {name for name in SCALES if name not in self.bought}
        absent |= {"gram"} if self.known is not None and not self.buys_count else set()
        times = {name: self.scales_times if name in SCALES else 1.0 for name in shares}
        return {name: times[name] * share for name, share in shares.items() if name not in absent}

    @property
    def information(self) -> float:
        """Public guess of thousands of rows that are replaced one by one, times epsilon."""
        return self.information_of(self._n_guess)

    def information_of(self, n_rows: float) -> float:
        """Return thousands of rows that are replaced one by one, times epsilon."""
        return n_rows * self.method.epsilon * 2.0 / self.moved / ENOUGH

    @property
    def buys_count(self) -> bool:
        """Whether the number of rows is private."""
        return self.metadata.n_rows is None

    @property
    def n_products(self) -> int:
        """Sums of the part `gram`."""
        return self.buys_count + (self.width + len(self.rows.pairs[0]) if self.known is None else 0)

    def scale(self, name: str) -> Fraction:
        """Scale of the noise of a vector of sums, in rows."""
        return self.moved / self.budget[name]

    def _parts(self) -> dict[str, Part]:
        """The parts before the choice, in their order."""
        makers = {
            "x_center": lambda: self._cube_part("x_center", max(self.n_means, 1), GRID),
            "x_recenter": lambda: self._cube_part("x_recenter", max(self.n_means, 1), GRID),
            "x_scale": lambda: self._cube_part("x_scale", max(self.n_means, 1), STEPS),
            "y_median": lambda: self._rank_part("y_median", BINS),
            "y_scale": lambda: self._rank_part("y_scale", len(DISTANCES)),
            "gram": lambda: self._cube_part("gram", self.n_products),
            "pilot": lambda: self._cube_part("pilot", self.width + 1),
            "y_shift": self._shift_part,
        }
        return {name: make() for name, make in makers.items() if name in self.budget}

    def _rank_part(self, name: str, n_points: int) -> Part:
        return rank_part(name, self.budget[name], HALF, self.metadata, n_points, words="the median")

    def _cube_part(self, name: str, n_numbers: int, steps_a_row: int = GRID**2) -> Part:
        scale = self.scale(name)
        check_cube(n_numbers, scale * steps_a_row, f"the {n_numbers} sums of {name}")
        box = NoiseRecord(
            mechanism="cube",
            noise="cube",
            sensitivity=float(self.moved),
            scale=float(scale),
            unit=UNITS.get(name, "products of saturated columns"),
            formula=f"{self.moved}, the most that one {self.metadata.unit} changes any of {n_numbers} sums by",
            numerics="exact draw on whole steps",
            claim="mechanisms/cube.privacy.md",
        )
        return Part(name, CubeEvent(self.budget[name]), box)

    def _shift_part(self) -> Part:
        scale = self.scale("y_shift")
        check_scale(scale * GRID, "the mean of the residuals")
        box = NoiseRecord(
            mechanism="discrete_laplace",
            noise="laplace",
            sensitivity=float(self.moved),
            scale=float(scale),
            unit="cut residuals",
            formula=f"{self.moved}, the most that one {self.metadata.unit} changes their sum by",
            numerics="exact draw on whole steps",
            claim=CLAIM,
        )
        return Part("y_shift", LaplaceEvent(self.budget["y_shift"]), box)

    @property
    def public_columns(self) -> Columns:
        """The columns' moments where they are public; levels of a category are 1 or -1 here."""
        known = cast("KnownColumns", self.known)
        used = self.rows.is_read
        scale = np.where(known.is_level, 2.0, 1.0)[used]
        means = known.means[used] * scale - known.is_level[used]
        covariance = known.covariance[np.ix_(used, used)] * np.outer(scale, scale)
        n_records = math.inf if known.n_records is None else float(known.n_records)
        return public_columns(means, covariance, known.skewness[used], n_records, self.rows.is_two_valued)


def within(ends: tuple[float, float], factor: float) -> float:
    """Return the first end times a factor, within both."""
    low, high = ends
    return min(max(low * factor, low), high)


def check_shares(method: DecorrelatedParameters, names: Sequence[str]) -> None:
    """Refuse a share of a part that there is not."""
    unknown = [name for name in method.shares or {} if name not in names]
    if unknown:
        why = {
            "y_median": "y_center is public, or estimated by a first screening",
            "x_center": "x_center is public",
            "x_recenter": "centers are public, or told well enough at once, or no spreads are estimated",
            "x_scale": "saturation is given, or no column has more than two values",
            "first_screening": "all candidates are scored beside each other",
            NAME: "there are no public_moments",
        }.get(unknown[0], "there is no such part")
        raise InvalidParameterError(f"shares must not have {unknown[0]} where {why}. Leave it out.")


def _budget(method: DecorrelatedParameters, defaults: dict[str, float], whole: Fraction | None) -> dict[str, Fraction]:
    """Return the epsilon of each part; they add up to that of the request, or what is left of it, exactly."""
    epsilon = exact_epsilon(method.epsilon) if whole is None else whole
    stated = method.shares or {}
    shares = {name: exact(stated.get(name, share), f"shares[{name!r}]") for name, share in defaults.items()}
    budget = {name: epsilon * share for name, share in shares.items()}
    rest = epsilon - sum(budget.values(), Fraction(0))
    if rest <= 0:
        raise InvalidParameterError(
            f"shares must leave something for the choice of the columns, but those of {', '.join(shares)} add up to 1 "
            "or more. Lower one."
        )
    return budget | {"screening": rest}
