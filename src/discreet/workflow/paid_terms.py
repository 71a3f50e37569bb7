"""When parts below a ceiling stop, and what each may cost: from what earlier ones cost, and from nothing else."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Protocol

from discreet.accounting.events import Event, event_of
from discreet.accounting.gaussian import gaussian_rho
from discreet.accounting.guarantee import exact_delta, exact_epsilon
from discreet.accounting.zcdp import rho_of, rho_of_epsilon
from discreet.digits import plain
from discreet.errors import InvalidParameterError
from discreet.ledger import Ledger
from discreet.methods.answers.posterior import PRIORS
from discreet.methods.moments.moments_selection import NoisyMoments
from discreet.release import PooledRecord, Release

MOST_FIRST, LEAST_FIRST = Fraction(1, 4), Fraction(1, 12)
"""Shares of the ceiling's epsilon that the first part has; of rho it is the square, as noise is alike at either."""

FIRST_ROWS = 1_000
"""Rows times the first part's epsilon, between those shares: with less the level of the target, which all parts keep,
is told badly, and the chances are little but the prior's."""

MOST_PARTS = 6
"""Parts that are bought: the last one takes what is left."""

NOT_WORTH_KEEPING = Fraction(1, 4)
"""Where a part would leave less than this share of the ceiling, it takes all that is left."""

INTERVAL_LEVEL = 0.95
"""Probability of the intervals whose width is asked for."""

UNDER = Fraction(999_999, 1_000_000)
"""Of what is left, what a part asks for: its cost is rounded up."""


class Known(Protocol):
    """What parts tell that may be waited for."""

    @property
    def chance(self) -> float:
        """Of the likeliest model, or of the least sure column."""

    @property
    def width(self) -> float | None:
        """Of the widest interval."""


@dataclass(frozen=True)
class Terms:
    """When to stop, and what all parts together may cost.

    Parameters
    ----------
    until : float or None
        The chance to be reached; None where a width is.
    at_most : float
        The ceiling on epsilon.
    delta : float
        Of all parts together.
    is_concentrated : bool
        Whether the rho of parts adds up; else epsilon and delta do.
    of : {"model", "columns", "width"}
        Whose chance: the likeliest model's, or of each column that it matters or that it does not. Or the width of
        intervals.
    prior : {"broad", "sparse"}
        Of the chance.
    before : tuple of Fraction
        Epsilon and delta of an earlier release whose moments the parts are added to: what it cost adds to theirs.
    width : float or None
        The width to be reached, of the widest posterior interval of a coefficient, in the coefficient's own unit.
    coefficient : str or None
        Whose interval alone; None for the widest of all.
    """

    until: float | None
    at_most: float
    delta: float
    is_concentrated: bool
    of: Literal["model", "columns", "width"] = "columns"
    prior: Literal["broad", "sparse"] = "sparse"
    before: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    width: float | None = None
    coefficient: str | None = None

    def __post_init__(self) -> None:
        """Refuse what is no chance and no ceiling, or one that an earlier release is above."""
        _check_aim(self)
        epsilon, delta = self.room
        if epsilon <= 0 or delta < 0 or (self.is_concentrated and delta == 0):
            more = " and delta" if self.delta or self.before[1] else ""
            raise InvalidParameterError(
                f"at_most{more} must be above what the earlier release cost, epsilon {plain(float(self.before[0]))} "
                "and "
                f"delta {plain(float(self.before[1]))}, because both add up. Raise them."
            )

    @property
    def room(self) -> tuple[Fraction, Fraction]:
        """Epsilon and delta of the parts that are bought here."""
        return exact_epsilon(self.at_most) - self.before[0], exact_delta(self.delta) - self.before[1]

    @property
    def n_before(self) -> int:
        """How many parts were released outside of the ceiling: one or none."""
        return 1 if self.before[0] else 0

    @property
    def ceiling(self) -> Fraction:
        """Of rho where rho adds up, else of epsilon."""
        epsilon, delta = self.room
        return rho_of_epsilon(epsilon, delta) if self.is_concentrated else epsilon

    def holds(self, costs: Sequence["Cost"]) -> bool:
        """Tell whether these costs together are below the ceiling."""
        epsilon, delta = self.room
        failure = sum((cost.failure for cost in costs), Fraction(0))
        if self.is_concentrated:
            left = delta - failure
            return left > 0 and sum((cost.rho for cost in costs), Fraction(0)) <= rho_of_epsilon(epsilon, left)
        whole = sum((cost.epsilon for cost in costs), Fraction(0)), sum((cost.delta for cost in costs), Fraction(0))
        return whole[0] <= epsilon and whole[1] <= delta

    def suffices(self, known: "Known") -> bool:
        """Tell whether what is known is what was asked for."""
        if self.width is not None:
            return known.width is not None and known.width <= self.width
        return self.until is not None and known.chance >= self.until

    def next_amount(
        self,
        costs: Sequence["Cost"],
        rows: int | None,
        factor: Fraction | None = None,
        precision: Fraction | None = None,
    ) -> Fraction | None:
        """Return the rho, or the epsilon, of the next part; None where the ceiling is reached.

        The first part's goes by the number of rows, or of units, where it is public. Later ones make noise `factor`
        times as precise, or take what is left; `precision` is that of all parts: the sum of their rho or of their
        squared epsilons, by default that of `costs`.
        """
        spent = sum((cost.rho if self.is_concentrated else cost.epsilon for cost in costs), Fraction(0))
        left = self.ceiling - spent
        if precision is None:
            precision = sum((self.precision_of(cost) for cost in costs), Fraction(0))
        amount = left
        if not precision:
            share = self._first_share(rows)
            amount = (share**2 if self.is_concentrated else share) * self.ceiling
        elif factor is not None and len(costs) < MOST_PARTS - 1:
            more = (factor - 1) * precision
            amount = more if self.is_concentrated else Fraction(math.sqrt(more))
        if left - amount < NOT_WORTH_KEEPING * self.ceiling:
            amount = left
        return amount * UNDER if left > self.ceiling / 1000 else None

    def _first_share(self, rows: int | None) -> Fraction:
        """Of the ceiling's epsilon."""
        enough = MOST_FIRST if not rows else FIRST_ROWS / (rows * self.room[0])
        return min(max(enough, LEAST_FIRST), MOST_FIRST)

    def precision_of(self, cost: "Cost") -> Fraction:
        """Return what a part adds to the precision of the pooled noise, up to one factor for all parts."""
        return cost.rho if self.is_concentrated else cost.epsilon**2

    def budget(self, amount: Fraction, costs: Sequence["Cost"]) -> tuple[float, float]:
        """Return the epsilon and delta that a request must have to cost an amount beside the others."""
        if self.is_concentrated:
            return epsilon_for(amount, self.room[1]), shortened(self.room[1]) if self.n_before else self.delta
        left = self.ceiling - sum((cost.epsilon for cost in costs), Fraction(0))
        delta = self.room[1] - sum((cost.delta for cost in costs), Fraction(0))
        return float(amount), shortened(max(delta, Fraction(0)) * amount / left)


