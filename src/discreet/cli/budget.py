"""``discreet budget``: the ledger."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from discreet import workflow
from discreet.cli.budget_text import (
    ZCDP,
    account_line,
    account_record,
    allotment_line,
    allotment_record,
    cap,
    converts,
    entry_lines,
    entry_record,
    held_line,
)
from discreet.cli.console import as_json, confirmed, counted, interactive, number, result, say
from discreet.cli.forms import Form, Format, as_csv, form_of
from discreet.errors import BudgetError, InvalidParameterError

app = typer.Typer(
    no_args_is_help=True, help="The ledger: what each data set may spend in its lifetime, and what it has spent."
)

WitnessOption = Annotated[
    Path | None,
    typer.Option("--witness", help="File of the ledger's witness. Default: the one that the ledger records."),
]
LedgerOption = Annotated[
    str | None,
    typer.Option("--ledger", help="Ledger: a file, or the URL of a database. Default: a file in your data folder."),
]
MOST_NAMED = 20
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command()
def grant(
    dataset: Annotated[str | None, typer.Argument(help="Name of the data set, as in its metadata.")] = None,
    epsilon: Annotated[str, typer.Option(help="Most epsilon that may be spent in the data set's lifetime.")] = "",
    delta: Annotated[
        str | None,
        typer.Option(
            help="Most delta that may be spent in the data set's lifetime. Default: unchanged; 0 for a new cap."
        ),
    ] = None,
    metadata: Annotated[
        Path | None,
        typer.Option(help="Metadata file that names the data set, who is protected and the neighboring relation."),
    ] = None,
    dataset_: Annotated[
        str | None, typer.Option("--dataset", help="Name of the data set, in place of the argument.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(help="Who is protected, such as person. Default: as in the first request that is charged."),
    ] = None,
    neighboring: Annotated[
        str | None,
        typer.Option(
            help="Neighboring relation: replace_one or add_or_remove_one. Default: as in the first "
            "request that is charged."
        ),
    ] = None,
    accounting: Annotated[
        str | None,
        typer.Option(
            help="How costs add up: basic (epsilon and delta) or zcdp (rho). Default: unchanged; basic for a new cap."
        ),
    ] = None,
    ledger: LedgerOption = None,
    witness: WitnessOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before a cap is changed.")] = False,
    json_: Json = False,
) -> None:
    """Set what a data set may spend in its lifetime.

    On a terminal the command asks before it changes a cap. A cap can be lowered to what is spent, which is always safe:
    then nothing more can be spent. Where nothing is spent yet, that is a cap of 0.

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
            "A cap needs one data set's name and --epsilon. Give both: `discreet budget grant rand-hie --epsilon 4`."
        )
    name = keys.pop()
    with workflow.Ledger(ledger, witness=witness, is_restored=True) as book:
        accounts_before = {account.dataset: account for account in book.accounts()}
        before = _before(f"cap of {name}", accounts_before.get(name), yes, "cap")
        account = book.grant(name, epsilon, delta, unit=unit, neighboring=relation, accounting=accounting)
        where = book.location
    if json_:
        as_json("discreet/account@1", **account_record(account))
    else:
        result(f"{account.dataset} may spend {cap(account)} in its lifetime.")
        if account.accounting == ZCDP:
            result(f"{converts(account).capitalize()}.")
        from discreet.report.chances import worst_posterior  # where it is needed alone
        from discreet.report.words import percent_at_most

        if account.epsilon_cap:
            belief = percent_at_most(worst_posterior(float(account.epsilon_cap), 0.5))
            say(
                f"Once it is spent, a claim about one person that was 50% likely can, at worst, become {belief} likely."
            )
        if before not in (None, cap(account)):
            say(f"The cap was {before} before.")
        near = get_close_matches(name, accounts_before, 1) if before is None else []
        if near:
            say(f"This is the first cap of {name}. It is not that of {near[0]}.")
        say(f"Ledger: {where}")


