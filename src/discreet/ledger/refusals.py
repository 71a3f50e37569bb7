"""Why the ledger refuses, in numbers and with the command that helps."""

from fractions import Fraction

from discreet.accounting.guarantee import Guarantee
from discreet.accounting.neighbors import NeighboringRelation
from discreet.errors import BudgetError, BudgetExceededError, InvalidParameterError
from discreet.ledger import rule
from discreet.ledger.costs import AMOUNTS, Amounts, accounting_of, numbers
from discreet.ledger.grains import DELTA_GRAIN, EPSILON_GRAIN, as_text, charged
from discreet.ledger.records import Account, Accounting, Allotment
from discreet.ledger.store import Store


def check_alone(dataset: str, alike: str | None) -> None:
    """Refuse a data set whose name is another one's but for case: it would have a second budget."""
    if alike is not None:
        raise BudgetError(
            f"Data set {dataset!r} has no cap, but {alike!r} has one, and two data sets must differ in more than case. "
            f"Use {alike!r} for the same people, also in the metadata, and another name for other people."
        )


def check_granted(store: Store, account: Account | None, dataset: str, guarantee: Guarantee | None = None) -> Account:
    """Return the account of a data set, or refuse one without a lifetime cap."""
    if account is not None:
        return account
    epsilon, delta = Fraction(1), Fraction(0)
    if guarantee is not None:
        epsilon = max(epsilon, charged(guarantee.epsilon, EPSILON_GRAIN) * EPSILON_GRAIN)
        delta = charged(guarantee.delta, DELTA_GRAIN) * DELTA_GRAIN
    command = _command(store, "grant", dataset, epsilon=as_text(epsilon), delta=as_text(delta))
    raise BudgetError(
        f"Data set {dataset!r} has no lifetime cap in the ledger. The owner of the data sets it with `{command}`."
    )


def check_allotted(store: Store, account: Account, allotment: Allotment | None, project: str) -> Allotment:
    """Return the allotment of a project, or refuse one without."""
    if allotment is not None and allotment.accounting is account.accounting:
        return allotment
    command = _command(store, "allot", account.dataset, project, epsilon="E", delta=as_text(account.delta_cap))
    raise BudgetError(
        f"Project {project!r} has no allotment of data set {account.dataset!r} under {account.accounting.value} "
        f"accounting. The owner of the data sets it with `{command}`."
    )


def other_terms(account: Account, name: str, value: str) -> BudgetError:
    """Return the error for a unit or relation that is not the account's: such budgets do not add."""
    fixed = str(getattr(account, name))
    return BudgetError(
        f"Budgets under different units or neighboring relations do not add, so data set "
        f"{account.dataset!r} keeps {name}={fixed!r}, but {name}={value!r}. Use {name}={fixed!r} in the metadata."
    )


def check_terms(account: Account, unit: str | None, neighboring: NeighboringRelation | None) -> None:
    """Refuse a unit or a relation that is not the account's."""
    for name, value in (("unit", unit), ("neighboring", neighboring)):
        fixed = getattr(account, name)
        if value is not None and fixed is not None and value != fixed:
            raise other_terms(account, name, str(value))


def other_accounting(account: Account, requested: Accounting) -> BudgetError:
    """Return the error for a change of accounting after something was spent: the two sums do not convert."""
    return BudgetError(
        f"What is spent was added up as {account.accounting.value}, which does not convert, so "
        f"data set {account.dataset!r} keeps {account.accounting.value}, but {requested.value} is requested. Leave "
        f"--accounting out, or give {account.accounting.value}."
    )


def above_cap(account: Account, amounts: Amounts) -> InvalidParameterError:
    """Return the error for an allotment above the cap that it is a part of."""
    epsilon, delta, _, _ = numbers(amounts).values()
    return InvalidParameterError(
        f"An allotment of epsilon {as_text(epsilon)} and delta {as_text(delta)} exceeds the "
        f"{_called(account.dataset)}, epsilon {as_text(account.epsilon_cap)} and delta {as_text(account.delta_cap)}. "
        "Allot at most that, or grant the data set more first."
    )


def exceeded(store: Store, sums: Account | Allotment, cost: Amounts) -> BudgetExceededError:
    """Return the error for a cost that does not fit below a cap."""
    needs_delta = cost["delta"] and not sums.delta_cap
    remedy = f"The {_noun(sums)} has no delta: choose a method that needs none" if needs_delta else "Ask for less"
    return BudgetExceededError(
        f"The request exceeds what is left of the {_called(*_names(sums))}: {_too_much_of(sums, cost)}. "
        f"{remedy}; only the owner of the data may raise the {_noun(sums)}: `{_raise(store, sums, cost)}`.",
        numbers(cost)["epsilon"],
        sums.epsilon_left,
    )


