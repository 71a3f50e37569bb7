"""How much noise constrained scores need: their sensitivities, and what computing adds to them."""

from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.errors import InvalidParameterError
from discreet.mechanisms.selection import Noise
from discreet.parameters.ranges import MAX_ROWS

MAX_PENALTY = 1e12
"""In squared target bounds; far above any score of a table that fits the row cap."""


@dataclass(frozen=True)
class Sensitivity:
    """How far constrained scores move between neighbors, in squared units of the target's bound (r = 1).

    Parameters
    ----------
    gamma : Fraction
        The range, over models, of their changes.
    size : Fraction
        The change of one model's score, and of the least of all.
    tolerance : Fraction
        A computed score lies at most this far above the true one, rounding apart.
    rounding : Fraction
        Length of the interval of a score's rounding errors.
    """

    gamma: Fraction
    size: Fraction
    tolerance: Fraction
    rounding: Fraction

    @classmethod
    def of(cls, design: Design, radius: Fraction) -> "Sensitivity":
        """Return the exact sensitivities of a request's scores.

        Source: privacy specification 1.2 (omega), 1.6 (tolerance and rounding).
        """
        metadata = design.metadata
        # A row's loss lies in [max(1 - R, 0)^2, (1 + R)^2]: a row more moves scores within an interval of that length,
        # omega, the same for all models; another row in its place within twice that.
        largest = (1 + radius) ** 2
        omega = largest - max(1 - radius, Fraction(0)) ** 2
        factor = 2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1
        # At the most rows there can be: 4 for the score (specification 1.6, either way, and two operations more for the
        # unit of the lazy search), 8 for the certificate (`pcls.privacy.md`).
        rounding = (4 + 8) * (design.n_columns + 8) * largest * MAX_ROWS / 2**53
        return cls(
            omega * factor * metadata.rows_per_unit, largest * metadata.rows_per_unit, largest / 10_000, rounding
        )

    @property
    def error(self) -> Fraction:
        """Length of the interval that a computed score's errors lie in."""
        return self.tolerance + self.rounding

    @property
    def range(self) -> Fraction:
        """The range of the computed scores' changes (Theorem 2)."""
        return self.gamma + 2 * self.error


@dataclass(frozen=True)
class Calibration:
    """The noise of one choice among models by least squares, in squared units of the target's bound (r = 1).

    Parameters
    ----------
    noise : {"exponential", "gumbel", "laplace"}
        Its law.
    epsilon : Fraction
        In nats.
    sensitivity : Sensitivity
        Of the scores without penalty.
    penalty : Fraction
        phi.
    n_candidates : int
        The most columns that pay it.
    max_false : float, optional
        The chance of a false column that it is set for.
    """

    noise: Noise
    epsilon: Fraction
    sensitivity: Sensitivity
    penalty: Fraction
    n_candidates: int
    max_false: float | None = None

    @classmethod
    def of(
        cls,
        design: Design,
        sensitivity: Sensitivity,
        epsilon: Fraction,
        noise: Noise,
        penalty: Fraction,
        max_false: float | None = None,
    ) -> "Calibration":
        """Calibrate to the range sensitivity of the scores, inflated for the errors of computing them."""
        return cls(noise, epsilon, sensitivity, penalty, len(design.candidates), max_false)

    @property
    def gamma(self) -> Fraction:
        """Range sensitivity of the true scores."""
        return self.sensitivity.gamma

    @property
    def tolerance(self) -> Fraction:
        """The largest duality gap allowed."""
        return self.sensitivity.tolerance

    @property
    def inflation(self) -> Fraction:
        """What the solver's gap and rounding, the penalty's too, add to the range sensitivity (Theorem 2)."""
        rounding = self.sensitivity.rounding + self.penalty * self.n_candidates / 2**51
        return 2 * self.tolerance + 2 * rounding


def bounded_penalty(penalty: Fraction) -> Fraction:
    """Return a penalty, or refuse one that is too large."""
    if penalty > Fraction(MAX_PENALTY):
        raise InvalidParameterError(
            f"model_penalty must be at most {MAX_PENALTY:g} times the target's squared bound: it is larger."
        )
    return penalty
