"""``discreet select``: which variables, privately."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import progress, say
from discreet.cli.options import (
    Book,
    Data,
    DryRun,
    Fresh,
    How,
    Json,
    Of,
    Out,
    Quiet,
    Targets,
    Witness,
    Yes,
    names,
    number_or_word,
)
from discreet.cli.request_options import Asked, sharing
from discreet.cli.spend import spend
from discreet.cli.suppose import Correlation, Effect, Like, NoiseSd, NTrue, RSquared, Times, supposed
from discreet.errors import InvalidParameterError
from discreet.files import read_text

EXAMPLE = """\b
Example:
  discreet select --data rand_hie.parquet --metadata rand_hie.yaml \\
    --target mdvis --epsilon 1 --l1-radius 4 --y-center 5 --out release.json
  discreet select --data genes.parquet --metadata genes.yaml --target sick \\
    --method sis --n-features 10 --epsilon 2 --out release.json
  discreet select --data rand_hie.parquet --metadata rand_hie.yaml \\
    --target mdvis --method auto --epsilon 1 --delta 1e-6 --out release.json
  discreet select --data rand_hie.parquet --metadata rand_hie.yaml \\
    --target mdvis --method auto --correlation 0.5 --times 0.5,1 --epsilon 1
"""

Names = Annotated[list[str] | None, typer.Option(help="Columns that may be selected: COL,COL. Default: all declared.")]


def question(
    target: Annotated[str, typer.Option(help="The response: a numeric column; for sis and two-stage also a category.")],
    epsilon: Annotated[float, typer.Option(help="Privacy loss to spend, in nats: 1e-9 to 1000. Common: 0.1 to 3.")],
    candidates: Names = None,
    method: Annotated[
        str,
        typer.Option(
            help="pcls: constrained least squares; pcpl: profile likelihood; moments: noisy moments; sis: screening of "
            "many columns one by one; two-stage: votes of lassos on blocks of rows; auto: what a plan finds best for "
            "what --effect to --like suppose."
        ),
    ] = "pcls",
    n_features: Annotated[
        int | None, typer.Option("--n-features", "-k", help="How many columns sis and two-stage select. Default 5.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Probability of failure allowed: pcpl needs one, moments and many columns of sis gain by it."
        ),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="permute_and_flip (default), exponential or laplace; of sis and two-stage auto (default), "
            "canonical_lipschitz, one_shot or peeling."
        ),
    ] = None,
    l1_radius: Annotated[
        str | None,
        typer.Option(help="R: bound on the sum of absolute coefficients, 1e-100 to 1e100; or private. Default 2 r."),
    ] = None,
    model_penalty: Annotated[
        str | None,
        typer.Option(
            help="Penalty for each column: 0, 1e-12 to 1e220, auto (default); or bic, aic, which buy a variance."
        ),
    ] = None,
    max_size: Annotated[int | None, typer.Option(help="The most columns that may be selected.")] = None,
    forced: Annotated[list[str] | None, typer.Option(help="Candidates in every model: COL,COL.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="COL,COL that enter together. May be repeated.")] = None,
    models: Annotated[Path | None, typer.Option(help="JSON file: a list of models, each a list of columns.")] = None,
    y_bound: Annotated[
        str | None,
        typer.Option(help="r: clip the target to this far from its center, at most its range; or private, a quantile."),
    ] = None,
    y_center: Annotated[
        str | None,
        typer.Option(help="Public center of the target. Default: mid-range; of sis private, which buys the mean."),
    ] = None,
    level: Annotated[
        str | None, typer.Option(help="Of a target that is a category, for sis and two-stage: this level or another.")
    ] = None,
    code: Annotated[
        list[str] | None, typer.Option(help="Number of a level of such a target: LEVEL=NUMBER. Once for each level.")
    ] = None,
    share: Annotated[
        list[str] | None,
        typer.Option(help="Part of epsilon, 1e-6 to 0.999999, for a bought step: STEP=PART. Repeatable."),
    ] = None,
    intercept: Annotated[
        bool | None, typer.Option("--intercept/--no-intercept", help="A constant in every model. Default: yes.")
    ] = None,
    as_published: Annotated[
        bool,
        typer.Option("--as-published", help="The paper's algorithm, errors included. Not private: for study."),
    ] = False,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Any other parameter of the method: NAME=VALUE, as JSON.")
    ] = None,
    effect: Effect = None,
    n_true: NTrue = None,
    r_squared: RSquared = None,
    noise_sd: NoiseSd = None,
    correlation: Correlation = None,
    times: Times = None,
    like: Like = None,
) -> Asked:
    """What a selection asks."""
    named = {
        "epsilon": epsilon,
        "delta": delta,
        "mechanism": mechanism,
        "l1_radius": number_or_word(l1_radius),
        "model_penalty": number_or_word(model_penalty),
        "max_size": max_size,
        "forced": names(forced),
        "groups": tuple(names([text]) or () for text in group) if group else None,
        "models": _models(models),
        "y_bound": number_or_word(y_bound),
        "y_center": number_or_word(y_center),
        "n_features_to_select": n_features,
        "level": level,
        "codes": named_numbers(code, "--code LEVEL=NUMBER, such as sick=1"),
        "shares": named_numbers(share, "--share STEP=PART, such as l1_radius=0.2"),
        "fit_intercept": intercept,
        "as_published": as_published or None,
    }
    parameters = {**other_parameters(set_), **{key: value for key, value in named.items() if value is not None}}
    stated = supposed(effect, n_true, r_squared, noise_sd, correlation, times, like)
    if method == "auto":
        _check_auto(parameters)
    elif stated:
        raise InvalidParameterError(
            f"What is supposed of the table is for the method auto, but {next(iter(stated))} is given with {method}. "
            "Leave that out, or ask `discreet plan`."
        )
    reads = tuple(path for path in (models, like) if path is not None)
    return Asked(method, target, names(candidates), parameters, stated, reads)


@sharing(question)
def select(
    options: Asked,
    metadata: Annotated[Path, typer.Option(help="What is public about the table (YAML or JSON).")],
    data: Data = None,
    targets: Targets = None,
    table: Of = None,
    ledger: Book = None,
    witness: Witness = None,
    out: Out = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    json_: Json = False,
    yes: Yes = False,
    quiet: Quiet = False,
) -> None:
    """Spend budget to learn which variables belong in the regression of TARGET."""
    how = How(data, table, ledger, out, fresh, dry_run, json_, yes, quiet, targets, witness=witness)
    if options.method != "auto":
        spend(options.chosen(), metadata, options.target, options.candidates, how, *options.reads)
        return
    public, private = workflow.Metadata.read(metadata), None
    if options.supposed.get("like") is not None and data is not None:
        private = workflow.open_table(data, public, table, targets)
    chosen, facts = auto_of(options, public, quiet, private)
    spend(chosen, metadata, options.target, options.candidates, how, *options.reads, chosen=facts)


def auto_of(
    options: Asked, public: "workflow.Metadata", quiet: bool, private: Any = None
) -> tuple[Any, dict[str, Any]]:
    """Let a plan choose the method, from public facts alone, and say what it chose."""
    parameters = options.parameters
    with progress(quiet) as show_progress:
        chosen, facts = workflow.auto_method(
            public,
            options.target,
            options.candidates,
            parameters["epsilon"],
            parameters.get("delta") or 0.0,
            parameters.get("n0"),
            progress=show_progress,
            supposed=options.supposed,
            private=private,
        )
    say(
        f"Of {facts['among']} selections a plan chose: {facts['selection']}. On simulated tables its columns and the "
        f"right ones overlapped by {facts['expected_overlap']:.0%}.",
        quiet,
    )
    return chosen, facts


def _check_auto(parameters: dict[str, Any]) -> None:
    extra = sorted(parameters.keys() - {"epsilon", "delta", "n0"})
    if extra:
        raise InvalidParameterError(
            f"The method auto chooses its tuning itself, but {extra[0]} is given. Leave that out, or name a method."
        )


def named_numbers(parameters: list[str] | None, form: str) -> dict[str, float] | None:
    """Numbers by name: parts of epsilon by step, or codes by level."""
    if not parameters:
        return None
    return {name: number_or_word(value) for name, value in _pairs(parameters, form)}


def other_parameters(parameters: list[str] | None) -> dict[str, Any]:
    """Parameters by name: JSON where it is JSON, else text."""
    named: dict[str, Any] = {}
    for name, value in _pairs(parameters or [], "--set NAME=VALUE, such as y_quantile=0.9"):
        try:
            named[name] = json.loads(value)
        except ValueError:
            named[name] = value
    return named


def _pairs(parameters: list[str], form: str) -> list[tuple[str, str]]:
    pairs = [text.partition("=") for text in parameters]
    if not all(name and sign for name, sign, _ in pairs):
        raise InvalidParameterError(f"An option of several must have the form {form}.")
    return [(name.strip(), value.strip()) for name, _, value in pairs]


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
