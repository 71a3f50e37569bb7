"""The privacy cost of additive noise: Gaussian where a delta is given, else in an ellipsoid, for pure privacy."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.events import EllipsoidEvent, Event, GaussianEvent
from discreet.accounting.gaussian import gaussian_rho
from discreet.accounting.totals import totals_of
from discreet.errors import InvalidParameterError
from discreet.mechanisms.additive import discrete_gaussian
from discreet.mechanisms.ellipsoid import ellipsoid_noise
from discreet.mechanisms.rng import Source
from discreet.release import NoiseRecord

DIGITS = 12
"""Scales are decimals of this many digits, rounded up."""


@dataclass(frozen=True)
class NoiseBudget:
    """What all additive noise of a request may cost together.

    Parameters
    ----------
    rho : Fraction or None
        Of discrete Gaussian noise; None for pure privacy.
    epsilon : Fraction or None
        Of noise in an ellipsoid, in nats; None where rho is given.
    lattice : Fraction
        At least what the lattice adds to the Gaussian's epsilon, for all estimates from this budget.
    """

    rho: Fraction | None
    epsilon: Fraction | None
    lattice: Fraction = Fraction(0)

    @classmethod
    def of(
        cls,
        epsilon: Fraction,
        delta: Fraction,
        n_numbers: int,
        smallest: int,
        others: tuple[Event, ...] = (),
    ) -> "NoiseBudget":
        """Return what other parts of a request leave for additive noise."""
        if delta == 0:
            remaining = epsilon - sum((totals_of(part).pure for part in others), Fraction(0))
            if remaining <= 0:
                raise InvalidParameterError("The parts of a request must cost less than the whole. Lower their shares.")
            return cls(None, remaining)
        # The sum of |v_i| / s_i^2 is at most sqrt(n) sqrt(2 rho) / min s_i, by Cauchy and Schwarz (see GaussianEvent).
        rho = gaussian_rho(epsilon, delta, others)
        # The rho without the lattice's own cost is no smaller than the final one, so the lattice is bounded for it,
        # too.
        root = Fraction(math.isqrt(math.ceil(2 * rho * 10**24)) + 1, 10**12)
        lattice = (math.isqrt(n_numbers) + 1) * max(2 * rho, root) / smallest
        return cls(gaussian_rho(epsilon, delta, others, lattice), None, lattice)

    def part(self, share: Fraction) -> "NoiseBudget":
        """Return a share of it, for one of several releases after each other; `event` is that of all together.

        Epsilon and rho add up, and the lattice's part is already that of all estimates.
        """
        rho, epsilon = self.rho, self.epsilon
        return NoiseBudget(
            None if rho is None else rho * share, None if epsilon is None else epsilon * share, self.lattice
        )

    def event(self) -> Event:
        """Return the event of spending all of it on Gaussian noise, or on noise in an ellipsoid."""
        if self.rho is not None:
            return GaussianEvent(self.rho, self.lattice)
        return EllipsoidEvent(self.epsilon or Fraction(0))


@dataclass(frozen=True)
class PrivateEstimate:
    """One block of integer sums, and the noise it is released with.

    Parameters
    ----------
    name : str
        What it is, for the release.
    l2 : Fraction
        Squared l2 sensitivity, in squared whole steps.
    share : Fraction
        Its noise is what it would be if this part of the budget were spent on it alone.
    step : int
        Whole steps in one unit of the released numbers, for the noise box.
    formula : str
        The sensitivity in words, in those units.
    n_numbers : int
        Of all blocks that are drawn together, on which the size of noise in an ellipsoid depends.
    """

    name: str
    l2: Fraction
    share: Fraction
    step: int
    formula: str
    n_numbers: int

    def scale(self, budget: NoiseBudget) -> Fraction:
        """Return the Gaussian's standard deviation, or the half axis of the unit ellipsoid, in whole steps, rounded up.

        Together the changes of all blocks, over their scales, have a squared length of at most 2 rho, or epsilon^2.
        """
        # l2 is a squared sensitivity: a block alone costs l2 / (2 s^2) = share x rho, or l2 / s^2 = share x epsilon^2.
        # That all blocks together cost no more than the budget is for whoever sets the shares.
        if budget.rho is None:
            return _up(math.sqrt(float(self.l2 / self.share)) / float(budget.epsilon or 1))
        return _up(math.sqrt(float(self.l2 / (2 * self.share * budget.rho))))

    def variance(self, budget: NoiseBudget) -> float:
        """Return the variance of each number's noise, in squared steps."""
        # The ellipsoid's noise has d + 1 times its squared half axis (claim of `ellipsoid`).
        return float(self.scale(budget)) ** 2 * (1.0 if budget.rho is not None else self.n_numbers + 1.0)

    def noise(self, budget: NoiseBudget, claim: str) -> NoiseRecord:
        """Return the noise box, in units of a product of two scaled columns."""
        gaussian = budget.rho is not None
        return NoiseRecord(
            mechanism="discrete_gaussian" if gaussian else "ellipsoid_noise",
            noise="gaussian" if gaussian else "ellipsoid",
            sensitivity=math.sqrt(float(self.l2)) / self.step,
            scale=float(self.scale(budget)) / self.step,
            unit="products of scaled columns",
            formula=self.formula,
            numerics="exact draw on whole steps",
            claim=claim,
        )


def drawn_together(
    estimates: Sequence[PrivateEstimate], values: Mapping[str, Sequence[int]], budget: NoiseBudget, rng: Source
) -> dict[str, list[int]]:
    """Add the noise of all blocks, whose values stand under their names; the result may be released."""
    blocks = [
        (estimate.name, values[estimate.name], estimate.scale(budget))
        for estimate in estimates
        if len(values[estimate.name])
    ]
    if budget.rho is not None:
        return {name: discrete_gaussian(block, scale, rng) for name, block, scale in blocks}
    scales = [scale for _, block, scale in blocks for _ in block]
    drawn = iter(ellipsoid_noise([value for _, block, _ in blocks for value in block], scales, rng))
    return {name: list(itertools.islice(drawn, len(block))) for name, block, _ in blocks}


@functools.lru_cache(maxsize=256)
def _up(value: float) -> Fraction:
    """The next decimal of some digits above a float and its rounding error."""
    # The factor 1 + 2^-48 covers the rounding of the few float operations that led to the value.
    places = DIGITS - 1 - math.floor(math.log10(value))
    unit = Fraction(10) ** places
    return Fraction(math.ceil(Fraction(value) * (1 + Fraction(1, 2**48)) * unit)) / unit