def lost(
    store: Store, names: tuple[str, str | None], limit: Account | Allotment | None, cost: Amounts, cap: Amounts | None
) -> BudgetError:
    """Return the error for lost charges above a restored copy's cap, with the command that makes room."""
    accounting, (dataset, project) = accounting_of(cost), names
    problem = "there is none"
    if limit is not None:
        other = f"it is kept in {limit.accounting.value}, and what was lost in {accounting.value}"
        problem = _too_much_of(limit, cost) if limit.accounting is accounting else other
    epsilon, delta = _room(limit, cost, cap)
    if project is None:
        command = _command(store, "grant", dataset, epsilon=epsilon, delta=delta, accounting=accounting.value)
    else:
        command = _command(store, "allot", dataset, project, epsilon=epsilon, delta=delta)
    return BudgetError(
        f"What was lost must fit in what is left of the {_called(dataset, project)}, but {problem}. "
        f"Nothing was charged again; set the cap and reconcile once more: `{command}`."
    )


def below_spent(sums: Account | Allotment, amounts: Amounts) -> InvalidParameterError:
    """Return the error for a cap below what is spent."""
    epsilon, delta, _, _ = numbers(amounts).values()
    return InvalidParameterError(
        f"The {_called(*_names(sums))} must cover what is spent, "
        f"epsilon {as_text(sums.epsilon_spent)} and delta {as_text(sums.delta_spent)}, but it would be epsilon "
        f"{as_text(epsilon)} and delta {as_text(delta)}. Lower it to what is spent: then nothing more can be spent."
    )


def below_spent_rho(sums: Account | Allotment, amounts: Amounts) -> InvalidParameterError:
    """Return the error for a cap under zCDP whose rho is below what is spent."""
    _, _, rho, failure = numbers(amounts).values()
    return InvalidParameterError(
        f"The {_called(*_names(sums))} must cover what is spent, rho {as_text(sums.rho_spent)} "
        f"and failures of {as_text(sums.failure_spent)}, but it converts to rho {as_text(rho)} and failures of "
        f"{as_text(failure)}. Give a larger epsilon or delta."
    )


def _noun(sums: Account | Allotment) -> str:
    return "cap" if isinstance(sums, Account) else "allotment"


def _names(sums: Account | Allotment) -> tuple[str, ...]:
    return (sums.dataset,) if isinstance(sums, Account) else (sums.dataset, sums.project)


def _called(dataset: str, project: str | None = None) -> str:
    return f"{'lifetime cap' if project is None else f'allotment of project {project!r}'} of data set {dataset!r}"


def _too_much_of(sums: Account | Allotment, cost: Amounts) -> str:
    charge = numbers(cost)
    parts = []
    for name, fits in rule.conditions(sums.accounting, vars(sums), charge).items():
        cap, spent = getattr(sums, f"{name}_cap"), getattr(sums, f"{name}_spent")
        word = "delta of failure" if name == "failure" else name
        if not fits:
            parts.append(
                f"{word} {as_text(charge[name])} is requested, and {as_text(cap - spent)} of {as_text(cap)} is left"
            )
    return " and ".join(parts)


def _raise(store: Store, sums: Account | Allotment, cost: Amounts) -> str:
    verb = "grant" if isinstance(sums, Account) else "allot"
    if sums.accounting is Accounting.ZCDP:
        # Without its epsilon: the running rho is not to be converted.
        return _command(store, verb, *_names(sums), epsilon="E", delta=as_text(sums.delta_cap))
    epsilon, delta, _, _ = numbers(cost).values()
    epsilon = max(sums.epsilon_cap, sums.epsilon_spent + epsilon)
    delta = max(sums.delta_cap, sums.delta_spent + delta)
    return _command(store, verb, *_names(sums), epsilon=as_text(epsilon), delta=as_text(delta))


def _room(limit: Account | Allotment | None, cost: Amounts, cap: Amounts | None) -> tuple[str, str]:
    """Return epsilon and delta of a cap that holds what was lost: the newest lost cap, or the sum."""
    lost_cap = numbers(dict.fromkeys(AMOUNTS) if cap is None else cap)
    if accounting_of(cost) is Accounting.ZCDP:
        is_enough = cap is not None and (limit is None or lost_cap["epsilon"] > limit.epsilon_cap)
        return (as_text(lost_cap["epsilon"]), as_text(lost_cap["delta"])) if is_enough else ("E", "D")
    spent = {} if limit is None else vars(limit)
    needed = {name: spent.get(f"{name}_spent", 0) + part for name, part in numbers(cost).items()}
    return as_text(max(lost_cap["epsilon"], needed["epsilon"])), as_text(max(lost_cap["delta"], needed["delta"]))


def _command(store: Store, verb: str, *names: str, epsilon: str, delta: str, accounting: str = "") -> str:
    words = [*names, "--epsilon", epsilon]
    if delta != "0":
        words += ["--delta", delta]
    if accounting:
        words += ["--accounting", accounting]
    return store.command(verb, *words)
