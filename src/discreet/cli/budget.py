"""``discreet budget``: the ledger."""

from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import as_json, number, result, say
from discreet.errors import BudgetError, InvalidParameterError

ZCDP = "zcdp"

app = typer.Typer(
    no_args_is_help=True, help="The ledger: what each data set may spend for its lifetime, and has spent."
)

LedgerOption = Annotated[str | None, typer.Option("--ledger", help="Ledger file. Default: in the user's data folder.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command()
def grant(
    dataset: Annotated[str | None, typer.Argument(help="The data set's key.")] = None,
    epsilon: Annotated[str, typer.Option(help="Lifetime cap on epsilon, in nats.")] = "",
    delta: Annotated[str, typer.Option(help="Lifetime cap on delta.")] = "0",
    metadata: Annotated[Path | None, typer.Option(help="Take data set, unit and relation from here.")] = None,
    dataset_: Annotated[str | None, typer.Option("--dataset", help="The data set's key.")] = None,
    unit: Annotated[str | None, typer.Option(help="Who is protected. Default: fixed by the first charge.")] = None,
    neighboring: Annotated[str | None, typer.Option(help="The relation. Default: fixed by the first charge.")] = None,
    accounting: Annotated[
        str | None,
        typer.Option(help="What adds up: basic (epsilon and delta) or zcdp (rho). Default: as it is, at first basic."),
    ] = None,
    ledger: LedgerOption = None,
    json_: Json = False,
) -> None:
    """Set a data set's cap, for its lifetime.

    \b
    Example:
      discreet budget grant rand-hie --epsilon 4
      discreet budget grant rand-hie --epsilon 4 --delta 1e-6 --accounting zcdp
    """
    relation, keys = neighboring, {key for key in (dataset, dataset_) if key}
    if metadata is not None:
        public = workflow.Metadata.read(metadata)
        keys, unit, relation = keys | {public.dataset}, unit or public.unit, relation or public.neighboring
    if len(keys) != 1 or not epsilon:
        raise InvalidParameterError(
            "One data set and --epsilon are needed, such as: discreet budget grant rand-hie --epsilon 4"
        )
    with workflow.Ledger(ledger) as book:
        account = book.grant(keys.pop(), epsilon, delta, unit=unit, neighboring=relation, accounting=accounting)
        where = book.location
    if json_:
        as_json("discreet/account@1", **_account(account))
    else:
        result(f"{account.dataset} may spend {_cap(account)} for its lifetime.")
        if account.accounting == ZCDP:
            result(f"{_converted(account).capitalize()}.")
        say(f"Ledger: {where}")


@app.command()
def show(
    dataset: Annotated[str | None, typer.Argument(help="Only this data set.")] = None,
    ledger: LedgerOption = None,
    json_: Json = False,
) -> None:
    """Show what is spent and what is left.

    \b
    Example:
      discreet budget show rand-hie
    """
    with _existing(ledger) as book:
        accounts = book.accounts() if dataset is None else [book.account(dataset)]
        where = book.location
    if json_:
        as_json("discreet/accounts@1", accounts=[_account(account) for account in accounts])
        return
    if not accounts:
        say(f"No data set has a cap yet in {where}. Set one: discreet budget grant DATASET --epsilon E")
    for account in accounts:
        result(_bar(account))


@app.command()
def history(
    dataset: Annotated[str | None, typer.Argument(help="Only this data set.")] = None,
    ledger: LedgerOption = None,
    json_: Json = False,
) -> None:
    """List the ledger's entries.

    \b
    Example:
      discreet budget history rand-hie --json
    """
    with _existing(ledger) as book:
        entries = book.history(dataset)
    if json_:
        as_json("discreet/history@1", entries=[_entry(entry) for entry in entries])
        return
    for entry in entries:
        state = f" ({entry.state})" if entry.state else ""
        amount = f"epsilon {number(entry.epsilon)}" if entry.epsilon else ""
        amount = amount if entry.rho is None else f"rho {number(entry.rho)}"
        result(
            f"{entry.seq:>5}  {entry.time}  {entry.kind + state:<20} {entry.dataset:<20} {amount:<16} {entry.hash[:12]}"
        )


@app.command()
def verify(
    releases: Annotated[list[Path] | None, typer.Argument(help="Releases to find in the ledger.")] = None,
    ledger: LedgerOption = None,
    json_: Json = False,
) -> None:
    """Check that nothing in the ledger was edited, removed or rolled back, nor in a release that it recorded.

    A release that was computed from another is computed again from the one in the ledger.

    \b
    Example:
      discreet budget verify release.json
    """
    with _existing(ledger) as book:
        found = workflow.verify(book, releases or [])
        fits = found.ledger
        concentrated = [account for account in book.accounts() if account.accounting == ZCDP]
    if json_:
        as_json(
            "discreet/verification@1",
            entries=fits.n_entries,
            accounts=fits.n_accounts,
            releases=fits.n_releases,
            head=fits.head,
            derived=[{"file": path, "entry": entry} for path, entry in found.derived.items()],
        )
    else:
        result(f"The ledger fits: {fits.n_entries} entries, {fits.n_releases} releases, head {fits.head[:16]}.")
        for path, entry in found.derived.items():
            result(f"{path}: computed from the release of entry {entry}, which is in the ledger; it spent nothing.")
        for account in concentrated:
            spent = f"rho {number(account.rho_spent)} of {number(account.rho_cap)} is spent"
            result(f"{account.dataset}: {spent}, and {_converted(account)}.")


def _existing(location: str | None) -> workflow.Ledger:
    """Open a ledger to look at it: a mistyped path must not look like an empty ledger."""
    if location is not None and "://" not in location and not Path(location).exists():
        raise BudgetError(f"The ledger must exist to be shown, but {location[:300]} does not. Check --ledger.")
    return workflow.Ledger(location)


def _account(account: workflow.Account) -> dict[str, Any]:
    return {
        "dataset": account.dataset,
        "unit": account.unit,
        "neighboring": account.neighboring,
        "epsilon": {
            "cap": float(account.epsilon_cap),
            "spent": float(account.epsilon_spent),
            "left": float(account.epsilon_left),
        },
        "delta": {
            "cap": float(account.delta_cap),
            "spent": float(account.delta_spent),
            "left": float(account.delta_left),
        },
        "accounting": account.accounting,
        "rho": _rho(account) if account.accounting == ZCDP else None,
        "releases": account.n_releases,
    }


def _rho(account: workflow.Account) -> dict[str, Any]:
    return {
        "cap": float(account.rho_cap),
        "spent": float(account.rho_spent),
        "left": float(account.rho_left),
        "failure": {"cap": float(account.failure_cap), "spent": float(account.failure_spent)},
    }


def _entry(entry: workflow.Entry) -> dict[str, Any]:
    fields = {
        name: getattr(entry, name) for name in ("seq", "time", "kind", "dataset", "request", "unit", "hash", "state")
    }
    return {
        **fields,
        "neighboring": entry.neighboring,
        "epsilon": float(entry.epsilon),
        "delta": float(entry.delta),
        "rho": None if entry.rho is None else float(entry.rho),
        "failure": None if entry.failure is None else float(entry.failure),
        "facts": entry.facts,
    }


def _bar(account: workflow.Account) -> str:
    filled = round(30 * float(account.share_spent))
    bar = f"{account.dataset:<20} [{'#' * filled}{'.' * (30 - filled)}]"
    if account.accounting == ZCDP:
        return (
            f"{bar} rho {number(account.rho_spent)} of {number(account.rho_cap)} spent, {number(account.rho_left)} "
            f"left, {account.n_releases} releases; {_converted(account)}"
        )
    return (
        f"{bar} {number(account.epsilon_spent)} of {number(account.epsilon_cap)} spent, "
        f"{number(account.epsilon_left)} left, {account.n_releases} releases"
    )


def _cap(account: workflow.Account) -> str:
    if account.accounting != ZCDP:
        return f"epsilon {number(account.epsilon_cap)}"
    return f"rho {number(account.rho_cap)}"


def _converted(account: workflow.Account) -> str:
    """The cap's epsilon: that of the running rho would be no bound."""
    return f"the cap converts to epsilon {number(account.epsilon_cap)} at delta {number(account.delta_cap)}"
