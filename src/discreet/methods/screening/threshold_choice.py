"""The choice of all columns above a threshold, whose number is part of the choice: its noise, and where it lies."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np

from discreet.accounting.events import Event, SelectionEvent
from discreet.errors import InvalidParameterError
from discreet.mechanisms.rng import Source
from discreet.mechanisms.subset_search import n_subsets
from discreet.mechanisms.threshold import above_threshold
from discreet.methods.screening.top_k_choice import MOST_SETS
from discreet.methods.screening.units import Units
from discreet.parameters.screening import TopKNoise
from discreet.release import NoiseRecord
from discreet.typing import Bools, Floats, Integers

MAX_FALSE = 0.05
"""Chance of a false column by default."""

EXPECTED = 3.0
"""Noise alone would choose about so many columns: absent ones count so often more."""

MOST_DRAWN = 20_000
"""Columns up to which the threshold comes from drawn tables; beyond, from a bound."""

N_DRAWN, MOST_NUMBERS, SEED = 4000, 4_000_000, 20
"""Tables without an effect that are drawn, from a seed: the threshold is a public number, the same every time."""


LARGEST = 2.0**31
"""Of a threshold, in rows: with it all sums of scores fit in 64 bits."""

TYPICAL_MEAN = 0.25
"""A column's mean on its scaled range, up to which the noise of the target's center is counted in the threshold."""


@dataclass(frozen=True)
class Chosen:
    """What a choice above thresholds chose.

    Parameters
    ----------
    units : list of int
        Places of the chosen units, in increasing order.
    noisy_scores : ndarray of float, shape (number of units,), optional
        Of all units, in rows, where these are released.
    """

    units: list[int]
    noisy_scores: Floats | None = None


@dataclass(frozen=True)
class ChoiceOfNumber:
    """A choice of columns that chooses their number as well.

    Parameters
    ----------
    units : Units
        What is chosen: columns, and groups of them.
    epsilon : Fraction
        In nats.
    sensitivity : int
        The most that one unit changes each score by, in steps.
    step : int
        Steps in one row.
    max_false : float
        Chance of a false column.
    max_size : int, optional
        Most units that are chosen.
    """

    units: Units
    epsilon: Fraction
    sensitivity: int
    step: int
    max_false: float
    max_size: int | None = None

    @property
    def is_concentrated(self) -> bool:
        """Nothing here costs less in rho: all of epsilon is spent whatever delta is."""
        return False

    def chances(self, choice: Chosen, variances: Floats, units: Units, candidates: Sequence[str]) -> dict[str, float]:
        """Return by chosen column how often one without an effect has as large a score; empty where it is not known.

        `variances` are those of the units' scores without an effect, in rows; `units` tells which candidates make them.
        Shapes: variances (n_units,).
        """
        del choice, variances, units, candidates
        return {}


@dataclass(frozen=True)
class AboveThreshold(ChoiceOfNumber):
    """The choice of the columns whose scores lie above a public threshold, by one draw among all subsets.

    `max_false` holds where no column goes with the target.

    Parameters
    ----------
    noise : {"exponential", "gumbel"}
        Its law.
    """

    noise: TopKNoise = "exponential"

    def __post_init__(self) -> None:
        # The noise of a center adds less than what is left here.
        facts = (self.units.n_columns, float(self.scale) / self.step, 1.0, self.absent_weight, self.max_false)
        if _bound_of(*facts) > LARGEST / 4.0:
            check_threshold(threshold_of(*facts), self.epsilon)

    @property
    def event(self) -> Event:
        """What is done to the data: one draw over all subsets."""
        return SelectionEvent(self.epsilon, self.noise)

    @property
    def absent_weight(self) -> int:
        """How often a subset counts for each column that it leaves out."""
        return max(1, round(self.units.n_units / EXPECTED))

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in steps."""
        return 2 * self.sensitivity / self.epsilon

    @property
    def parameters(self) -> dict[str, Any]:
        """What was decided, for a release."""
        return {"mechanism": "threshold", "noise": self.noise, "max_false": self.max_false}

    def thresholds(self, variance: float) -> tuple[int, ...]:
        """Return the threshold in steps, from the variance of a score of no effect, in rows: public, or released."""
        # A group's score is the largest of its columns': so the columns count, each as if it entered alone.
        rows = threshold_of(
            self.units.n_columns, float(self.scale) / self.step, math.sqrt(variance), self.absent_weight, self.max_false
        )
        return (math.ceil(min(rows, LARGEST) * self.step),)

    def draw(self, scores: Integers, thresholds: tuple[int, ...], rng: Source) -> Chosen:
        """Return the chosen units. Claim: ``mechanisms/threshold.privacy.md``."""
        law = (thresholds[0], self.epsilon, self.sensitivity, rng, self.absent_weight, self.noise, self.max_size)
        return Chosen([int(place) for place in above_threshold(scores, *law)])

    @property
    def _n_subsets(self) -> int:
        n_units = self.units.n_units
        if self.max_size is None and n_units > math.log2(MOST_SETS):
            return MOST_SETS
        return min(n_subsets(n_units, min(self.max_size or n_units, n_units)), MOST_SETS)

    def noise_record(self, step: int, unit: str, formula: str, claim: str) -> NoiseRecord:
        """Return the noise box; its sensitivity is the range of the changes of two subsets' costs."""
        return NoiseRecord(
            mechanism="threshold",
            noise=self.noise,
            n_candidates=self._n_subsets,
            sensitivity=2 * self.sensitivity / step,
            scale=float(self.scale) / step,
            unit=unit,
            formula=f"2 x {formula}",
            numerics="exact draw; scores are whole numbers",
            claim=claim,
        )