def _check_aim(terms: Terms) -> None:
    """Refuse what is neither a chance nor a width."""
    if (terms.until is None) == (terms.width is None) or (terms.of == "width") != (terms.width is not None):
        raise InvalidParameterError("Parts must stop at a chance or at a width: give until, or until_width.")
    if terms.until is not None and not 0.0 < terms.until < 1.0:
        raise InvalidParameterError(f"until must be a chance in (0, 1), but until={terms.until}.")
    if terms.width is not None and not 0.0 < terms.width < math.inf:
        raise InvalidParameterError(f"until_width must be above 0, but until_width={terms.width}.")
    if terms.of not in ("model", "columns", "width") or terms.prior not in PRIORS:
        raise InvalidParameterError("until must be of model or columns, under the prior broad or sparse.")


@dataclass(frozen=True)
class Cost:
    """What a part costs, both ways."""

    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    failure: Fraction

    @classmethod
    def of(cls, epsilon: Fraction, delta: Fraction, event: Event | None) -> "Cost":
        """Return that of a guarantee and its event."""
        if event is None:
            raise InvalidParameterError("A part must have a guarantee: use the system's entropy, and a table's rows.")
        return cls(epsilon, delta, *rho_of(event))

    @classmethod
    def of_release(cls, part: Release) -> "Cost":
        """Return that of a part that was bought, from its record: a hair more, for its numbers are floats."""
        if part.guarantee is None or part.event is None:
            raise InvalidParameterError("A part must have a guarantee, but this release has none. Give one that has.")
        epsilon, delta, event = part.guarantee.epsilon, part.guarantee.delta, event_of(part.event)
        cost = cls.of(Fraction(epsilon), Fraction(delta), event)
        return replace(cost, rho=cost.rho * (1 + Fraction(1, 2**40)))


def epsilon_for(rho: Fraction, delta: Fraction) -> float:
    """Return the largest epsilon, of six digits, whose Gaussian noise costs at most this rho."""
    low, high = Fraction(0), Fraction(1000)
    while high - low > low / 10**7 + Fraction(1, 10**9):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_rho(middle, delta) <= rho else (low, middle)
    return shortened(low)


def shortened(value: Fraction) -> float:
    """Six digits, rounded down."""
    return float(f"{float(value) * (1.0 - 5e-6):.6g}")


def terms_for(
    method: NoisyMoments,
    dataset: str,
    ledger: Ledger | None,
    until: float | None,
    at_most: float,
    earlier: Release | None = None,
    **choices: Any,
) -> Terms:
    """Return the terms of a request: rho adds up where the data set's account says so, or where there is none."""
    if choices.get("width") is not None:
        choices["of"] = "width"
    account = None if ledger is None else ledger.account(dataset)
    concentrated = method.delta > 0 and (account is None or account.accounting == "zcdp")
    return Terms(until, at_most, method.delta, concentrated, **choices, before=_before(earlier, at_most, method.delta))


def _before(earlier: Release | None, at_most: float, delta: float) -> tuple[Fraction, Fraction]:
    """What an earlier release cost outside of the ceiling; parts go on below the ceiling that they began with."""
    if earlier is None:
        return Fraction(0), Fraction(0)
    record, guarantee = earlier.pooled, earlier.guarantee
    if guarantee is None:
        raise InvalidParameterError("A part must have a guarantee, but this release has none. Give one that has.")
    if record is None:
        return Fraction(guarantee.epsilon), Fraction(guarantee.delta)
    if (record.at_most, guarantee.delta) != (at_most, delta):
        raise InvalidParameterError(
            f"Parts must go on below the ceiling that they began with. Give at_most={plain(record.at_most)} and "
            f"delta={plain(guarantee.delta)}."
        )
    return read_before(record)


def read_before(record: PooledRecord) -> tuple[Fraction, Fraction]:
    """Return what a release cost outside of its parts' ceiling, as it says; nothing as a rule."""
    epsilon, delta = record.before or (0.0, 0.0)
    return Fraction(epsilon), Fraction(delta)
