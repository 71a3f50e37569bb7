"""How much noise constrained scores need: their range sensitivity, and what computing adds to it."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.accounting.guarantee import exact
from discreet.accounting.neighbors import NeighboringRelation
from discreet.data.design import Design
from discreet.data.metadata import MAX_ROWS
from discreet.errors import InvalidParameterError
from discreet.mechanisms.selection import Noise

MAX_PENALTY = 1e12
"""In squared target bounds; far above any score of a table that fits the row cap."""


@dataclass(frozen=True)
class Calibration:
    """The noise of one request, in squared units of the target's bound (r = 1)."""

    noise: Noise
    gamma: Fraction
    tolerance: Fraction
    rounding: Fraction
    penalty: Fraction
    epsilon: Fraction

    @classmethod
    def of(
        cls,
        design: Design,
        radius: Fraction,
        n_units: int,
        epsilon: Fraction,
        noise: Noise,
        model_penalty: float | Literal["auto"],
    ) -> "Calibration":
        """Calibrate to the range sensitivity of the scores, inflated for what computing adds.

        Parameters
        ----------
        design : Design
            Its metadata name the relation and the rows per unit.
        radius : Fraction
            R / r.
        n_units : int
            Number of columns or groups that are free to enter.
        epsilon : Fraction
            In nats.
        noise : {"exponential", "gumbel", "laplace"}
            Law of the noise.
        model_penalty : float or "auto"
            phi, in squared units of the target.

        Returns
        -------
        Calibration
            The noise's parameters, as exact numbers.

        References
        ----------
        Privacy specification 1.2 (omega), 1.6 (inflations), 0.3 (Theorem 2).
        """
        metadata = design.metadata
        both = (1 + radius) ** 2
        omega = both - max(1 - radius, Fraction(0)) ** 2
        gamma = omega * (2 if metadata.neighboring is NeighboringRelation.REPLACE_ONE else 1) * metadata.rows_per_unit
        tolerance = both / 10_000
        # Length of the interval of a score's rounding errors at the most rows there can be: specification 1.6, either
        # way, and two operations more for the unit of the lazy search.
        rounding = 2 * (design.n_columns + 8) * both * MAX_ROWS * 2 / 2**53
        if model_penalty == "auto":
            # With no effects each free column is selected with probability 1 / (1 + exp(phi / scale)).
            scale = (gamma + 2 * tolerance + 2 * rounding) / epsilon
            penalty = scale * Fraction(math.log(2 * max(n_units, 1)))
        else:
            penalty = exact(model_penalty, "model_penalty") / exact(design.bound, "y_bound") ** 2
        if penalty > Fraction(MAX_PENALTY):
            raise InvalidParameterError(
                f"model_penalty must be at most {MAX_PENALTY:g} times the target's squared bound: it is larger."
            )
        rounding += penalty * len(design.candidates) / 2**51
        return cls(noise, gamma, tolerance, rounding, penalty, epsilon)

    @property
    def inflation(self) -> Fraction:
        """What the solver's gap and rounding add to the range sensitivity (Theorem 2)."""
        return 2 * self.tolerance + 2 * self.rounding