def check_threshold(rows: float, epsilon: Fraction) -> None:
    """Refuse an epsilon at which no number of rows reaches the threshold."""
    if rows > LARGEST / 4.0:
        raise InvalidParameterError(
            f"n_features_to_select=auto needs a larger epsilon: at epsilon {float(epsilon):.3g} no number of "
            "rows reaches the threshold. Raise epsilon, or give a number of columns."
        )


def variance_of_no_effect(n_rows: float, rows_per_unit: int, center_variance: float = 0.0) -> float:
    """Return the variance of a score of a column that does not go with the target, in rows.

    `center_variance` is that of a score by the noise of the target's center, of a column of mean one.
    """
    # n / c units whose c products are alike have the variance c^2 each: n c at most.
    return max(n_rows, 1.0) * rows_per_unit + TYPICAL_MEAN**2 * center_variance


@lru_cache(maxsize=256)
def threshold_of(d: int, scale: float, sd: float, absent_weight: int, max_false: float) -> float:
    """Return the threshold at which a table without an effect gives a column with the chance `max_false`.

    Scores are supposed to be independent and normal with standard deviation `sd`, the most that products in [-1, 1]
    have; the noise to be that of the exponential mechanism, which permute-and-flip keeps below.
    """
    bound = _bound_of(d, scale, sd, absent_weight, max_false)
    if d > MOST_DRAWN:
        return bound
    tables = _Tables.of(_sizes_of_no_effect(d) * sd, scale, absent_weight)
    low, high = 0.0, bound
    for _ in range(40):
        middle = (low + high) / 2.0
        low, high = (middle, high) if tables.are_wrong_more_often(middle, max_false) else (low, middle)
    return high


