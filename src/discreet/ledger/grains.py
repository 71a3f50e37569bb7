"""Budget as whole grains: integers add, compare and store without rounding."""

import math
from decimal import Context, Decimal
from fractions import Fraction

EPSILON_GRAIN = Fraction(1, 10**9)
"""Smallest epsilon the ledger tells apart, in nats."""

DELTA_GRAIN = Fraction(1, 10**18)
"""Smallest delta the ledger tells apart."""

RHO_GRAIN = Fraction(1, 10**12)
"""Smallest rho the ledger tells apart: a small epsilon's rho is about its square."""


def charged(value: Fraction, grain: Fraction) -> int:
    """Return a cost in grains, rounded up so that they cover it.

    Examples
    --------
    >>> charged(Fraction(1, 3), EPSILON_GRAIN)
    333333334
    """
    # Up, and caps down: rounding never lets more be spent than was granted.
    return math.ceil(value / grain)


def granted(value: Fraction, grain: Fraction) -> int:
    """Return a cap in grains, rounded down."""
    return math.floor(value / grain)


def as_decimal(value: Fraction) -> Decimal:
    """Return a number of grains as an exact decimal."""
    # A context of its own: the caller's may round to fewer digits.
    return Context(prec=60).divide(Decimal(value.numerator), Decimal(value.denominator))


def as_text(value: Fraction) -> str:
    """Return a number as a person writes it, without an exponent.

    Examples
    --------
    >>> as_text(Fraction(1, 10**7))
    '0.0000001'
    """
    return f"{as_decimal(value):f}"
