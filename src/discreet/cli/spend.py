"""What every command that spends does alike: show the plan, ask, reserve and run, hand over the release."""

import csv
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import report as reports
from discreet import workflow
from discreet.cli.console import as_json, number, progress, result, say, spare
from discreet.errors import InvalidParameterError
from discreet.files import writable
from discreet.release import NoiseRecord, Release, StepRecord, TwinRecord
from discreet.report.words import count

SCREENINGS = ("canonical_lipschitz", "one_shot", "peeling")
"""Mechanisms that do not choose among models."""

Data = Annotated[
    str | None,
    typer.Option(help="CSV, Parquet, Arrow, DuckDB or SQLite file, folder of Parquet, s3://, postgresql://, spark:..."),
]
Targets = Annotated[
    str | None, typer.Option(help="Of a table with a value a row: the file with a row for each person and the target.")
]
Of = Annotated[str | None, typer.Option(help="Which table of a database.")]
Book = Annotated[str | None, typer.Option(help="Ledger file. Default: in the user's data folder.")]
Witness = Annotated[Path | None, typer.Option(help="The ledger's witness. Default: the one that it records.")]
Out = Annotated[Path | None, typer.Option(help="Write the release here (JSON).")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Draw again, and pay again, what was answered before.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show cost and noise; open no data, spend nothing.")]
Json = Annotated[bool, typer.Option("--json", help="The release, or the plan, as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")]


@dataclass(frozen=True)
class How:
    """The options that every command that spends has."""

    data: str | None
    table: str | None
    ledger: str | None
    out: Path | None
    fresh: bool
    dry_run: bool
    json: bool
    yes: bool
    quiet: bool
    targets: str | None = None
    weighted: Path | None = None
    witness: Path | None = None

    def outputs(self) -> list[Path]:
        """Return the files that will be written."""
        return [path for path in (self.out, self.weighted) if path is not None]


def spend(
    method: Any,
    metadata: Path,
    target: str,
    candidates: Sequence[str] | None,
    how: How,
    *reads: str | Path | None,
    chosen: dict[str, Any] | None = None,
) -> Release | None:
    """Plan a request, or answer it and hand over the release.

    Parameters
    ----------
    method : Method
        The parameters.
    metadata : Path
        What is public about the table.
    target : str
        The response.
    candidates : sequence of str or None
        Columns that may be selected, or that the model has.
    how : How
        The common options.
    *reads : str, Path or None
        Further files that the command reads.
    chosen : dict, optional
        How the method was chosen.

    Returns
    -------
    Release or None
        None for a plan.
    """
    public = workflow.Metadata.read(metadata)
    if how.dry_run:
        header = None
        if how.data is not None and public.features is not None and public.features.listed() is None:
            header = workflow.open_table(how.data, public, how.table, how.targets)
        planned = workflow.plan(method, public, target, candidates, header)
        with progress(how.quiet) as told:
            expected = workflow.expected_errors(method, public, target, candidates, told)
        show_plan(planned.record(), how.json, expected)
        return None
    if how.data is None:
        raise InvalidParameterError("A private table is needed: give --data FILE, or --dry-run to see the cost alone.")
    opened = workflow.open_table(how.data, public, how.table, how.targets)
    for out in how.outputs():
        writable(out)
    with workflow.Ledger(how.ledger, witness=how.witness) as book, progress(how.quiet) as told:
        for out in how.outputs():
            spare(out, how.data, how.targets, metadata, *reads, book.location, book.witness)
        answer = workflow.answer(
            method,
            opened,
            target,
            candidates,
            ledger=book,
            fresh=how.fresh,
            progress=told,
            confirm=None if how.yes or not interactive() else _ask,
            chosen=chosen,
        )
    if answer.stored:
        say(
            "The same request had been answered before: this is the stored release, and nothing was charged. "
            "If the table has changed since, --fresh draws again at full price."
            + (" What it tells of a choice and of suppositions is what was asked then." if chosen else ""),
            how.quiet,
        )
    deliver(answer.release, how)
    return answer.release


def deliver(release: Release, how: How) -> None:
    """Print a release, and write it where it was asked for.

    Parameters
    ----------
    release : Release
        The release.
    how : How
        The common options.
    """
    try:
        if how.out is not None:
            release.save(how.out)
    finally:  # it was paid for
        result(release.to_json() if how.json else summary(release))
    if how.out is not None:
        say(f"Release written to {how.out}. `discreet report {how.out}` explains it.", how.quiet)


def summary(release: Release) -> str:
    """Return a release in a few lines.

    Parameters
    ----------
    release : Release
        The release.

    Returns
    -------
    str
        The answer first, then what it cost.
    """
    lines = []
    if release.fit is None or release.method == "run":
        chosen = ", ".join(release.selected) or "no column"
        lines.append(f"Selected for {release.request['target']}: {chosen}")
        among, models = count(reports.n_candidates(release)), release.noise.n_candidates
        if release.noise.mechanism in SCREENINGS:
            models = None
        lines.append(f"  one of {count(models)} models of {among} candidates" if models else f"  of {among} candidates")
    if release.hybrid is not None:
        lines += estimated(release)
    if release.fit is not None:
        lines.append(reports.coefficient_table(release))
    promise = release.guarantee
    if promise is None:
        lines.append("  NOT PRIVATE: no guarantee, for study. It must not leave.")
    else:
        lines.append(
            f"  epsilon {number(promise.epsilon)}, delta {number(promise.delta)}, {promise.neighboring}, "
            f"per {promise.unit}"
        )
    charge = release.provenance.ledger
    if release.provenance.derived_from is not None:
        lines.append("  computed from an earlier release, without the rows: nothing further was spent")
    elif charge is not None:
        spent = f"{number(charge.epsilon_spent)} of {number(charge.epsilon_cap)}"
        if charge.rho_spent is not None and charge.rho_cap is not None:
            spent = f"rho {charge.rho_spent:.3g} of {charge.rho_cap:.3g}"
        lines.append(f"  {spent} spent for {release.provenance.dataset} (ledger entry {charge.entry})")
    return "\n".join(lines)


def estimated(release: Release) -> list[str]:
    """Return what an estimate is and what it rests on, in a few lines.

    Parameters
    ----------
    release : Release
        Of an estimate on public records, or on a histogram.

    Returns
    -------
    list of str
        Before its coefficients.
    """
    asked, found, fit = release.request, release.hybrid, release.fit
    what = f"Estimate for {asked['target']}, {fit.family} contrast" if fit is not None else "Estimate"
    if found is None or found.points is None:
        cells = asked["parameters"].get("n_cells")
        return [what, f"  from noisy counts of {count(int(cells))} cells" if cells else "  from noisy counts of cells"]
    points, lines = found.points, [what]
    chosen = [one.name for one in found.candidates if one.chosen]
    if chosen:
        lines.append(f"  chosen: {chosen[0]}, one of {count(len(found.candidates))} estimates")
    weighted = sum(weight > 0 for weight in points.weights)
    among = f"{count(points.n_points)} distinct public points ({count(points.n_records)} records)"
    lines.append(f"  {count(weighted)} of {among} carry weights" if weighted else f"  no weights on the {among}")
    return lines


def names(given: list[str] | None) -> tuple[str, ...] | None:
    """Split COL,COL; a name with a comma stands in double quotes.

    Parameters
    ----------
    given : list of str or None
        As the options were given.

    Returns
    -------
    tuple of str or None
        The names; None when nothing was given.
    """
    if not given:
        return None
    return tuple(name for row in csv.reader(given, skipinitialspace=True, strict=False) for name in row if name)


def number_or_word(text: str | None) -> Any:
    """Return an option that takes a number or a word.

    Parameters
    ----------
    text : str or None
        As it was given.

    Returns
    -------
    float, str or None
        The number, else the word.
    """
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def show_plan(record: Mapping[str, Any], json_: bool, expected: Sequence[TwinRecord] = ()) -> None:
    """Print what a request would cost.

    Parameters
    ----------
    record : mapping
        The plan, of the schema ``discreet/plan@1``.
    json_ : bool
        As JSON.
    expected : sequence of TwinRecord
        What errors to expect, where they were simulated.
    """
    if json_:
        errors = {"expected_errors": [one.model_dump(mode="json") for one in expected]} if expected else {}
        as_json(**{**record, **errors})
        return
    noise, given, among = NoiseRecord.model_validate(record["noise"]), record["parameters"], record["candidates"]
    named = noise.n_candidates if noise.mechanism not in SCREENINGS else None
    models = f", {count(named)} {'estimates' if 'measure' in given else 'models'}" if named else ""
    n_candidates = among["count"] if isinstance(among, Mapping) else len(among)
    lines = [
        f"Plan for {record['target']} on {count(n_candidates)} candidates{models}",
        f"  cost         {cost(record)}",
    ]
    for step in map(StepRecord.model_validate, record["steps"]):
        lines.append(f"    {step.name:<24} {_price(step.event)}, noise of scale {number(step.noise.scale)}")
    lines += [
        f"  mechanism    {noise.mechanism} ({noise.noise} noise of scale {number(noise.scale)})",
        f"  sensitivity  {number(noise.sensitivity)} = {noise.formula}",
    ]
    shown = {
        "n_features_to_select": "selected",
        "y_center": "y center",
        "y_bound": "y bound (r)",
        "l1_radius": "R",
        "model_penalty": "penalty",
        "contrast": "contrast",
        "measure": "buys",
        "n_points": "points",
        "sizes": "sizes",
        "n_cells": "cells",
    }
    told = {word: given[key] for key, word in shown.items() if given.get(key) not in (None, [])}
    lines += [f"  {word:<12} {_plain(value)}" for word, value in told.items()]
    if record["method"] == "sis":
        lines.append(f"  stands out   {_standing_out(noise, given['n_features_to_select'])}")
    lines.append(f"  numerics     {noise.numerics}")
    opened = "No private data were opened" if "public" in given else "No data were opened"
    result("\n".join([*lines, *_expected(expected), f"{opened} and nothing was spent."]))


def _standing_out(noise: NoiseRecord, n_selected: int) -> str:
    """About what a column needs to be chosen: the noise that the last one chosen, or the set of them, must beat."""
    rivals = (noise.n_candidates or 1) / (n_selected if noise.mechanism == "one_shot" else 1)
    lead = count(math.ceil(noise.scale * max(math.log(rivals), 1.0)))
    return f"a column whose score is about {lead} above others; a row adds 1 at most, and most add far less"


def cost(record: Mapping[str, Any]) -> str:
    """Return what a plan says that it would spend.

    Parameters
    ----------
    record : mapping
        The plan, of the schema ``discreet/plan@1``.

    Returns
    -------
    str
        In a few words.
    """
    spent = record["cost"]
    if spent is None:
        return "no guarantee"
    delta = f", delta {number(spent['delta'])}" if spent["delta"] else ""
    return f"epsilon {number(spent['epsilon'])}{delta}, {record['neighboring']}"


def _expected(errors: Sequence[TwinRecord]) -> list[str]:
    """What errors to expect, a line for each number of points."""
    if not errors:
        return []
    told = [f"{one.name}{'' if one.n_points is None else f', {count(one.n_points)} points'}" for one in errors]
    width = max(map(len, told))
    lines = [
        f"    {name:<{width}}  {100 * one.error:>5.2f} %  ({100 * one.low:.2f} to {100 * one.high:.2f})"
        for name, one in zip(told, errors, strict=True)
    ]
    return ["  expected error of predictions, of the target's range, simulated on the public records:", *lines]


def _price(event: dict[str, Any]) -> str:
    if "rho" in event:
        return f"rho {number(event['rho'])}"
    return f"epsilon {number(event['epsilon'])}" if "epsilon" in event else f"delta {number(event.get('delta', 0))}"


def _plain(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    return number(value) if isinstance(value, (int, float)) else str(value)


def _ask(plan: workflow.Plan, account: workflow.Account | None) -> None:
    if plan.guarantee is None or account is None:
        return  # nothing to spend, or the ledger will refuse
    if account.accounting == "basic" and plan.guarantee.epsilon > account.epsilon_left:
        return
    spent, left = number(plan.guarantee.epsilon), f"the {number(account.epsilon_left)} left"
    if account.accounting != "basic":
        left = f"what is left of rho {float(account.rho_cap):.3g}"
    say(f"This will spend epsilon {spent} of {left} for {account.dataset} and cannot be undone.")
    confirmed()


def confirmed() -> None:
    """Ask whether to go on.

    Raises
    ------
    Abort
        Unless the answer is yes.
    """
    typer.echo("Go on? [y/N]: ", nl=False, err=True)  # typer.confirm writes to standard output too
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Abort


def interactive() -> bool:
    """Tell whether somebody could answer a question.

    Returns
    -------
    bool
        Both ends are a terminal.
    """
    return sys.stdin.isatty() and sys.stderr.isatty()
