"""The public plan of decorrelated scores: which parts there are, what each may spend, and which noise it gets."""

import math
from collections.abc import Sequence
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
from discreet.kernels.rows.decorrelated_rows import BINS, DISTANCES
from discreet.kernels.sufficient_statistics.decorrelation import Columns, public_columns
from discreet.mechanisms.additive import check_scale
from discreet.mechanisms.cube import check_cube
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

ENOUGH_FOR_PILOT = 0.6
"""Of the information, where the columns' moments are public: with less a pilot costs more than it tells."""

HALF = Fraction(1, 2)


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
    has_centers : bool, optional
        Whether centers of columns are bought; default where there are columns that are not of two values.
    """

    def __init__(
        self,
        method: DecorrelatedParameters,
        design: Design,
        units: Units,
        epsilon: Fraction | None = None,
        is_public: bool = True,
        has_centers: bool | None = None,
    ) -> None:
        self.method, self.design, self.units, self.metadata = method, design, units, design.metadata
        stated_moments = method.public_moments if is_public else None
        self.known = None if stated_moments is None else KnownColumns.of(stated_moments, design)
        rows, self.entering = saturated_rows(design, units, self.saturation, has_products=self.known is None)
        self.rows = replace(rows, centers=stated_centers(method.x_center, design, rows))
        self.width = self.rows.width
        self.has_centers = self._has_centers if has_centers is None else has_centers
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

    @property
    def _has_centers(self) -> bool:
        return self.known is None and not bool(self.rows.is_two_valued.all())

    @property
    def n_means(self) -> int:
        """Sums that centers are bought by: of columns that are not of two values, and where it is private the count."""
        return self.buys_count + int((~self.rows.is_two_valued).sum())

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
        absent |= set() if self.method.x_center == "private" and self.has_centers else {"x_center"}
        absent |= {"gram"} if self.known is not None and not self.buys_count else set()
        return {name: share for name, share in shares.items() if name not in absent}

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
            unit="products of saturated columns" if steps_a_row == GRID**2 else "cells in half ranges",
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
