"""A privacy guarantee: epsilon and delta under one neighboring relation."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import InvalidParameterError

MAX_EPSILON = 1000
"""Above this no guarantee is worth the name; it also keeps every scale finite."""

MIN_EPSILON = Fraction(1, 10**9)
"""Of a request: the ledger's unit. A smaller epsilon would be charged as this, and give more noise to no purpose."""

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
Number = float | int | str | Decimal | Fraction


def exact(value: Number, name: str) -> Fraction:
    """Return a number as a fraction, without rounding.

    A float stands for the shortest decimal that prints it, so that ten times 0.1 is 1.

    Parameters
    ----------
    value : float, int, str, Decimal or Fraction
        A finite number.
    name : str
        Its name in error messages.

    Returns
    -------
    Fraction
        The same number.

    Raises
    ------
    InvalidParameterError
        When it is no finite number.

    Examples
    --------
    >>> 10 * exact(0.1, "epsilon")
    Fraction(1, 1)
    """
    if isinstance(value, bool) or (isinstance(value, str) and not NUMBER.fullmatch(value.strip())):
        raise InvalidParameterError(
            f"{name} must be a finite number, but {name}={str(value)[:40]}. Write it such as 0.5."
        )
    if isinstance(value, Fraction):
        return value
    try:
        decimal = Decimal(value if isinstance(value, (str, int, Decimal)) else repr(float(value)))
    except (InvalidOperation, ValueError, TypeError):
        raise InvalidParameterError(
            f"{name} must be a finite number, but {name}={str(value)[:40]!r}. Write it such as 0.5."
        ) from None
    if not decimal.is_finite():
        raise InvalidParameterError(f"{name} must be a finite number, but {name}={value}.")
    # A decimal such as 1e-999999999 is finite, but its fraction would fill the memory.
    if decimal and abs(decimal.adjusted()) > 400:
        raise InvalidParameterError(f"{name} must lie between 1e-400 and 1e400 in size, but {name}={decimal:.3e}.")
    return Fraction(decimal)


def exact_epsilon(value: Number) -> Fraction:
    """Return epsilon (nats) as a fraction, refusing what is not in (0, 1000].

    Parameters
    ----------
    value : float, int, str, Decimal or Fraction
        Epsilon in nats.

    Returns
    -------
    Fraction
        The same number.

    Raises
    ------
    InvalidParameterError
        When it is outside (0, 1000].
    """
    epsilon = exact(value, "epsilon")
    if not 0 < epsilon <= MAX_EPSILON:
        raise InvalidParameterError(
            f"epsilon must lie in (0, {MAX_EPSILON}], but epsilon={value}. Common choices are 0.1 to 3."
        )
    return epsilon


def exact_delta(value: Number) -> Fraction:
    """Return delta as a fraction: 0 for pure differential privacy, else in (0, 1).

    Parameters
    ----------
    value : float, int, str, Decimal or Fraction
        Delta, a probability.

    Returns
    -------
    Fraction
        The same number.

    Raises
    ------
    InvalidParameterError
        When it is negative, or 1 or more.
    """
    delta = exact(value, "delta")
    if not 0 <= delta < 1:
        raise InvalidParameterError(
            f"delta must lie in (0, 1), or be 0 for pure differential privacy, but delta={value}. "
            "Common choices are far below one over the number of people, such as 0.000001."
        )
    return delta


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy under one neighboring relation.

    Parameters
    ----------
    epsilon : Fraction
        In nats, positive.
    delta : Fraction
        In [0, 1); 0 is pure differential privacy.
    neighboring : NeighboringRelation
        The relation; two guarantees under different relations do not compare.

    Examples
    --------
    >>> Guarantee(Fraction(1), Fraction(0), NeighboringRelation.REPLACE_ONE).worst_posterior(0.5)
    0.7310585786300049
    """

    epsilon: Fraction
    delta: Fraction
    neighboring: NeighboringRelation

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        exact_delta(self.delta)

    def implies(self, other: "Guarantee") -> bool:
        """Tell whether this guarantee is at least as strong as another; False when the relations differ.

        Parameters
        ----------
        other : Guarantee
            The weaker one, perhaps.

        Returns
        -------
        bool
            True only when both numbers are no larger and the relation is the same.
        """
        return self.neighboring == other.neighboring and self.epsilon <= other.epsilon and self.delta <= other.delta

    def worst_posterior(self, prior: float) -> float:
        """Return the largest posterior probability of a statement about one unit, from its prior probability.

        Parameters
        ----------
        prior : float
            A probability in [0, 1].

        Returns
        -------
        float
            The posterior after the release, but for a probability of delta.
        """
        # Bayes: the odds grow by at most e^epsilon.
        factor = math.exp(min(float(self.epsilon), 700.0))
        return prior * factor / (1.0 - prior + prior * factor)
