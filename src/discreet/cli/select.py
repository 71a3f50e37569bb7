"""``discreet select``: which variables, privately."""

import csv
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import as_json, number, progress, result, say, spare
from discreet.errors import InvalidParameterError
from discreet.release import Release, read_text, writable
from discreet.report.words import count

EXAMPLE = """\b
Example:
  discreet select --data rand_hie.parquet --metadata rand_hie.yaml \\
    --target mdvis --epsilon 1 --l1-radius 4 --y-center 5 --out release.json
"""

Names = Annotated[list[str] | None, typer.Option(help="Columns that may be selected: COL,COL. Default: all declared.")]


def select(
    target: Annotated[str, typer.Option(help="The response, a numeric column.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss to spend, in nats. Common: 0.1 to 3.")],
    metadata: Annotated[Path, typer.Option(help="What is public about the table (YAML or JSON).")],
    data: Annotated[str | None, typer.Option(help="CSV, Parquet, Arrow, DuckDB or SQLite file.")] = None,
    candidates: Names = None,
    method: Annotated[str, typer.Option(help="pcls: penalized constrained least squares.")] = "pcls",
    delta: Annotated[float, typer.Option(help="Probability of failure allowed; pcls spends none.")] = 0.0,
    mechanism: Annotated[str, typer.Option(help="permute_and_flip, exponential or laplace.")] = "permute_and_flip",
    l1_radius: Annotated[
        float | None, typer.Option(help="R: bound on the sum of absolute coefficients. Public. Default 2 r.")
    ] = None,
    model_penalty: Annotated[str, typer.Option(help="Penalty for each column, a number or auto.")] = "auto",
    max_size: Annotated[int | None, typer.Option(help="The most columns that may be selected.")] = None,
    forced: Annotated[list[str] | None, typer.Option(help="Candidates in every model: COL,COL.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="COL,COL that enter together. May be repeated.")] = None,
    models: Annotated[Path | None, typer.Option(help="JSON file: a list of models, each a list of columns.")] = None,
    y_bound: Annotated[float | None, typer.Option(help="r: clip the target to this far from its center.")] = None,
    y_center: Annotated[float | None, typer.Option(help="Public center of the target. Default: mid-range.")] = None,
    intercept: Annotated[bool, typer.Option(help="A constant in every model.")] = True,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="The paper's algorithm, errors included. Not private: for study."),
    ] = False,
    table: Annotated[str | None, typer.Option(help="Which table of a database file.")] = None,
    ledger: Annotated[str | None, typer.Option(help="Ledger file. Default: in the user's data folder.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the release here (JSON).")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Draw again, and pay again, what was answered before.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show cost and noise; open no data, spend nothing.")
    ] = False,
    json_: Annotated[bool, typer.Option("--json", help="The release, or the plan, as JSON.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Only the result.")] = False,
) -> None:
    """Spend budget to learn which variables belong in the regression of TARGET."""
    chosen = workflow.method_of(
        method,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        l1_radius=l1_radius,
        model_penalty=_penalty(model_penalty),
        max_size=max_size,
        forced=_names(forced),
        groups=tuple(_names([one]) or () for one in group) if group else None,
        models=_models(models),
        y_bound=y_bound,
        y_center=y_center,
        fit_intercept=intercept,
        as_published=as_published,
    )
    public = workflow.Metadata.read(metadata)
    if dry_run:
        _show_plan(workflow.plan(chosen, public, target, _names(candidates)), json_)
        return
    if data is None:
        raise InvalidParameterError("A private table is needed: give --data FILE, or --dry-run to see the cost alone.")
    opened = workflow.open_table(data, public, table)
    if out is not None:
        writable(out)
    with workflow.Ledger(ledger) as book, progress(quiet) as told:
        if out is not None:
            spare(out, data, metadata, models, book.location)
        answer = workflow.answer(
            chosen,
            opened,
            target,
            _names(candidates),
            ledger=book,
            fresh=fresh,
            progress=told,
            confirm=None if yes or not _interactive() else _ask,
        )
    _deliver(answer, out, json_, quiet)


