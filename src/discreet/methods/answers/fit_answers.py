"""Predictions, joint regions and marginal effects from a released fit, without the rows and for free."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import stdtr

from discreet.errors import InvalidParameterError, VerificationError
from discreet.kernels.glm.families import Family
from discreet.methods.answers.effects import Ends, change, change_ends, change_ends_together, edge, mean, mean_ends
from discreet.methods.answers.model import Model, model_of
from discreet.methods.answers.rows import Terms, Value, listed
from discreet.release import LARGEST, JointRecord, Release
from discreet.typing import Floats

MOST_LEVEL = 1.0 - 1e-9
"""No interval has a higher level."""


@dataclass(frozen=True)
class Interval:
    """A number with an interval that holds sampling and privacy noise.

    Parameters
    ----------
    estimate : float
        The point estimate.
    low, high : float or None
        None where no lower, no upper limit can be told.
    """

    estimate: float
    low: float | None
    high: float | None

    @property
    def is_uninformative(self) -> bool:
        """Whether nothing can be told."""
        return self.low is None and self.high is None

    @property
    def ends(self) -> tuple[float, float]:
        """The ends as numbers, infinite where none can be told."""
        return -math.inf if self.low is None else self.low, math.inf if self.high is None else self.high


@dataclass(frozen=True)
class Prediction:
    """The mean of the target where the columns have given values.

    Parameters
    ----------
    values : dict
        Of all columns of the model.
    mean : Interval
        Of the clipped target; where an end would be that of the target's range, none can be told.
    linear_predictor : Interval
        Log odds, logarithm of the mean, or the mean itself before it is clipped to the target's range.
    confidence : float
        Level of each interval.
    """

    values: dict[str, Value]
    mean: Interval
    linear_predictor: Interval
    confidence: float


@dataclass(frozen=True)
class JointRegion:
    """All coefficients of some columns together.

    Parameters
    ----------
    zero : JointRecord
        Whether all of them can be zero.
    intervals : dict of str to Interval
        Of each coefficient in its own unit; they hold all at once at the level.
    """

    zero: JointRecord
    intervals: dict[str, Interval]


@dataclass(frozen=True)
class MarginalEffect:
    """How the mean of the target changes when one column does, the others being where they are.

    Parameters
    ----------
    column : str
        What changes.
    start, end : float or str
        From where to where: by one unit where there is room for one, else over the whole range.
    change : Interval
        Of the target's mean, from its value at the start.
    values : dict
        Where the other columns are.
    confidence : float
        Level of each interval.
    """

    column: str
    start: Value
    end: Value
    change: Interval
    values: dict[str, Value] = field(default_factory=dict)
    confidence: float = 0.95


class FitAnswers:
    """Answers from a released fit; whatever is asked, nothing is spent.

    Parameters
    ----------
    release : Release, str or Path
        A release of a linear, logistic or Poisson fit, or its file.

    Notes
    -----
    Post-processing: each answer is a function of the release alone and has its guarantee. Intervals hold for columns
    that were named before the rows were seen. Claim: ``release.privacy.md``.

    Examples
    --------
    >>> import numpy as np
    >>> from discreet import LinearRegression
    >>> X = np.tile([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]], (50000, 1))
    >>> fit = LinearRegression(epsilon=1.0, delta=1e-6).fit(X, 0.5 * X[:, 0])
    >>> FitAnswers(fit.release_).joint_region(["x0", "x1"]).zero.zero_inside
    False
    """

    def __init__(self, release: Release | str | Path) -> None:
        self.release = release if isinstance(release, Release) else Release.read(release)

    @cached_property
    def _model(self) -> Model:
        return model_of(self.release)

    @cached_property
    def _terms(self) -> Terms:
        return Terms(self.release, self._model)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that a prediction needs values of."""
        return self._terms.inputs

    def predict(self, values: Mapping[str, Any], confidence: float | None = None) -> Prediction:
        """Predict the mean of the target where the columns have given values.

        Parameters
        ----------
        values : dict
            Of every column of the model: a number within its bounds, or a level; of a derived column those that it is
            made of. An offset is 0 and an exposure 1 unless it is among them.
        confidence : float, optional
            Level of the interval; default that of the fit.

        Returns
        -------
        Prediction
            For the mean of the target: single rows lie further off.

        Raises
        ------
        InvalidParameterError
            When the release cannot answer, or a value is missing, unknown or outside its bounds.
        """
        level, checked = self._level(confidence), self._terms.values(values)
        shift = self._terms.offset_of(checked) + self._model.center
        predictor = self._combination(self._terms.row(checked), level, shift)
        law, response = self._model.law, self._model.response
        low, high = mean_ends(law, *predictor.ends, response)
        estimate = min(max(mean(law, predictor.estimate), response[0]), response[1])
        return Prediction(checked, Interval(estimate, low, high), predictor, level)

    def joint_region(self, columns: Sequence[str] | str, confidence: float | None = None) -> JointRegion:
        """Tell whether all coefficients of some columns can be zero together, such as those of a category.

        Parameters
        ----------
        columns : str or sequence of str
            Columns of the model, or single levels as ``column=level``.
        confidence : float, optional
            Level of the region; default that of the fit.

        Returns
        -------
        JointRegion
            Whether zero lies in the joint region, and intervals that hold together.

        Raises
        ------
        InvalidParameterError
            When the release cannot answer, or a name is no column of the model.
        """
        level, terms = self._level(confidence), self._terms
        names = (columns,) if isinstance(columns, str) else tuple(dict.fromkeys(columns))
        unknown = [name for name in names if not terms.owned(name).any()]
        if unknown or not names:
            raise InvalidParameterError(
                f"A joint region needs columns of the model, but {repr(str(unknown[0])[:60]) if unknown else 'none'} "
                f"was given. Choose among {listed(terms.columns)}, or single levels such as COLUMN=LEVEL."
            )
        tested = np.any([terms.owned(name) for name in names], axis=0)
        zero = self._model.joint(tested, names, level)
        each = _level_of_each(zero)
        scales = np.eye(len(tested)) / self._model.scales[1]
        intervals = {terms.fit.coefficients[j].name: self._combination(scales[j], each) for j in np.flatnonzero(tested)}
        return JointRegion(zero, intervals)

    def marginal_effects(
        self, at: Mapping[str, Any] | None = None, confidence: float | None = None
    ) -> tuple[MarginalEffect, ...]:
        """Return how the mean of the target changes with each column, the others being at given values.

        Parameters
        ----------
        at : dict, optional
            Values of columns; default, for each that is not given, the middle of its bounds or its first level.
        confidence : float, optional
            Level of each interval; default that of the fit.

        Returns
        -------
        tuple of MarginalEffect
            One for a number, by one unit; one for each other level of a category. An interval holds the changes at all
            coefficients that the release does not rule out; where one of them has no end, it is wider than it says.

        Raises
        ------
        InvalidParameterError
            When the release cannot answer, or the model is linear without derived columns: its coefficients are its
            effects.
        """
        level, terms = self._level(confidence), self._terms
        if self._model.law is None and not terms.derived:
            raise InvalidParameterError(
                "Marginal effects are for logistic and Poisson models: those of a linear model are its coefficients, "
                "wherever the other columns are. Read them in the fit."
            )
        values = terms.values(at or {}, complete=False)
        return tuple(
            self._effect(name, start, end, values, level)
            for name in terms.inputs
            for start, end in self._changes(name, values[name])
        )

    def _effect(self, name: str, start: Value, end: Value, values: dict[str, Value], level: float) -> MarginalEffect:
        """One change."""
        law, place = self._model.law, {**values, name: start}
        row = self._terms.row(place)
        step = self._terms.row({**values, name: end}) - row
        if law is None:
            return MarginalEffect(name, start, end, self._combination(step, level), place, level)
        shift = self._terms.offset_of(values)
        of_predictor, of_step = self._combination(row, level, shift), self._combination(step, level)
        low, high = self._ends_of_change(law, np.array([row, step]), (of_predictor, of_step), shift, level)
        estimate = change(law, of_predictor.estimate, of_step.estimate)
        estimate = min(max(estimate, -math.inf if low is None else low), math.inf if high is None else high)
        return MarginalEffect(name, start, end, Interval(estimate, low, high), place, level)

    def _ends_of_change(
        self, law: Family, pair: Floats, alone: tuple[Interval, Interval], shift: float, level: float
    ) -> Ends:
        """The profile interval of a change; that of two intervals which hold together where one has no end."""
        low, high = np.array([interval.ends for interval in alone]).T
        moved = np.array([shift, 0.0])
        region = edge(pair, low - moved, high - moved, lambda rows: self._model.combinations(rows, level)[1:])
        if region is not None:
            return change_ends_together(law, region + moved)
        each = 1.0 - (1.0 - level) / 2.0
        predictor, step = self._combination(pair[0], each, shift), self._combination(pair[1], each)
        return change_ends(law, predictor.ends, step.ends)

    def _changes(self, name: str, value: Value) -> list[tuple[Value, Value]]:
        """From where to where a column changes."""
        levels = self._terms.levels(name)
        if levels is not None:
            return [(value, level) for level in levels if level != value]
        low, high = self._terms.bounds(name)
        start = float(value)
        if start + 1.0 <= high:
            return [(start, start + 1.0)]
        return [(start - 1.0, start)] if start - 1.0 >= low else [(low, high)]

    def _level(self, confidence: float | None) -> float:
        level = self._terms.fit.confidence if confidence is None else confidence
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0.0 < level <= MOST_LEVEL:
            raise InvalidParameterError(
                f"confidence must lie in (0, 1), but confidence={str(level)[:40]}. Give one such as 0.95."
            )
        return float(level)

    def _combination(self, row: Floats, level: float, offset: float = 0.0) -> Interval:
        """A combination of coefficients, by the function that makes the intervals of the fit."""
        estimate, low, high = (float(part[0]) for part in self._model.combinations(row[None], level))
        if not math.isfinite(estimate) or not low <= high:
            raise VerificationError(
                "The release's numbers must be those of a fit, but nothing can be computed from them: it was changed "
                "by hand. Ask for the release that the ledger recorded."
            )
        ends = [None if abs(end) >= LARGEST else end + offset for end in (low, high)]
        return Interval(estimate + offset, *ends)


def _level_of_each(zero: JointRecord) -> float:
    """Return the level of single intervals that hold together: Bonferroni's, or Scheffe's where it is lower."""
    k, residual = zero.degrees_of_freedom, zero.residual_degrees_of_freedom
    if k == 1 or zero.limit is None:
        return 1.0 - (1.0 - zero.confidence) / k
    bonferroni = 1.0 - (1.0 - zero.confidence) / k
    # Scheffe 1953: no combination is further off than the root of the limit.
    scheffe = 2.0 * float(stdtr(residual or math.inf, zero.limit**0.5)) - 1.0
    return min(bonferroni, scheffe, MOST_LEVEL)
