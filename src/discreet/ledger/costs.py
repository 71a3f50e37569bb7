"""Caps and costs in whole grains, in the unit that an account adds up."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.accounting.events import Event
from discreet.accounting.guarantee import Guarantee, Number
from discreet.accounting.totals import rho_of_pure
from discreet.accounting.zcdp import epsilon_of_rho, rho_of, rho_of_epsilon
from discreet.digits import plain
from discreet.errors import InvalidParameterError
from discreet.ledger import terms
from discreet.ledger.grains import DELTA_GRAIN, EPSILON_GRAIN, RHO_GRAIN, as_text, charged, granted
from discreet.ledger.records import Accounting

AMOUNTS = ("epsilon", "delta", "rho", "failure")

_GRAINS = dict(zip(AMOUNTS, (EPSILON_GRAIN, DELTA_GRAIN, RHO_GRAIN, DELTA_GRAIN), strict=True))

Amounts = dict[str, int | None]
"""Grains of epsilon, delta, rho and failure; the last two are None where epsilon and delta are what adds up."""

FAILURE_SHARE = 10
"""Under zCDP a tenth of delta is for bounds that may fail, and nine tenths convert the cap on rho: at the usual deltas
this costs less than one percent of epsilon, and the two can never meet."""

_MOST_EPSILON = 1000
_MOST_GRAINS = 10**18
"""More rho than any cap holds; as far as the database can add without overflow."""


def cap_of(accounting: Accounting, epsilon: Number, delta: Number) -> Amounts:
    """Return a lifetime cap in grains, rounded down.

    Parameters
    ----------
    accounting : Accounting
        What adds up.
    epsilon : float, int, str, Decimal or Fraction
        In nats.
    delta : float, int, str, Decimal or Fraction
        In [0, 1), and positive under zCDP.

    Returns
    -------
    dict
        The amounts.

    Raises
    ------
    InvalidParameterError
        When a number is outside its range.
    """
    grains = terms.check_cap(epsilon, delta)
    amounts: Amounts = {"epsilon": grains[0], "delta": grains[1], "rho": None, "failure": None}
    if accounting is Accounting.BASIC:
        return amounts
    failure = grains[1] // FAILURE_SHARE
    if not failure or grains[0] * EPSILON_GRAIN > _MOST_EPSILON:
        raise InvalidParameterError(
            f"A cap under zcdp must have epsilon of at most {_MOST_EPSILON} and delta of at least "
            f"{as_text(FAILURE_SHARE * DELTA_GRAIN)}, but epsilon={epsilon} and delta={delta}. "
            "Common caps are epsilon 1 to 10 at delta 0.000001."
        )
    rho = granted(rho_of_epsilon(grains[0] * EPSILON_GRAIN, (grains[1] - failure) * DELTA_GRAIN), RHO_GRAIN)
    if not rho:
        raise InvalidParameterError(f"A cap under zcdp must allow some rho, but epsilon={epsilon}. Give a larger one.")
    return amounts | {"rho": rho, "failure": failure}


def cost_of(accounting: Accounting, guarantee: Guarantee, event: Event | None) -> Amounts:
    """Return the cost of a computation in grains, rounded up.

    Parameters
    ----------
    accounting : Accounting
        What adds up.
    guarantee : Guarantee
        What the computation promises.
    event : Event or None
        What it does to the data, under the guarantee's relation. None charges a pure guarantee as if it were randomized
        response.

    Returns
    -------
    dict
        The amounts.

    Raises
    ------
    InvalidParameterError
        When the account needs the event of an approximate guarantee and none is given, or the event has no analysis.
    """
    amounts: Amounts = {
        "epsilon": charged(guarantee.epsilon, EPSILON_GRAIN),
        "delta": charged(guarantee.delta, DELTA_GRAIN),
        "rho": None,
        "failure": None,
    }
    if accounting is Accounting.BASIC:
        return amounts
    if event is None and guarantee.delta:
        raise InvalidParameterError(
            "Under zcdp a guarantee with delta must come with its event, as epsilon and delta do not tell its rho, but "
            f"delta={plain(float(guarantee.delta))} and event=None. Pass the event to reserve."
        )
    rho, failure = (rho_of_pure(guarantee.epsilon), Fraction(0)) if event is None else rho_of(event)
    amounts["rho"] = min(charged(rho, RHO_GRAIN), _MOST_GRAINS)
    amounts["failure"] = charged(failure, DELTA_GRAIN)
    return amounts


def accounting_of(amounts: Mapping[Any, Any]) -> Accounting:
    """Return what amounts add to.

    Parameters
    ----------
    amounts : mapping
        Grains, as an entry holds them.

    Returns
    -------
    Accounting
        ``ZCDP`` where there is a rho.
    """
    return Accounting.BASIC if amounts["rho"] is None else Accounting.ZCDP


def numbers(amounts: Mapping[Any, Any]) -> dict[str, Fraction]:
    """Return amounts in grains as numbers.

    Parameters
    ----------
    amounts : mapping
        Grains of epsilon, delta, rho and failure.

    Returns
    -------
    dict of str to Fraction
        Under the same names; 0 for None.
    """
    return {name: (amounts[name] or 0) * _GRAINS[name] for name in AMOUNTS}


def follows(amounts: Mapping[Any, Any]) -> bool:
    """Tell whether the rho of a cap is no more than its epsilon and delta allow.

    Parameters
    ----------
    amounts : dict
        A cap under zCDP, as an entry holds it.

    Returns
    -------
    bool
        True also for what another machine's logarithms would round to the next steps.
    """
    epsilon, delta, rho, failure = numbers(amounts).values()
    if not 0 < failure * FAILURE_SHARE <= delta or rho <= 0:
        return False
    return epsilon_of_rho(rho, delta - failure) <= epsilon + 10 * EPSILON_GRAIN