@app.command()
def allot(
    dataset: Annotated[str, typer.Argument(help="Name of the data set, as in its metadata.")],
    project: Annotated[str, typer.Argument(help="Name of the project.")],
    epsilon: Annotated[str, typer.Option(help="Most epsilon that the project may spend; at most the data set's cap.")],
    delta: Annotated[
        str | None,
        typer.Option(help="Most delta that the project may spend. Default: unchanged; 0 for a new allotment."),
    ] = None,
    ledger: LedgerOption = None,
    witness: WitnessOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before an allotment is changed.")] = False,
    json_: Json = False,
) -> None:
    """Set a project's allotment: what it may spend of a data set's cap.

    Nothing is set aside for the project: the allotments of several projects may add up to more than the cap. On a
    terminal the command asks before it changes an allotment. An allotment can be lowered to what the project has spent.

    \b
    Example:
      discreet budget allot rand-hie thesis --epsilon 1
    """
    with _existing(ledger, witness, is_restored=True) as book:
        allotments_before = {allotment.project: allotment for allotment in book.allotments(dataset)}
        before = _before(f"allotment of {project}", allotments_before.get(project), yes, "allotment")
        allotment = book.allot(dataset, project, epsilon, delta)
    if json_:
        as_json("discreet/allotment@1", **allotment_record(allotment))
    else:
        result(f"{project} may spend {cap(allotment)} of {dataset}.")
        if before not in (None, cap(allotment)):
            say(f"The allotment was {before} before.")


@app.command()
def show(
    dataset: Annotated[str | None, typer.Argument(help="Name of one data set. Default: all of them.")] = None,
    ledger: LedgerOption = None,
    witness: WitnessOption = None,
    json_: Json = False,
    format_: Format = None,
) -> None:
    """Show what is spent and what is left.

    \b
    Example:
      discreet budget show rand-hie
    """
    form = form_of(format_, json_)
    with _existing(ledger, witness) as book:
        all_accounts = _accounts(book, dataset)
        accounts = all_accounts if dataset is None else [book.account(dataset)]
        allotments = {account.dataset: book.allotments(account.dataset) for account in accounts}
        where = book.location
    records = [account_record(account, allotments[account.dataset]) for account in accounts]
    if form is Form.JSON:
        as_json("discreet/accounts@1", accounts=records)
        return
    if form is Form.CSV:
        as_csv([{"project": None, **part} for record in records for part in (record, *record.pop("allotments"))])
        return
    if not accounts:
        say(f"No data set has a cap yet in {where}. Set one: discreet budget grant DATASET --epsilon E")
    for account in accounts:
        result(account_line(account))
        for allotment in allotments[account.dataset]:
            result(allotment_line(allotment))


@app.command()
def history(
    dataset: Annotated[str | None, typer.Argument(help="Name of one data set. Default: all of them.")] = None,
    ledger: LedgerOption = None,
    witness: WitnessOption = None,
    json_: Json = False,
    format_: Format = None,
) -> None:
    """List the ledger's entries, the oldest first.

    Each line has the entry's number and time, what happened, the data set, the epsilon and
    delta or the rho, and part of the hash.

    \b
    Example:
      discreet budget history rand-hie --json
    """
    form = form_of(format_, json_)
    with _existing(ledger, witness) as book:
        _accounts(book, dataset)
        entries = book.history(dataset)
    if form is Form.JSON:
        as_json("discreet/history@1", entries=[entry_record(entry) for entry in entries])
        return
    if form is Form.CSV:
        as_csv([entry_record(entry) for entry in entries])
        return
    for line in entry_lines(entries):
        result(line)
    for entry in entries:
        if entry.state == "reserved":
            say(held_line(entry))


@app.command()
def verify(
    releases: Annotated[list[Path] | None, typer.Argument(help="Release files that the ledger must hold.")] = None,
    witness: WitnessOption = None,
    ledger: LedgerOption = None,
    json_: Json = False,
) -> None:
    """Check that no entry of the ledger and no release in it was changed, removed or rolled back.

    A release that was computed from another one is computed again from the one in the ledger, and compared.

    \b
    Example:
      discreet budget verify release.json
      discreet budget verify --witness ledger.witness
    """
    with _existing(ledger, witness) as book:
        verified = workflow.verify(book, releases or [])
        fits = verified.ledger
        concentrated = [account for account in book.accounts() if account.accounting == ZCDP]
    if json_:
        as_json(
            "discreet/verification@1",
            entries=fits.n_entries,
            accounts=fits.n_accounts,
            releases=fits.n_releases,
            head=fits.head,
            derived=[{"file": path, "entry": entry} for path, entry in verified.derived.items()],
        )
    else:
        entries = "1 entry" if fits.n_entries == 1 else f"{fits.n_entries:,} entries"
        result(f"The ledger is intact: {entries}, {counted(fits.n_releases, 'release')}, head {fits.head[:16]}.")
        for path, entry in verified.derived.items():
            result(f"{path}: computed from the release of entry {entry}, which is in the ledger; it spent nothing.")
        for account in concentrated:
            spent = f"rho {number(account.rho_spent)} of {number(account.rho_cap)} is spent"
            result(f"{account.dataset}: {spent}, and {converts(account)}.")