def _deliver(answer: workflow.Answer, out: Path | None, json_: bool, quiet: bool) -> None:
    if answer.stored:
        say(
            "The same request had been answered before: this is the stored release, and nothing was charged. "
            "If the table has changed since, --fresh draws again at full price.",
            quiet,
        )
    try:
        if out is not None:
            answer.release.save(out)
    finally:  # it was paid for
        result(answer.release.to_json() if json_ else summary(answer.release))
    if out is not None:
        say(f"Release written to {out}. `discreet report {out}` explains it.", quiet)


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
    chosen = ", ".join(release.selected) or "no column"
    lines = [
        f"Selected for {release.request['target']}: {chosen}",
        f"  one of {count(release.noise.n_candidates)} models of {len(release.request['candidates'])} candidates",
    ]
    promise = release.guarantee
    if promise is None:
        lines.append("  NOT PRIVATE: the algorithm as published, for study. It must not leave.")
    else:
        lines.append(
            f"  epsilon {number(promise.epsilon)}, delta {number(promise.delta)}, {promise.neighboring}, "
            f"per {promise.unit}"
        )
    charge = release.provenance.ledger
    if charge is not None:
        lines.append(
            f"  {number(charge.epsilon_spent)} of {number(charge.epsilon_cap)} spent for {release.provenance.dataset} "
            f"(ledger entry {charge.entry})"
        )
    return "\n".join(lines)


def _ask(plan: workflow.Plan, account: workflow.Account | None) -> None:
    if plan.guarantee is None or account is None or plan.guarantee.epsilon > account.epsilon_left:
        return  # nothing to spend, or the ledger will refuse
    cost, left = number(plan.guarantee.epsilon), number(account.epsilon_left)
    say(f"This will spend epsilon {cost} of the {left} left for {account.dataset} and cannot be undone.")
    typer.echo("Go on? [y/N]: ", nl=False, err=True)  # typer.confirm writes to standard output too
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise typer.Abort


def _interactive() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _show_plan(plan: workflow.Plan, json_: bool) -> None:
    noise = plan.noise.model_dump(mode="json")
    if json_:
        as_json(
            "discreet/plan@1",
            method=plan.method,
            target=plan.target,
            candidates=list(plan.candidates),
            parameters=plan.parameters,
            cost={"epsilon": float(plan.guarantee.epsilon), "delta": float(plan.guarantee.delta)}
            if plan.guarantee
            else None,
            neighboring=plan.guarantee.neighboring if plan.guarantee else None,
            noise=noise,
        )
        return
    cost = (
        f"epsilon {number(plan.guarantee.epsilon)}, {plan.guarantee.neighboring}" if plan.guarantee else "no guarantee"
    )
    result(
        f"Plan for {plan.target} on {len(plan.candidates)} candidates, {count(plan.noise.n_candidates)} models\n"
        f"  cost         {cost}\n"
        f"  mechanism    {plan.noise.mechanism} ({plan.noise.noise} noise of scale {number(plan.noise.scale)})\n"
        f"  sensitivity  {number(plan.noise.sensitivity)} = {plan.noise.formula}\n"
        f"  y            center {number(plan.parameters['y_center'])}, r = {number(plan.parameters['y_bound'])}\n"
        f"  R            {number(plan.parameters['l1_radius'])}\n"
        f"  penalty      {number(plan.parameters['model_penalty'])} for each column\n"
        f"  numerics     {plan.noise.numerics}\n"
        "No data were opened and nothing was spent."
    )


def _names(given: list[str] | None) -> tuple[str, ...] | None:
    """Split COL,COL; a name with a comma stands in double quotes."""
    if not given:
        return None
    return tuple(name for row in csv.reader(given, skipinitialspace=True, strict=False) for name in row if name)


def _penalty(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _models(path: Path | None) -> Any:
    if path is None:
        return None
    text = read_text(path, "models")
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidParameterError(
            f"The models file must be JSON, a list of lists of columns, but {path} is not."
        ) from None
