"""The choice of all columns above thresholds from noisy scores: one vector of cube noise, read step by step."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import Any

import numpy as np
from typing_extensions import override

from discreet.accounting.events import CubeEvent, Event
from discreet.mechanisms.cube import check_cube, cube_noise
from discreet.mechanisms.rng import Source
from discreet.methods.screening.threshold_choice import AboveThreshold, ChoiceOfNumber, Chosen, check_threshold
from discreet.methods.screening.units import Units
from discreet.parameters.screening import TopKNoise
from discreet.release import NoiseRecord
from discreet.typing import Floats, Integers

FEW_UNITS = 8
"""Up to which noise on all scores costs less than one draw among all subsets, beside effects as well as without any."""

N_DRAWN, BLOCK, SEED = 40_000, 4000, 21
"""Tables without an effect, from a seed: the thresholds are public numbers, the same every time."""

FEWEST_BEYOND = 40
"""Of the drawn tables beyond a threshold; a chance that leaves fewer takes a bound."""

OCTAVES = 16
"""Standard deviations are rounded up to 1 / OCTAVES of an octave, so that thresholds are computed once."""


@dataclass(frozen=True)
class StepDown(ChoiceOfNumber):
    """The choice of the columns whose noisy scores lie above thresholds that fall with each column chosen.

    `max_false` holds whichever other columns go with the target.

    Parameters
    ----------
    n_screened : int
        Units of which these were left by a choice that saw the same rows; 0 where there was none.

    References
    ----------
    Hardt and Talwar 2010 (noise of a cube); Romano and Wolf 2005 (stepwise thresholds).
    """

    n_screened: int = 0

    def __post_init__(self) -> None:
        check_threshold(self.thresholds(1.0)[0] / self.step, self.epsilon)
        check_cube(self.units.n_units, self.scale, "the scores")

    @property
    def event(self) -> Event:
        """What is done to the data: one vector with cube noise."""
        return CubeEvent(self.epsilon)

    @property
    def scale(self) -> Fraction:
        """Scale of the noise, in steps."""
        return self.sensitivity / self.epsilon

    @property
    def parameters(self) -> dict[str, Any]:
        """What was decided, for a release."""
        return {"mechanism": "cube", "max_false": self.max_false}

    @property
    def _largest_group(self) -> int:
        unit_of = self.units.unit_of
        return 1 if unit_of is None else int(np.bincount(unit_of[unit_of >= 0]).max())

    @property
    def _numbers(self) -> tuple[int, int, int]:
        """Units, the columns of the largest, and units among which these are the best by sampling alone."""
        return self.units.n_units, self._largest_group, max(self.n_screened, self.units.n_units)

    def thresholds(self, variance: float) -> tuple[int, ...]:
        """Return thresholds in steps, from the variance of a score of no effect, in rows: public, or released.

        The first is for the largest score of all units, the next for the largest of one unit less, and so on.
        """
        sd = 2.0 ** (math.ceil(OCTAVES * 0.5 * math.log2(max(variance, 1.0))) / OCTAVES)
        scale = float(self.scale) / self.step
        rows = _thresholds(self._numbers, scale, sd, self.max_false)
        return tuple(math.ceil(threshold * self.step) for threshold in rows)

    def draw(self, scores: Integers, thresholds: tuple[int, ...], rng: Source) -> Chosen:
        """Return the chosen units, and the noisy scores of all. Claim: ``mechanisms/cube.privacy.md``."""
        noisy = cube_noise(scores.tolist(), self.scale, rng)
        # Step down: the i-th largest noisy score against the i-th threshold, until one does not pass its own.
        order = sorted(range(len(noisy)), key=lambda place: -noisy[place])[: self.max_size]
        is_above = [noisy[place] > least for place, least in zip(order, thresholds, strict=False)]
        chosen = order[: is_above.index(False)] if False in is_above else order
        return Chosen(sorted(chosen), np.array(noisy, dtype=np.float64) / self.step)

    @override
    def chances(self, choice: Chosen, variances: Floats, units: Units, candidates: Sequence[str]) -> dict[str, float]:
        if choice.noisy_scores is None:
            return {}
        by_unit = self.chances_of_units(choice.noisy_scores, variances, choice.units)
        return units.by_column(by_unit, choice.units, candidates)

    def chances_of_units(
        self, noisy: Floats, variances: Floats, asked: Collection[int], n_drawn: int = N_DRAWN
    ) -> Floats:
        """Return how often the largest of a unit's noisy score and of the smaller ones is as large without an effect.

        `noisy` in rows, `variances` those of each unit's score where it has no effect. Units behind those that are
        asked have 1. It is 1 / N_DRAWN at least, and never less than that of a larger score. Shapes: all (n_units,).
        """
        sizes, noise = (drawn[:n_drawn] for drawn in _no_effect(*self._numbers))
        noise, sds = noise * (float(self.scale) / self.step), np.sqrt(variances)
        chances, order = np.ones(len(noisy)), np.argsort(-noisy, kind="stable")
        last, least = max(np.flatnonzero(np.isin(order, list(asked))), default=-1), 1.0 / N_DRAWN
        for place, unit in enumerate(order[: last + 1]):
            n_left = len(order) - place
            # The largest without an effect of the scores not yet taken; along the order chances do not fall.
            largest = (sds[order[place:]] * sizes[:, :n_left] + noise[:, :n_left]).max(axis=1)
            least = chances[unit] = max(least, float((largest >= noisy[unit]).mean()))
        return chances

    def noise_record(self, step: int, unit: str, formula: str, claim: str) -> NoiseRecord:
        """Return the noise box."""
        return NoiseRecord(
            mechanism="cube",
            noise="cube",
            sensitivity=self.sensitivity / step,
            scale=float(self.scale) / step,
            unit=unit,
            formula=formula,
            numerics="exact draw on whole steps",
            claim=claim,
        )


def thresholds_for(
    units: Units,
    epsilon: Fraction,
    sensitivity: int,
    step: int,
    max_false: float,
    noise: TopKNoise | None = None,
    max_size: int | None = None,
    n_screened: int | None = None,
) -> StepDown | AboveThreshold:
    """Return the choice of all columns above thresholds: from noisy scores where there are few, else by one draw.

    `noise` is the law of that draw, which whoever states one gets. Where `n_screened` is given scores are noisy however
    many there are.
    """
    facts = (units, epsilon, sensitivity, step, max_false, max_size)
    if noise is None and (n_screened is not None or units.n_units <= FEW_UNITS):
        return StepDown(*facts, n_screened or 0)
    return AboveThreshold(*facts, noise or "exponential")


@lru_cache(maxsize=256)
def _thresholds(numbers: tuple[int, int, int], scale: float, sd: float, max_false: float) -> tuple[float, ...]:
    """Return what the largest of n, n - 1, .. 1 noisy scores of no effect exceeds with the chance `max_false`.

    A unit's score is the largest of the absolute values of `numbers[1]` independent normal ones of deviation `sd`, and
    the n units are the best of `numbers[2]`.
    """
    n_units, n_columns, n_screened = numbers
    sizes, noise = _no_effect(*numbers)
    if max_false * N_DRAWN < FEWEST_BEYOND:
        # Half of the chance for a score, half for the noise: no number lies beyond the radius, a sum of n exponentials.
        beyond = -sd * NormalDist().inv_cdf(max_false / (4.0 * n_screened * n_columns))
        bound = beyond + scale * _sum_of_exponentials(n_units, max_false / 2.0)
        return (bound,) * n_units
    largest = np.maximum.accumulate(sd * sizes + scale * noise, axis=1)
    ends = np.quantile(largest.T, 1.0 - max_false, axis=1, method="higher", overwrite_input=True)
    return tuple(float(each) for each in ends[::-1])


@lru_cache(maxsize=8)
def _no_effect(n_units: int, n_columns: int, n_screened: int) -> tuple[Floats, Floats]:
    """Draw absolute scores of deviation one and cube noise of scale one, both of shape (N_DRAWN, n_units).

    Where there are more `n_screened`, scores are the largest of these, in falling order.
    """
    rng, sizes, noise = Source.seeded(SEED), np.empty((N_DRAWN, n_units)), np.empty((N_DRAWN, n_units))
    for start in range(0, N_DRAWN, BLOCK):  # a block at a time needs a fraction of the memory
        words = rng.words(BLOCK * (3 * n_units + 1)).reshape(BLOCK, -1)
        uniform = np.asarray((words + 0.5) * 2.0**-64, dtype=np.float64)
        sizes[start : start + BLOCK], noise[start : start + BLOCK] = _block(uniform, n_columns, n_screened)
    return sizes, noise


def _block(uniform: Floats, n_columns: int, n_screened: int) -> tuple[Floats, Floats]:
    """Return scores and noise from uniform numbers. Shapes: uniform (m, 3 n_units + 1), returns (m, n_units) both."""
    from scipy.special import ndtri  # slow to load

    n_units = (uniform.shape[1] - 1) // 3
    logs = np.log(uniform[:, :n_units])
    if n_screened > n_units:  # the largest of m uniform numbers: log U_(i) = log U_(i - 1) + log(V) / (m + 1 - i)
        logs = np.cumsum(logs / np.arange(n_screened, n_screened - n_units, -1), axis=1)
    # The largest of g absolute values has the distribution (2 Phi(x) - 1)^g.
    sizes = ndtri(0.5 + 0.5 * np.exp(logs / n_columns))
    radii = -np.log(uniform[:, n_units : 2 * n_units + 1]).sum(axis=1, keepdims=True)
    # A density exp(-max |z_j|): z is uniform in a cube whose radius is a sum of n + 1 exponential numbers.
    return sizes, radii * (2.0 * uniform[:, 2 * n_units + 1 :] - 1.0)


def _sum_of_exponentials(n: int, chance: float) -> float:
    """Return what a sum of n standard exponential numbers exceeds with at most this chance."""
    from scipy.special import gammaincinv  # slow to load

    return float(gammaincinv(n, 1.0 - chance))
