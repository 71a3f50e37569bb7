"""The three noises as races: points of a Poisson process of intensity e^z, accepted with a probability (thinning).

A model's noise, smaller being better, is the first accepted point. With H the cumulative hazard of the noise, the point
z is accepted with probability H'(z) / (kappa e^z); given that a noise exceeds z0, it is H^-1(H(z0) + E) with E
exponential. The selection theorem's noise Z (larger is better) is minus z.
"""

import math
from dataclasses import dataclass
from decimal import Context, Decimal

from discreet.mechanisms.reals import ROUNDING, Interval, Real, Uniform, context_for, image, widened
from discreet.mechanisms.selection import Noise

LOG_2 = math.log(2.0)


@dataclass(frozen=True)
class RaceNoise:
    """One of the three noises.

    Parameters
    ----------
    name : {"exponential", "gumbel", "laplace"}
        The noise.
    """

    name: Noise

    @property
    def kappa(self) -> int:
        """Rate of the process over e^z."""
        return 2 if self.name == "exponential" else 1

    @property
    def is_capped(self) -> bool:
        """Whether the process is valid up to z = -log 2 only."""
        return self.name == "exponential"

    def keeps(self, uniform: Uniform, z: Real) -> bool:
        """Tell whether the point at z is accepted: H'(z) / (kappa e^z) exceeds a uniform number.

        Parameters
        ----------
        uniform : Uniform
            The point's own.
        z : Real
            Where it lies; at most -log 2 for the exponential noise.

        Returns
        -------
        bool
            With the exact probability.
        """
        if self.name == "gumbel":
            return True
        # The probability moves by at most as much as z does.
        chance = Real(self._keep_float(z.value), z.error + ROUNDING, lambda digits: self._enclose_chance(z, digits))
        return Real(uniform.value, 2.0**-52, uniform.enclose) < chance

    def _enclose_chance(self, z: Real, digits: int) -> Interval:
        low, high = image(self._keep_decimal, z, digits)
        # The Laplace noise's chance rises up to z = 0, where it is one, and falls after.
        ends = z.enclose(digits)
        return low, Decimal(2) if self.name == "laplace" and ends[0] <= 0 <= ends[1] else high

    def _keep_float(self, z: float) -> float:
        # H' is e^z / (1 - e^z) for exponential noise, which over 2 e^z is at most 1 up to z = -log 2; for Laplace noise
        # it is e^z / (2 - e^z) up to z = 0 and 1 beyond.
        if self.name == "exponential":
            return 0.5 / -math.expm1(min(z, -LOG_2))
        return 1.0 / (2.0 - math.exp(z)) if z < 0 else math.exp(-z)

    def _keep_decimal(self, z: Decimal, context: Context) -> Decimal:
        if self.name == "exponential":
            below = context.subtract(Decimal(1), context.exp(z))
            return context.divide(Decimal("0.5"), below)
        if z < 0:
            return context.divide(Decimal(1), context.subtract(Decimal(2), context.exp(z)))
        return context.exp(context.minus(z))

    def finish(self, start: Real | None, uniform: Uniform) -> Real:
        """Return the noise of a model given that it exceeds a value.

        Parameters
        ----------
        start : Real or None
            z0; None for no condition.
        uniform : Uniform
            Gives the exponential number.

        Returns
        -------
        Real
            z.
        """
        energy, energy_error = uniform.exponential()
        start_hazard = 0.0 if start is None else self._hazard(start.value)
        total = start_hazard + energy
        value = self._unhazard(total)
        # An error of the start moves the value by no more than itself: h >= H(start), and the slope of H^-1 there is at
        # most 1 / H'(start). One of the energy moves it by its share of h, or by itself beyond Laplace's log 2.
        spread = energy_error / max(total, 1e-300) + (0.0 if start is None else start.error)
        error = 4.0 * (spread + ROUNDING * (1.0 + abs(value))) * (1.0 + total)
        # A hazard that floats round to 0 or to infinity: any value will do, as digits decide.
        # A hazard that floats round to 0 or to infinity: any value will do, as digits decide.
        if not math.isfinite(value):
            value, error = -800.0 if value < 0 else 0.0, math.inf
        return Real(
            value, error if spread < 0.1 else math.inf, lambda digits: self._enclose_finish(start, uniform, digits)
        )

    def _hazard(self, z: float) -> float:
        if self.name == "gumbel":
            # So that nothing overflows: beyond e^700 `finish` gives a margin of its hazard's size, and digits decide.
            # So that nothing overflows: beyond e^700 `finish` gives a margin of its hazard's size, and digits decide.
            return math.exp(min(z, 700.0))
        # H(z) = -log P(noise > z): e^z; -log(1 - e^z) up to 0; -log(1 - e^z / 2) up to 0, then z + log 2.
        if self.name == "exponential":
            return -math.log1p(-math.exp(z)) if z < 0 else math.inf
        return -math.log1p(-0.5 * math.exp(z)) if z < 0 else z + LOG_2

    def _unhazard(self, h: float) -> float:
        if h <= 0.0:
            return -math.inf
        if self.name == "gumbel":
            return math.log(h)
        if self.name == "exponential":
            return math.log(-math.expm1(-h))
        return math.log(-2.0 * math.expm1(-h)) if h < LOG_2 else h - LOG_2

    def _enclose_finish(self, start: Real | None, uniform: Uniform, digits: int) -> Interval:
        context = context_for(digits)
        energies = uniform.enclose_exponential(digits)
        hazards = (Decimal(0), Decimal(0))
        if start is not None:
            hazards = image(self._hazard_decimal, start, digits)
        ends = [self._unhazard_decimal(context.add(e, b), context) for e, b in zip(energies, hazards, strict=True)]
        if not ends[0].is_finite() or not ends[1].is_finite():
            return ends[0], ends[1]
        return widened(ends[0], ends[1], context, digits)

    def _hazard_decimal(self, z: Decimal, context: Context) -> Decimal:
        if self.name == "gumbel":
            return context.exp(z)
        half = Decimal(1) if self.name == "exponential" else Decimal("0.5")
        if self.name == "laplace" and z >= 0:
            return context.add(z, context.ln(Decimal(2)))
        return context.minus(context.ln(context.subtract(Decimal(1), context.multiply(half, context.exp(z)))))

    def _unhazard_decimal(self, h: Decimal, context: Context) -> Decimal:
        if h <= 0:
            return Decimal("-Infinity")
        if self.name == "gumbel":
            return context.ln(h)
        log_2 = context.ln(Decimal(2))
        if self.name == "laplace" and h >= log_2:
            return context.subtract(h, log_2)
        inner = context.subtract(Decimal(1), context.exp(context.minus(h)))
        # 1 - e^-h lost all its digits: h is that small, and minus infinity lies below its log.
        # 1 - e^-h lost all its digits: h is that small, and minus infinity lies below its log.
        if inner <= 0:
            return Decimal("-Infinity")
        log_inner = context.ln(inner)
        return context.add(log_inner, log_2) if self.name == "laplace" else log_inner