@app.command()
def reconcile(
    witness: WitnessOption = None,
    release: Annotated[list[Path] | None, typer.Option(help="Release file that was charged. May be repeated.")] = None,
    ledger: LedgerOption = None,
    json_: Json = False,
) -> None:
    """After a backup was restored, charge again what had been charged since it was made.

    \b
    Example:
      discreet budget reconcile --witness ledger.witness
      discreet budget reconcile --release first.json --release second.json
    """
    with _existing(ledger, witness, is_restored=True) as book:
        if book.witness is None and not release:
            raise InvalidParameterError("There is nothing to reconcile from. Give --witness or --release.")
        entries = book.reconcile(book.witness, releases=[workflow.Release.read(path) for path in release or []])
    if json_:
        as_json("discreet/reconciliation@1", entries=[entry_record(entry) for entry in entries])
        return
    for line in entry_lines(entries):
        result(line)
    for dataset in sorted({entry.dataset for entry in entries if _lost_caps(entry)}):
        say(f"{dataset}: its cap or an allotment was set since. It is as in the backup; set it again.")
    if not entries:
        say("Nothing was lost: the ledger holds all of it.")


@app.command()
def free(
    entry: Annotated[
        int, typer.Argument(help="Number of the entry that reserved the budget, as `discreet budget history` lists it.")
    ],
    ledger: LedgerOption = None,
    witness: WitnessOption = None,
    json_: Json = False,
) -> None:
    """Give back budget that is reserved and for which no row was opened.

    A process that died may leave such budget, and so may a request in parts. No row can be opened for it afterwards.
    What was used stays charged, and its releases are kept.

    \b
    Example:
      discreet budget free 12
    """
    with _existing(ledger, witness) as book:
        account = book.account(str(workflow.free_reserved(book, entry).dataset))
    if json_:
        as_json("discreet/account@1", **account_record(account))
    else:
        result(f"The budget of entry {entry} was given back. What was used stays charged.")
        result(account_line(account))


@app.command()
def witness(
    file: Annotated[Path, typer.Argument(help="File of the new witness, on another disk than the ledger.")],
    ledger: LedgerOption = None,
) -> None:
    """Begin a witness of a ledger that has entries, or tell the ledger where its witness lies now.

    A witness is a file that records every entry, so that an older copy of the ledger is noticed. The ledger is first
    verified, with its present witness, too.

    \b
    Example:
      discreet budget witness /mnt/other-disk/ledger.witness
    """
    with _existing(ledger, is_restored=True) as book:
        book.verify()
    with workflow.Ledger(ledger, witness=file, new_witness=True) as book:
        result(f"{file} has seen all entries of the ledger, up to head {book.head[:16]}.")


def _before(called: str, sums: "workflow.Account | workflow.Allotment | None", yes: bool, noun: str) -> str | None:
    """What a cap or an allotment is before it changes, asked about on a terminal."""
    if sums is None:
        return None
    if not yes and interactive():
        say(f"The {called} is {cap(sums)}. A new {noun} is a decision about the same people.")
        confirmed()
    return cap(sums)


def _lost_caps(entry: "workflow.Entry") -> bool:
    return any(lost["kind"] in ("grant", "allot") for lost in entry.facts.get("lost", ()))


def _accounts(book: "workflow.Ledger", dataset: str | None) -> "Sequence[workflow.Account]":
    """What a ledger holds; refused where it does not hold what is named."""
    accounts = book.accounts()
    if dataset is not None and accounts and dataset not in (account.dataset for account in accounts):
        names = ", ".join(account.dataset for account in accounts[:MOST_NAMED])
        raise BudgetError(f"{dataset[:80]!r} has no cap in this ledger. Name one of its data sets: {names}.")
    return accounts


def _existing(location: str | None, witness: Path | None = None, *, is_restored: bool = False) -> "workflow.Ledger":
    """Open a ledger to look at it: a mistyped path must not look like an empty ledger, nor like an empty witness."""
    if location is not None and "://" not in location and not Path(location).exists():
        raise BudgetError(f"Ledger {location[:300]} does not exist. Check --ledger.")
    if witness is not None and not witness.is_file():
        raise InvalidParameterError(f"The witness must be a file, but {str(witness)[:300]} is not. Check --witness.")
    return workflow.Ledger(location, witness=witness, is_restored=is_restored)
