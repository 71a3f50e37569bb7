"""From declared values of columns to rows of a model: numbers within their bounds, categories by level."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from discreet.data.derived_columns import evaluated
from discreet.data.expressions import Expression, parsed
from discreet.errors import InvalidParameterError, VerificationError
from discreet.methods.answers.model import Model
from discreet.release import FitRecord, PublicColumn, Release
from discreet.typing import Bools, Floats

Value = float | str


def listed(names: Sequence[str]) -> str:
    """Return names for an error, cut where they are long."""
    return ", ".join(names)[:200]


@dataclass(frozen=True)
class Terms:
    """The columns of a released fit.

    Parameters
    ----------
    release : Release
        With a fit.
    model : Model
        Its model.
    """

    release: Release
    model: Model

    @property
    def fit(self) -> FitRecord:
        """The coefficients."""
        return self.model.fit

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the model's columns, in the order of the coefficients."""
        return tuple(dict.fromkeys(term.column for term in self.fit.coefficients if term.column is not None))

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Names of the columns that need a value: of a derived column those that it is made of."""
        return tuple(dict.fromkeys(name for column in self.columns for name in self._needed(column)))

    @cached_property
    def derived(self) -> dict[str, Expression]:
        """The model's derived columns, as far as the release tells what they are made of."""
        texts = {name: entry.derived for name, entry in self._public.items() if name in self.columns and entry.derived}
        try:
            expressions = {name: parsed(text) for name, text in texts.items()}
        except ValueError:
            raise VerificationError("The release's derived columns must be formulas: it was changed by hand.") from None
        return {name: each for name, each in expressions.items() if all(s in self._public for s, _ in each.sources())}

    @property
    def offset(self) -> str | None:
        """The column that is added without a coefficient, or whose logarithm is."""
        return self.fit.offset if self.fit.offset is not None else self.fit.exposure

    def owned(self, name: str) -> Bools:
        """Return which coefficients a column has, or whether one is called so."""
        terms = self.fit.coefficients
        return np.array(
            [term.column is not None and name in (term.column, term.name) for term in terms], dtype=np.bool_
        )

    def levels(self, name: str) -> tuple[str, ...] | None:
        """Return the levels of a category, None for a number."""
        own = [term.level for term in self.fit.coefficients if term.column == name]
        levels = self._public[name].levels if name in self._public else None
        if own and own[0] is None:
            return None
        if (own and not levels) or not {*own} <= {*(levels or ())}:
            raise VerificationError(f"The release must tell the levels of {name[:60]!r}: it was changed by hand.")
        return levels

    def bounds(self, name: str) -> tuple[float, float]:
        """Return the bounds of a number."""
        middle, half = self._scale(name)
        return middle - half, middle + half

    def values(self, stated_values: Mapping[str, Any], complete: bool = True) -> dict[str, Value]:
        """Return checked values; those that are not given are refused, or the middle of bounds and the first level.

        An exposure is 1 and an offset 0 where none is given. A derived column may be given in place of those that it is
        made of, where all are to be given.
        """
        allowed = [*self.inputs, *(name for name in self.columns if complete), self.offset]
        unknown = [name for name in stated_values if name not in allowed]
        if unknown:
            name, choice = str(unknown[0])[:60], listed([*self.inputs, *([self.offset] if self.offset else [])])
            raise InvalidParameterError(
                f"Values must be of columns of the model, but {name!r} is not one. Use {choice}."
            )
        lacking = [column for column in self.columns if column not in stated_values]
        needed = tuple(dict.fromkeys(name for column in lacking for name in self._needed(column)))
        missing = [name for name in needed if name not in stated_values]
        if missing and complete:
            raise InvalidParameterError(
                f"Every column of the model needs a value, but {listed(missing)} "
                f"{'has' if len(missing) == 1 else 'have'} none. Add {missing[0][:60]}=VALUE."
            )
        names = [
            name for name in dict.fromkeys((*self.inputs, *self.columns)) if name in stated_values or name in needed
        ]
        values = {
            name: self._checked(name, stated_values[name]) if name in stated_values else self._default(name)
            for name in names
        }
        self._check_derived(values)
        if self.offset is not None:
            values[self.offset] = self._checked_offset(stated_values.get(self.offset, float(self.fit.offset is None)))
        return values

    def row(self, values: Mapping[str, Value]) -> Floats:
        """Return the row of checked values, on the model's scales; the constant is 1. Shapes: returns (p,)."""
        middles, halves = self.model.scales
        row = np.ones(len(self.fit.coefficients))
        for j, term in enumerate(self.fit.coefficients):
            if term.column is None:
                continue
            value = values[term.column] if term.column in values else self._computed(term.column, values)
            if isinstance(value, str):
                row[j] = float(value == term.level)
            else:
                row[j] = np.clip((value - middles[j]) / halves[j], -1.0, 1.0)
        return row

    def offset_of(self, values: Mapping[str, Value]) -> float:
        """Return what is added to the linear predictor."""
        if self.offset is None:
            return 0.0
        value = float(values[self.offset])
        return value if self.fit.offset is not None else math.log(value)

    @cached_property
    def _public(self) -> dict[str, PublicColumn]:
        return {column.name: column for column in self.release.public}

    def _needed(self, column: str) -> tuple[str, ...]:
        """What a column of the model is made of: itself, if it is not derived."""
        if column not in self.derived:
            return (column,)
        return tuple(dict.fromkeys(source for source, _ in self.derived[column].sources()))

    def _scale(self, name: str) -> tuple[float, float]:
        """Middle and half width of a number."""
        if name in self.columns:
            (middles, halves), place = self.model.scales, int(np.flatnonzero(self.owned(name))[0])
            return float(middles[place]), float(halves[place])
        entry = self._public[name]
        if entry.lower is None or entry.upper is None:
            raise InvalidParameterError(f"The release must tell the bounds of {name[:60]!r}, but it does not.")
        return (entry.lower + entry.upper) / 2.0, (entry.upper - entry.lower) / 2.0

    def _default(self, name: str) -> Value:
        levels = self.levels(name)
        return levels[0] if levels else self._scale(name)[0]

    def _computed(self, name: str, values: Mapping[str, Value]) -> float:
        """A derived column's value; the middle of its bounds where there is none, as in a fit."""
        expression = self.derived[name]
        cells = {}
        for source, level in expression.sources():
            value = values[source]
            cells[source, level] = np.array([_number(value) if level is None else float(value == level)])
        value_of_row = float(evaluated(expression, cells, 1)[0])
        return self._scale(name)[0] if math.isnan(value_of_row) else value_of_row

    def _check_derived(self, values: Mapping[str, Value]) -> None:
        """Refuse a derived column that is given beside columns from which another value follows."""
        for name in self.derived:
            if name in values and all(source in values for source in self._needed(name)):
                low, high = self.bounds(name)
                follows = min(max(self._computed(name, values), low), high)
                if abs(follows - float(values[name])) > 1e-6 * (high - low):
                    raise InvalidParameterError(
                        f"{name[:60]} is computed from {listed(self._needed(name))} and would be {follows:.6g}, but it "
                        "was given another value. Leave it out."
                    )

    def _checked(self, name: str, value: Any) -> Value:
        levels = self.levels(name)
        if levels is not None:
            if str(value) not in levels:
                raise InvalidParameterError(
                    f"{name[:60]} must be one of its levels, but it is {str(value)[:40]!r}. "
                    f"Choose among {listed(levels)}."
                )
            return str(value)
        low, high = self.bounds(name)
        parsed_value, slack = _number(value), 1e-9 * (high - low)
        if name in self.derived and not math.isnan(parsed_value):
            return min(max(parsed_value, low), high)
        if not low - slack <= parsed_value <= high + slack:
            raise InvalidParameterError(
                f"{name[:60]} must be a number within its bounds {low:g} to {high:g}, but it is "
                f"{str(value)[:40]!r}: the fit tells nothing beyond them."
            )
        return min(max(parsed_value, low), high)

    def _checked_offset(self, value: Any) -> float:
        """Any number, or for an exposure any positive one: what it does is not estimated."""
        parsed_value, is_exposure = _number(value), self.fit.offset is None
        if not math.isfinite(parsed_value) or (is_exposure and parsed_value <= 0.0):
            raise InvalidParameterError(
                f"{str(self.offset)[:60]} must be a {'positive ' if is_exposure else ''}number, but it is "
                f"{str(value)[:40]!r}."
            )
        return parsed_value


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
