"""The terms of a generalized linear model: the constant, numeric columns, and levels of categories."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, NumericColumn, half_width
from discreet.kernels.glm.score_fit import Fit
from discreet.release import LARGEST, CoefficientRecord, FitRecord
from discreet.typing import Floats

Family = Literal["logistic", "poisson"]


def finite(values: Floats) -> Floats:
    """Return numbers no larger than `LARGEST`, which is also what overflowed to no number at all."""
    return np.clip(np.nan_to_num(values, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST), -LARGEST, LARGEST)


@dataclass(frozen=True)
class Terms:
    """The columns of a model: the constant, numeric columns, and the levels of categories but their reference."""

    design: Design

    @cached_property
    def places(self) -> tuple[int, ...]:
        """Which of the design's columns, the target apart, are in the model."""
        places, at = [0], 1
        for name, width in zip(self.design.candidates, self.design.widths, strict=True):
            column = self.design.metadata.declared(name)
            places += [at + place for place in (column.compared if isinstance(column, CategoryColumn) else (0,))]
            at += width
        return tuple(places)

    @cached_property
    def owners(self) -> tuple[tuple[str | None, str | None], ...]:
        """Column and level of each term; both None for the constant."""
        owners: list[tuple[str | None, str | None]] = [(None, None)]
        for name in self.design.candidates:
            column = self.design.metadata.declared(name)
            if isinstance(column, CategoryColumn):
                owners += [(name, (column.levels or ())[place]) for place in column.compared]
            else:
                owners.append((name, None))
        return tuple(owners)

    def reference(self, owner: str | None) -> str | None:
        """Return the level that those of a category are compared with; None for the constant and for numbers."""
        column = None if owner is None else self.design.metadata.declared(owner)
        return column.reference_level if isinstance(column, CategoryColumn) else None

    @property
    def constant(self) -> tuple[float, ...]:
        """The intercept where all columns are zero, as a combination of the coefficients per half range."""
        middles, halves = self.scales()
        return (1.0, *(-(middles / halves)[1:]).tolist())

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places, among the terms, of the dummies of one category."""
        names = [owner for owner, level in self.owners if level is not None]
        groups = (
            tuple(j for j, (owner, _) in enumerate(self.owners) if owner == name) for name in dict.fromkeys(names)
        )
        return tuple(groups)

    @property
    def two_valued(self) -> tuple[int, ...]:
        """Places of whole numbers that are either bound."""
        declared = [None if owner is None else self.design.metadata.declared(owner) for owner, _ in self.owners]
        return tuple(
            j
            for j, column in enumerate(declared)
            if isinstance(column, NumericColumn) and column.type == "integer" and half_width(column)[1] == 0.5
        )

    def scales(self) -> tuple[Floats, Floats]:
        """Return middle and half width of each term, in its own unit."""
        pairs = [
            half_width(column)
            if owner is not None and isinstance(column := self.design.metadata.declared(owner), NumericColumn)
            else (0.0, 1.0)
            for owner, _ in self.owners
        ]
        return np.array([middle for middle, _ in pairs]), np.array([half for _, half in pairs])

    def fit(self, family: Family, fit: Fit, offset: float = 0.0) -> FitRecord:
        """Return coefficients per unit of each column for a release; the intercept is where all columns are zero.

        And where an offset is zero, of which `offset` is the middle.
        """
        middles, halves = self.scales()
        rows = np.diag(1.0 / halves)
        rows[0, 1:] = -(middles / halves)[1:]
        with np.errstate(over="ignore", invalid="ignore"):  # units may be as far apart as floats are
            estimate = finite(rows @ fit.coef)
            sampling = finite(np.diagonal(rows @ fit.covariance_sampling @ rows.T))
            privacy = finite(np.diagonal(rows @ fit.covariance_privacy @ rows.T))
            low, high = fit.low / halves, fit.high / halves
            estimate[0], low[0], high[0] = estimate[0] - offset, low[0] - offset, high[0] - offset
            estimate = np.clip(estimate, low, high)  # products and quotients differ in their last bit
        return FitRecord(
            family=family,
            confidence=fit.level,
            coefficients=tuple(
                CoefficientRecord(
                    name="(intercept)" if owner is None else owner if level is None else f"{owner}={level}",
                    column=owner,
                    level=level,
                    reference=self.reference(owner),
                    estimate=float(estimate[j]),
                    low=float(low[j]),
                    high=float(high[j]),
                    sampling_variance=max(float(sampling[j]), 0.0),
                    privacy_variance=max(float(privacy[j]), 0.0),
                )
                for j, (owner, level) in enumerate(self.owners)
            ),
        )