@lru_cache(maxsize=1)
def _sizes_of_no_effect(d: int) -> Floats:
    """Draw tables of d scores without an effect, of standard deviation one; absolute, the largest first."""
    from scipy.special import ndtri  # slow to load

    words = Source.seeded(SEED).words(max(min(N_DRAWN, MOST_NUMBERS // d), 200) * d).reshape(-1, d)
    return np.sort(np.abs(ndtri((words + 0.5) * 2.0**-64)), axis=1)[:, ::-1]


@dataclass(frozen=True)
class _Tables:
    """Drawn scores, by table the largest first, and what a choice from them needs at any threshold.

    Where all scores lie below the threshold t, the nearest are the largest, and the weights of all classes with a
    feature over that of none are x = sum_j (1 + 1/b)^j exp((s_j - t) / scale) / b. The chance of a feature is then
    x / (1 + x), and t enters x as a factor.
    """

    sizes: Floats
    log_odds: Floats
    scale: float
    absent_weight: int

    @classmethod
    def of(cls, sizes: Floats, scale: float, absent_weight: int) -> "_Tables":
        terms = sizes / scale + np.arange(sizes.shape[1]) * math.log1p(1.0 / absent_weight)
        largest = terms.max(axis=1, keepdims=True)
        log_odds = np.log(np.exp(terms - largest).sum(axis=1)) + largest[:, 0] - math.log(absent_weight)
        return cls(sizes, log_odds, scale, absent_weight)

    def are_wrong_more_often(self, threshold: float, max_false: float) -> bool:
        """Tell whether the mean chance of a feature is above `max_false`."""
        from scipy.special import expit  # slow to load

        is_above = self.sizes[:, 0] > threshold
        wrong = float(expit(self.log_odds[~is_above] - threshold / self.scale).sum())
        most = max_false * len(is_above)
        if wrong > most or wrong + is_above.sum() <= most:  # the other tables' chances cannot matter
            return wrong > most
        others = false_chances(self.sizes[is_above], threshold, self.scale, self.absent_weight)
        return wrong + float(others.sum()) > most


def _bound_of(d: int, scale: float, sd: float, absent_weight: int, max_false: float) -> float:
    """Return a threshold that is high enough, without a drawn table."""
    # Half of the chance for a score above s, half for a move of a score below: (1 + 1/b)^d - 1 subsets, each with the
    # chance exp(-(t - s) / scale) of that without a column.
    beyond = -sd * NormalDist().inv_cdf(max_false / (4.0 * d))
    return beyond + scale * (math.log(2.0 / max_false) + _log_expm1(d * math.log1p(1.0 / absent_weight)))


def needed_of(d: int, scale: float, n_rows: float) -> float:
    """Return a score, in rows, that d columns without an effect seldom have, with noise of this scale."""
    return _bound_of(d, scale, math.sqrt(n_rows), max(1, round(d / EXPECTED)), MAX_FALSE)


def false_chances(sizes: Floats, threshold: float, scale: float, absent_weight: int) -> Floats:
    """Return the chance that the exponential mechanism chooses any column, of each row of scores.

    Shapes: sizes (n, d), returns (n,). Classes are those of `discreet.mechanisms.threshold`.
    """
    d = sizes.shape[1]
    # Sorted, those above the threshold come first: both sides run away from it, and are merged by a stable sort.
    distances = np.abs(sizes - threshold)
    order = np.argsort(distances, axis=1, kind="stable")
    distances = np.take_along_axis(distances, order, axis=1)
    is_above: Bools = np.take_along_axis(sizes > threshold, order, axis=1)
    n_below = d - is_above.sum(axis=1)
    left = n_below[:, None] - np.cumsum(~is_above, axis=1)  # columns below the threshold beyond each
    absent = math.log(absent_weight)
    weights = (left + is_above) * absent
    weights += np.arange(d) * math.log1p(absent_weight)
    weights -= distances / scale
    natural = n_below * absent
    largest = np.maximum(weights.max(axis=1), natural)
    weights -= largest[:, None]
    total = largest + np.log(np.exp(weights, out=weights).sum(axis=1) + np.exp(natural - largest))
    none = d * absent - np.where(is_above, distances, 0.0).max(axis=1) / scale
    chances: Floats = -np.expm1(np.minimum(none - total, 0.0))
    return chances


def _log_expm1(x: float) -> float:
    """Return log(e^x - 1)."""
    return x + math.log(-math.expm1(-x))


def check_number_of_rows(n_rows: float | None) -> float:
    """Refuse a request whose threshold cannot be set."""
    if n_rows is None:
        raise InvalidParameterError(
            "n_features_to_select=auto needs a number of rows for its threshold, which metadata does not declare. Give "
            "a public guess as n0, or y_center=private, which releases a noisy one."
        )
    return float(n_rows)
