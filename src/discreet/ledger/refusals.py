"""Why the ledger refuses, in numbers and with the command that helps."""

import shlex
from fractions import Fraction

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, InvalidParameterError
from discreet.ledger.costs import Amounts
from discreet.ledger.grains import DELTA_GRAIN, EPSILON_GRAIN, RHO_GRAIN, as_text, charged
from discreet.ledger.records import Account, Accounting
from discreet.ledger.store import Store


def no_cap(store: Store, dataset: str, guarantee: Guarantee | None = None) -> BudgetError:
    """Return the error for a data set without a lifetime cap.

    Parameters
    ----------
    store : Store
        The ledger, which the command must name.
    dataset : str
        The data set.
    guarantee : Guarantee or None
        What was asked for; the suggested cap covers it.

    Returns
    -------
    BudgetError
        Its text holds the command that sets a cap.
    """
    epsilon, delta = _cost(guarantee) if guarantee else (Fraction(0), Fraction(0))
    command = _grant_command(store, dataset, max(epsilon, Fraction(1)), delta)
    return BudgetError(
        f"A data set must have a lifetime cap in the ledger, but dataset={dataset!r} has none. "
        f"The owner of the data sets it with `{command}`."
    )


def other_terms(account: Account, name: str, found: str) -> BudgetError:
    """Return the error for a unit or relation that is not the account's.

    Parameters
    ----------
    account : Account
        The data set's account.
    name : str
        "unit" or "neighboring".
    found : str
        What was given.

    Returns
    -------
    BudgetError
        It says that such budgets do not add.
    """
    fixed = str(getattr(account, name))
    return BudgetError(
        f"Budgets under different units or neighboring relations do not add, so dataset={account.dataset!r} "
        f"keeps {name}={fixed!r}, but {name}={found!r}. Use {name}={fixed!r} in the metadata."
    )


def check_terms(account: Account, unit: str | None, neighboring: NeighboringRelation | None) -> None:
    """Refuse a unit or a relation that is not the account's.

    Parameters
    ----------
    account : Account
        The data set's account.
    unit : str or None
        Who is protected; None asks nothing.
    neighboring : NeighboringRelation or None
        The relation; None asks nothing.

    Raises
    ------
    BudgetError
        When one of them differs from what is fixed.
    """
    for name, found in (("unit", unit), ("neighboring", neighboring)):
        fixed = getattr(account, name)
        if found is not None and fixed is not None and found != fixed:
            raise other_terms(account, name, str(found))


def other_accounting(account: Account, found: Accounting) -> BudgetError:
    """Return the error for a change of what adds up, after something was spent.

    Parameters
    ----------
    account : Account
        The data set's account.
    found : Accounting
        What was asked for.

    Returns
    -------
    BudgetError
        It says that the two sums do not convert.
    """
    return BudgetError(
        f"What is spent was added up as {account.accounting.value}, which does not convert, so "
        f"dataset={account.dataset!r} keeps accounting={account.accounting.value!r}, but accounting={found.value!r}. "
        f"Leave --accounting out, or give {account.accounting.value}."
    )


def exceeded(store: Store, account: Account, guarantee: Guarantee, cost: Amounts) -> BudgetExceededError:
    """Return the error for a cost that does not fit below the cap.

    Parameters
    ----------
    store : Store
        The ledger, which the command must name.
    account : Account
        The data set's account.
    guarantee : Guarantee
        What was asked for.
    cost : dict
        Its amounts in grains.

    Returns
    -------
    BudgetExceededError
        Its text holds what was asked, what is left and the cap.
    """
    epsilon, delta = _cost(guarantee)
    if account.accounting is Accounting.ZCDP:
        parts, command = _too_much_rho(cost, account), _grant_more(store, account)
    else:
        parts = [
            *_too_much("epsilon", epsilon, account.epsilon_left, account.epsilon_cap),
            *_too_much("delta", delta, account.delta_left, account.delta_cap),
        ]
        command = _grant_command(
            store,
            account.dataset,
            max(account.epsilon_cap, account.epsilon_spent + epsilon),
            max(account.delta_cap, account.delta_spent + delta),
        )
    return BudgetExceededError(
        f"A request must fit in what is left of the lifetime cap of dataset={account.dataset!r}, but "
        f"{' and '.join(parts)}. Ask for less; only the owner of the data may raise the cap: `{command}`.",
        epsilon,
        account.epsilon_left,
    )


def below_spent(account: Account, epsilon: Fraction, delta: Fraction) -> InvalidParameterError:
    """Return the error for a cap below what is spent.

    Parameters
    ----------
    account : Account
        The data set's account.
    epsilon, delta : Fraction
        The cap asked for.

    Returns
    -------
    InvalidParameterError
        Its text holds what is spent.
    """
    return InvalidParameterError(
        f"The lifetime cap of dataset={account.dataset!r} must cover what is spent, "
        f"epsilon={as_text(account.epsilon_spent)} and delta={as_text(account.delta_spent)}, "
        f"but epsilon={as_text(epsilon)} and delta={as_text(delta)}. Give a cap of at least that."
    )


def below_spent_rho(account: Account, rho: Fraction, failure: Fraction) -> InvalidParameterError:
    """Return the error for a cap under zCDP whose rho is below what is spent.

    Parameters
    ----------
    account : Account
        The data set's account.
    rho, failure : Fraction
        The cap asked for.

    Returns
    -------
    InvalidParameterError
        Its text holds what is spent.
    """
    return InvalidParameterError(
        f"The lifetime cap of dataset={account.dataset!r} must cover what is spent, rho={as_text(account.rho_spent)} "
        f"and failures of {as_text(account.failure_spent)}, but it converts to rho={as_text(rho)} and failures of "
        f"{as_text(failure)}. Give a larger epsilon or delta."
    )


def _too_much(name: str, asked: Fraction, left: Fraction, cap: Fraction) -> list[str]:
    return [f"{name}={as_text(asked)} is asked, and {as_text(left)} of {as_text(cap)} is left"] if asked > left else []


def _too_much_rho(cost: Amounts, account: Account) -> list[str]:
    rho, failure = (cost["rho"] or 0) * RHO_GRAIN, (cost["failure"] or 0) * DELTA_GRAIN
    return [
        *_too_much("rho", rho, account.rho_left, account.rho_cap),
        *_too_much("delta of failure", failure, account.delta_left, account.failure_cap),
    ]


def _cost(guarantee: Guarantee) -> tuple[Fraction, Fraction]:
    return (
        charged(guarantee.epsilon, EPSILON_GRAIN) * EPSILON_GRAIN,
        charged(guarantee.delta, DELTA_GRAIN) * DELTA_GRAIN,
    )


def _grant_more(store: Store, account: Account) -> str:
    """The command without its epsilon: the running rho is not to be converted."""
    words = ["discreet", "budget", "grant", account.dataset, "--epsilon", "E", "--delta", as_text(account.delta_cap)]
    return shlex.join(words if store.is_default else [*words, "--ledger", store.shown])


def _grant_command(store: Store, dataset: str, epsilon: Fraction, delta: Fraction) -> str:
    words = ["discreet", "budget", "grant", dataset, "--epsilon", as_text(epsilon)]
    if delta:
        words += ["--delta", as_text(delta)]
    if not store.is_default:
        words += ["--ledger", store.shown]
    return shlex.join(words)
