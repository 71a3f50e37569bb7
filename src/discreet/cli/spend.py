"""What every command that spends does alike: show the dry run, ask, reserve and run, hand over the release."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from discreet import workflow
from discreet.cli.console import confirmed, interactive, number, progress, result, say, spare
from discreet.cli.dry_run_text import WEAK, show_dry_run
from discreet.cli.options import How
from discreet.cli.release_text import summary
from discreet.digits import plain
from discreet.errors import InvalidParameterError
from discreet.files import writable
from discreet.report.chances import is_weak


def spend(
    method: Any,
    metadata: Path,
    target: str,
    candidates: Sequence[str] | None,
    how: How,
    *reads: str | Path | None,
    chosen: dict[str, Any] | None = None,
) -> "workflow.Release | None":
    """Show the dry run of a request, or answer it and hand over the release.

    None for a dry run.
    """
    public = workflow.Metadata.read(metadata)
    if how.dry_run:
        if how.csv:
            raise InvalidParameterError("A dry run is text or JSON, but --format csv is given. Give json, or drop it.")
        header = None
        if how.data is not None and public.features is not None and public.features.listed() is None:
            header = workflow.open_table(how.data, public, how.table, how.targets, stated=how.stated)
        priced = workflow.dry_run(method, public, target, candidates, header)
        with progress(how.quiet) as report_progress:
            expected = workflow.expected_errors(method, public, target, candidates, report_progress)
        show_dry_run(priced.record(workflow.chance_before(priced)), how.json, expected)
        return None
    if how.data is None:
        raise InvalidParameterError("A private table is needed: give --data FILE, or --dry-run to see the cost alone.")
    opened = workflow.open_table(how.data, public, how.table, how.targets, stated=how.stated)
    for out in how.outputs():
        writable(out)
    with workflow.Ledger(how.ledger, witness=how.witness) as book, progress(how.quiet) as report_progress:
        for out in how.outputs():
            spare(out, how.data, how.targets, metadata, *reads, book.location, book.witness)
        answer = workflow.answer(
            method,
            opened,
            target,
            candidates,
            ledger=book,
            fresh=how.fresh,
            progress=report_progress,
            confirm=None if how.yes else _ask if interactive() else partial(_warn, quiet=how.quiet or how.json),
            chosen=chosen,
        )
    if answer.stored:
        say(
            "The same request had been answered before: this is the stored release, and nothing was charged. "
            "If the table has changed since, --fresh draws again at full price."
            + (" What it says about the choice of columns is as it was asked then." if chosen else ""),
            how.quiet,
        )
    deliver(answer.release, how)
    return answer.release


def deliver(release: "workflow.Release", how: How) -> None:
    """Print a release, and write it where it was asked for."""
    try:
        if how.out is not None:
            release.save(how.out)
    finally:  # it was paid for
        result(_as_asked(release, how))
    if how.out is not None:
        say(f"Release written to {how.out}. `discreet report {how.out}` explains it.", how.quiet)


def _as_asked(release: "workflow.Release", how: How) -> str:
    """Return the release in the form that was asked for."""
    if how.csv:
        from discreet import report as reports  # its templates are loaded where they are used

        return reports.render(release, "csv")
    return release.to_json() if how.json else summary(release)


def _ask(priced: "workflow.DryRun", account: "workflow.Account | None") -> None:
    if priced.guarantee is None or account is None or not _can_be_charged(priced, account):
        return
    spent, left = number(priced.guarantee.epsilon), f"the {number(account.epsilon_left)} left"
    if account.accounting != "basic":
        left = f"what is left of rho {plain(float(account.rho_cap), 3)}"
    _warn(priced, account)
    say(f"This will spend epsilon {spent} of {left} for {account.dataset} and cannot be undone.")
    if is_weak(float(priced.guarantee.epsilon)):
        say(f"Warning: {WEAK}")
    confirmed()


def _can_be_charged(priced: "workflow.DryRun", account: "workflow.Account | None") -> bool:
    """Tell whether there is something to spend that the ledger will not refuse at once."""
    if priced.guarantee is None or account is None:
        return False
    return account.accounting != "basic" or priced.guarantee.epsilon <= account.epsilon_left


def _warn(priced: "workflow.DryRun", account: "workflow.Account | None", quiet: bool = False) -> None:
    """Say where nothing can stand out of the noise, and what epsilon would do."""
    chance = workflow.chance_before(priced) if not quiet and _can_be_charged(priced, account) else None
    if chance is None or chance.could_stand_out is not False:
        return
    from discreet.report.chance_words import before  # where it is needed alone

    epsilon = workflow.epsilon_needed(priced)
    would = (
        ""
        if epsilon is None
        else f" Epsilon {number(epsilon)} would let a strong effect stand out; so would more rows."
    )
    say(f"{' '.join(before(chance))}{would}")
