"""The terms of a generalized linear model: the constant, numeric columns, and levels of categories."""

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Literal

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, NumericColumn, half_width
from discreet.kernels.glm.noisy_newton import BOX, Fit
from discreet.release import CoefficientRecord, FitRecord
from discreet.typing import Floats

Family = Literal["logistic", "poisson"]


LARGEST = 1e300
"""Of a released coefficient, interval's end or variance, so that it is finite."""


def finite(values: Floats, unknown: float = LARGEST) -> Floats:
    """Return numbers no larger than `LARGEST`; what overflowed to no number at all becomes `unknown`."""
    return np.clip(np.nan_to_num(values, nan=unknown, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)


@dataclass(frozen=True)
class Terms:
    """The columns of a model: the constant, numeric columns, and the levels of categories but their first."""

    design: Design

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Which of the design's columns, the target apart, are in the model."""
        places, at = [0], 1
        for width in self.design.widths:
            places += range(at + (1 if width > 1 else 0), at + width)
            at += width
        return tuple(places)

    @cached_property
    def owners(self) -> tuple[tuple[str | None, str | None], ...]:
        """Column and level of each term; both None for the constant."""
        owners: list[tuple[str | None, str | None]] = [(None, None)]
        for name in self.design.candidates:
            column = self.design.metadata.declared(name)
            levels = column.levels if isinstance(column, CategoryColumn) else None
            owners += [(name, level) for level in levels[1:]] if levels else [(name, None)]
        return tuple(owners)

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places, among the terms, of the dummies of one category."""
        names = [owner for owner, level in self.owners if level is not None]
        groups = (
            tuple(j for j, (owner, _) in enumerate(self.owners) if owner == name) for name in dict.fromkeys(names)
        )
        return tuple(groups)

    def scales(self) -> tuple[Floats, Floats]:
        """Return middle and half width of each term, in its own unit."""
        pairs = [
            half_width(column)
            if owner is not None and isinstance(column := self.design.metadata.declared(owner), NumericColumn)
            else (0.0, 1.0)
            for owner, _ in self.owners
        ]
        return np.array([middle for middle, _ in pairs]), np.array([half for _, half in pairs])

    def fit(self, family: Family, fit: Fit) -> FitRecord:
        """Return coefficients per unit of each column for a release; the intercept is where all columns are zero."""
        middles, halves = self.scales()
        rows = np.diag(1.0 / halves)
        rows[0, 1:] = -(middles / halves)[1:]
        with np.errstate(over="ignore", invalid="ignore"):  # units may be as far apart as floats are
            estimate = finite(rows @ fit.coef)
            sampling = finite(np.diagonal(rows @ fit.covariance_sampling @ rows.T))
            privacy = finite(np.diagonal(rows @ fit.covariance_privacy @ rows.T))
            low, high = fit.low / halves, fit.high / halves
            if middles[1:].any():
                low[0], high[0] = _intercept_interval(fit, rows[0], float(estimate[0]), float(sampling[0] + privacy[0]))
            low, high = finite(low, -LARGEST), finite(high)
        return FitRecord(
            family=family,
            confidence=fit.level,
            coefficients=tuple(
                CoefficientRecord(
                    name="(intercept)" if owner is None else owner if level is None else f"{owner}={level}",
                    column=owner,
                    level=level,
                    estimate=float(estimate[j]),
                    low=float(low[j]),
                    high=float(high[j]),
                    sampling_variance=max(float(sampling[j]), 0.0),
                    privacy_variance=max(float(privacy[j]), 0.0),
                    uninformative=bool(fit.low[j] <= -BOX and fit.high[j] >= BOX),
                )
                for j, (owner, level) in enumerate(self.owners)
            ),
        )


def _intercept_interval(fit: Fit, weights: Floats, estimate: float, variance: float) -> tuple[float, float]:
    """Return the interval of a weighted sum of coefficients; without a variance, all that their intervals allow."""
    if variance > 0.0:
        reach = NormalDist().inv_cdf((1.0 + fit.level) / 2.0) * math.sqrt(variance)
        return estimate - reach, estimate + reach
    ends = np.array([weights * fit.low, weights * fit.high])
    return float(ends.min(axis=0).sum()), float(ends.max(axis=0).sum())
