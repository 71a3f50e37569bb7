"""A public table as the pattern of simulated ones: its rows, and the effects that are found in it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from discreet.data.cells import level_codes, numbers
from discreet.data.design import Design
from discreet.data.metadata import CategoryColumn, Metadata, NumericColumn, half_width
from discreet.data.public_records import PublicRecords
from discreet.errors import DataMismatchError, InvalidParameterError
from discreet.kernels.subsets.best_subsets import best_subsets
from discreet.typing import Floats

LEAST_RECORDS = 30
"""Complete public records that effects are found in; twice as many as there are columns of the regression."""

MOST_SEARCHED = 40
"""Candidates among whose subsets BIC chooses; with more the search can take minutes."""

N_BEST = 50
"""Models of each size that BIC compares: a category has several columns, so the best by size need not be the best."""


@dataclass(frozen=True)
class PublicPattern:
    """Complete records of a public table, on the scale of a scenario.

    Parameters
    ----------
    name : str
        Of the table, without its folder.
    sha256 : str
        Of the file; of a table in memory, of its columns, ranges and points.
    n_records : int
        Complete records.
    n_dropped : int
        Records left out, for a missing cell.
    scores : ndarray of float, shape (n_points, n_candidates)
        Distinct points: from -1 to 1 over a column's bounds, of a category from 0 to 1 by the place of the level.
    target : ndarray of float, shape (n_points,)
        In its unit, within its bounds.
    records : ndarray of float, shape (n_points,)
        How many records each point stands for.
    """

    name: str
    sha256: str
    n_records: int
    n_dropped: int
    scores: Floats = field(repr=False, compare=False)
    target: Floats = field(repr=False, compare=False)
    records: Floats = field(repr=False, compare=False)

    @classmethod
    def of(cls, metadata: Metadata, target: str, candidates: Sequence[str], public: Any) -> "PublicPattern":
        """Read the complete records of a public table, clipped to the declared bounds."""
        records = public if isinstance(public, PublicRecords) else PublicRecords(public, metadata)
        design = Design.plan(metadata, target, candidates)
        points = records.points(metadata, target, design.candidates)
        count, least = int(points.records.sum()), max(LEAST_RECORDS, 2 * (design.n_columns - 1))
        if count < least:
            raise DataMismatchError(
                f"The public table must have at least {least} records that are complete in the columns used, but it "
                f"has {count}. Name fewer candidates, or give another table."
            )
        scores = [_scores(points.rows.column(name), metadata.declared(name)) for name in design.candidates]
        middle, half = half_width(metadata.declared(target))  # type: ignore[arg-type]
        values = np.clip(numbers(points.rows.column(target)), middle - half, middle + half)
        return cls(
            records.name,
            records.file_sha256 or points.sha256,
            count,
            points.n_dropped,
            np.column_stack(scores),
            values,
            points.records.astype(np.float64),
        )

    def draw(self, uniforms: Floats) -> Floats:
        """Return the scores of records drawn with replacement.

        Shapes: uniforms (n_rows,); returns (n_rows, n_candidates).
        """
        ends = np.cumsum(self.records)
        places = np.searchsorted(ends, uniforms * ends[-1], side="right")
        drawn: Floats = self.scores[np.minimum(places, len(ends) - 1)]
        return drawn

    def mean(self, values: Floats) -> float:
        """Return the mean over the records. Shapes: values (n_points,)."""
        return float(np.average(values, weights=self.records))

    def variance(self, values: Floats) -> float:
        """Return the variance over the records. Shapes: values (n_points,)."""
        return self.mean((values - self.mean(values)) ** 2)


class PublicEffects(NamedTuple):
    """What least squares finds in public records.

    Parameters
    ----------
    effects : dict of str to float
        Change of the target from the middle of a column to its upper bound; of a category, the largest between two of
        its levels. Columns that were not selected have none.
    levels : dict of str to tuple of float
        Change of the target from the first level of a category to each.
    intercept : float
        The target where all columns are in the middle and all categories at their first level.
    noise_sd : float
        Residual standard deviation.
    """

    effects: dict[str, float]
    levels: dict[str, tuple[float, ...]]
    intercept: float
    noise_sd: float


def public_effects(pattern: PublicPattern, metadata: Metadata, candidates: Sequence[str]) -> PublicEffects:
    """Return the least squares coefficients of the columns that BIC selects in public records; nothing is private.

    Source: Schwarz 1978, Estimating the dimension of a model.
    """
    if len(candidates) > MOST_SEARCHED:
        raise InvalidParameterError(
            f"Effects can be found among at most {MOST_SEARCHED} candidates, but there are {len(candidates)}. Name "
            "fewer candidates, or state the effects."
        )
    columns, owned = _regressors(pattern, metadata, candidates)
    weights, n = pattern.records, pattern.n_records
    means = np.average(columns, axis=0, weights=weights)
    x, y = columns - means, pattern.target - pattern.mean(pattern.target)
    gram, xty, yty = x.T @ (weights[:, None] * x), x.T @ (weights * y), float(weights @ y**2)
    units = np.array([[owner == name for owner in owned] for name in candidates])
    selected = _best_by_bic(gram, xty, yty, units, n)
    at = np.flatnonzero(units[selected].any(axis=0)) if selected else np.zeros(0, dtype=np.intp)
    coef = np.linalg.lstsq(gram[np.ix_(at, at)], xty[at], rcond=1e-10)[0] if len(at) else np.zeros(0)
    residuals = y - x[:, at] @ coef
    degrees = n - 1 - int(np.linalg.matrix_rank(gram[np.ix_(at, at)], hermitian=True) if len(at) else 0)
    noise_sd = math.sqrt(float(weights @ residuals**2) / max(degrees, 1))
    if not noise_sd > 1e-9 * max(math.sqrt(yty / n), 1e-300):
        raise InvalidParameterError(
            "The public table must leave something of the target unexplained, but its columns explain all of it. "
            "Leave out the candidate that tells the target."
        )
    coefficient_at = dict(zip(at.tolist(), coef.tolist(), strict=True))
    effects, levels = dict[str, float](), dict[str, tuple[float, ...]]()
    for j in selected:
        name, coefficients = candidates[j], [coefficient_at[int(k)] for k in np.flatnonzero(units[j])]
        if metadata.is_number(name):
            effects[name] = coefficients[0]
        else:
            levels[name] = (0.0, *coefficients)
            effects[name] = max(levels[name]) - min(levels[name])
    intercept = pattern.mean(pattern.target) - float(means[at] @ coef)
    return PublicEffects(effects, levels, intercept, noise_sd)


def level_places(scores: Floats, n_levels: int) -> npt.NDArray[np.int64]:
    """Return the places of levels, from 0."""
    places: npt.NDArray[np.int64] = np.rint(scores * (n_levels - 1)).astype(np.int64)
    return places


def signal(scores: Floats, names: Sequence[str], effects: Mapping[str, float], levels: Any) -> Floats:
    """Return what columns add to the target, in its unit.

    Shapes: scores (n, n_candidates); returns (n,).
    """
    straight = np.array([0.0 if name in levels else effects.get(name, 0.0) for name in names])
    total = scores @ straight
    for j, name in enumerate(names):
        if name in levels:
            effect_of_level = np.array(levels[name])
            total = total + effect_of_level[level_places(scores[:, j], len(effect_of_level))]
    return np.asarray(total, dtype=np.float64)


def _scores(values: Any, column: NumericColumn | CategoryColumn) -> Floats:
    if isinstance(column, NumericColumn):
        middle, half = half_width(column)
        return np.clip((numbers(values) - middle) / half, -1.0, 1.0)
    last = max(len(column.levels or ()) - 1, 1)
    return np.asarray(level_codes(values, column) / last, dtype=np.float64)


def _regressors(
    pattern: PublicPattern, metadata: Metadata, candidates: Sequence[str]
) -> tuple[Floats, tuple[str, ...]]:
    """Columns of the regression and whose they are: a number has one, a category one a level but the first."""
    regressors, owned = list[Floats](), list[str]()
    for j, name in enumerate(candidates):
        column = metadata.declared(name)
        if isinstance(column, NumericColumn):
            columns = [pattern.scores[:, j]]
        else:
            n_levels = len(column.levels or ())
            places = level_places(pattern.scores[:, j], n_levels)
            columns = [(places == level).astype(np.float64) for level in range(1, n_levels)]
        regressors += columns
        owned += [name] * len(columns)
    return np.column_stack(regressors), tuple(owned)


def _best_by_bic(gram: Floats, xty: Floats, yty: float, units: npt.NDArray[np.bool_], n: int) -> list[int]:
    """Places of the candidates in the model with the least BIC."""
    none = np.zeros(len(xty), dtype=np.bool_)
    widest = max(math.comb(len(units), size) for size in range(1, len(units) + 1))
    rss, masks = best_subsets(gram, xty, yty, units, none, len(units), min(N_BEST, widest))
    models = [(yty, 0), *zip(rss[np.isfinite(rss)].tolist(), masks[np.isfinite(rss)].tolist(), strict=True)]

    def bic(model: tuple[float, int]) -> float:
        rss, mask = model
        at = np.flatnonzero(units[[bool(mask >> j & 1) for j in range(len(units))]].any(axis=0))
        rank = int(np.linalg.matrix_rank(gram[np.ix_(at, at)], hermitian=True)) if len(at) else 0
        return n * math.log(max(rss, 1e-15 * yty, 1e-300) / n) + math.log(n) * (rank + 1)

    chosen = min(models, key=bic)[1]
    return [j for j in range(len(units)) if chosen >> j & 1]
