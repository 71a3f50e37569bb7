"""``discreet select``: which variables, privately."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import confirmed, interactive, number, progress, result, say, spare
from discreet.cli.forms import Format, form_of
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
    Stated,
    Targets,
    Witness,
    Yes,
    names,
)
from discreet.cli.parameter_options import other_parameters, parameter_help, taking
from discreet.cli.public_table import PublicTable, with_public
from discreet.cli.request_options import Asked, sharing
from discreet.cli.spend import deliver, spend
from discreet.cli.stops import stops
from discreet.cli.suppose import SUPPOSED, Correlation, Effect, Like, NoiseSd, NTrue, RSquared, Times, supposed
from discreet.errors import InvalidParameterError
from discreet.files import read_text, writable

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
  discreet select --data rand_hie.parquet --metadata rand_hie.yaml \\
    --target mdvis --method moments --until 0.9 --at-most 2 --delta 1e-6
"""

Names = Annotated[
    list[str] | None, typer.Option(help="Columns that may be selected: COL,COL. Default: all declared columns.")
]


PANELS = {
    "What is supposed of the table, for --method auto": SUPPOSED,
    "Buying moments in parts": (
        *("until", "until_width", "until_coefficient", "at_most", "until_of", "until_prior", "from_"),
    ),
}
"""Options that few need, below the others."""
METHODS = ("pcls", "pcpl", "moments", "sis", "two-stage", "decorrelated")


def _question(
    target: Annotated[
        str, typer.Option(help="Response variable: a numeric column; for sis and two-stage also a category.")
    ],
    candidates: Names = None,
    method: Annotated[
        str,
        typer.Option(
            help="pcls: constrained least squares; pcpl: profile likelihood; moments: noisy moments; sis: screening of "
            "many columns one by one; two-stage: votes of lassos on blocks of rows; decorrelated: each column beside "
            "all the others; auto: what a plan finds best for what --effect to --like suppose."
        ),
    ] = "pcls",
    *,
    parameters: dict[str, Any],
    models: Annotated[Path | None, typer.Option(help=f"JSON file: {parameter_help('models', *METHODS)}")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other parameter of the method: NAME=VALUE, the value as JSON."),
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
    workflow.require_method(method, (*METHODS, "auto"))
    listed = {} if models is None else {"models": _models(models)}
    parameters = {**other_parameters(set_), **parameters, **listed}
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


question = taking(*METHODS, needed=("epsilon",))(_question)
"""What a selection asks, at a price that is known beforehand."""


question_in_parts = taking(*METHODS, epsilon=None)(_question)
"""The same where parts may be bought until they are sure enough."""

NEEDS_EPSILON = "A selection spends budget: give --epsilon, or with --method moments --until and --at-most."


def check_in_parts(options: Asked, stop: dict[str, Any], public_table: Path | None = None) -> None:
    """Refuse parts of anything but bought moments, without an aim, or beside a price."""
    if public_table is not None:
        raise InvalidParameterError("Parts must be of bought moments alone. Leave out --public-table.")
    is_aimed = ("until" in stop) != ("until_width" in stop)
    if options.method != "moments" or not is_aimed or "at_most" not in stop or "epsilon" in options.parameters:
        raise InvalidParameterError(
            "Parts are bought of moments, below a ceiling: give --method moments, --until or --until-width, and "
            "--at-most, and leave out --epsilon."
        )


@sharing(question_in_parts, stops)
def select(
    options: Asked,
    stop: dict[str, Any],
    metadata: Annotated[
        Path, typer.Option(help="Metadata file, which states what is public about the table (YAML or JSON).")
    ],
    data: Data = None,
    targets: Targets = None,
    table: Of = None,
    public_table: PublicTable = None,
    stated: Stated = False,
    ledger: Book = None,
    witness: Witness = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="With --until: release of moments to continue from. Its cost counts.")
    ] = None,
    out: Out = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    json_: Json = False,
    format_: Format = None,
    yes: Yes = False,
    quiet: Quiet = False,
) -> None:
    """Spend budget to learn which variables belong in the regression of TARGET."""
    form = form_of(format_, json_)
    how = How(data, table, ledger, out, fresh, dry_run, form, yes, quiet, targets, witness=witness, stated=stated)
    if stop or from_ is not None:
        check_in_parts(options, stop, public_table)
        _in_parts(options, stop, from_, metadata, how)
        return
    if "epsilon" not in options.parameters:
        raise InvalidParameterError(NEEDS_EPSILON)
    if public_table is not None:
        options = with_public(options, workflow.Metadata.read(metadata), public_table, data)
    if options.method != "auto":
        spend(options.chosen(), metadata, options.target, options.candidates, how, *options.reads)
        return
    public, private = workflow.Metadata.read(metadata), None
    if options.supposed.get("like") is not None and data is not None:
        private = workflow.open_table(data, public, table, targets, stated=stated)
    chosen, facts = auto_of(options, public, quiet, private)
    spend(chosen, metadata, options.target, options.candidates, how, *options.reads, chosen=facts)


def _in_parts(options: Asked, stop: dict[str, Any], earlier: Path | None, metadata: Path, how: How) -> None:
    """Buy noisy moments part by part, and hand over what is bought so far after each."""
    at_most = stop["at_most"]
    names_of = {"of": "until_of", "prior": "until_prior", "width": "until_width", "coefficient": "until_coefficient"}
    choices = {name: stop[option] for name, option in names_of.items() if option in stop}
    public, method = workflow.Metadata.read(metadata), options.chosen()
    if how.data is None:
        raise InvalidParameterError("A private table is needed: give --data FILE.")
    opened = workflow.open_table(how.data, public, how.table, how.targets)
    for path in how.outputs():
        writable(path)
    with workflow.Ledger(how.ledger, witness=how.witness) as book, progress(how.quiet) as show_progress:
        for path in how.outputs():
            spare(path, how.data, how.targets, metadata, *options.reads, book.location, book.witness)
        begun = None if earlier is None else workflow.Release.read(earlier)
        terms = workflow.terms_for(method, public.dataset, book, stop.get("until"), at_most, begun, **choices)
        adds_up = "rho adds up" if terms.is_concentrated else "epsilon and delta add up"
        if how.dry_run:
            whole = f"epsilon {number(at_most)} and delta {number(terms.delta)}"
            result(f"Parts of at most {whole} together; {adds_up}.")
            return
        if interactive() and not how.yes:
            say(f"This may spend up to epsilon {number(at_most)} for {public.dataset} and cannot be undone.")
            confirmed()
        parts = () if begun is None else workflow.parts_of(begun, book)
        release = workflow.pay_as_you_go(
            method, terms, opened, options.target, options.candidates,
            ledger=book, earlier=parts, progress=show_progress,
            kept=lambda bought: None if how.out is None else bought.save(how.out),
        )  # fmt: skip
    deliver(release, how)


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
            public_moments=parameters.get("public_moments"),
        )
    say(
        f"Of {facts['among']} selections a plan chose: {facts['selection']}. The reason: {facts['reason']}.",
        quiet,
    )
    return chosen, facts


def _check_auto(parameters: dict[str, Any]) -> None:
    extra = sorted(parameters.keys() - {"epsilon", "delta", "n0", "public_moments"})
    if extra:
        raise InvalidParameterError(
            f"The method auto chooses its tuning itself, but {extra[0]} is given. Leave that out, or name a method."
        )


def _models(path: Path) -> Any:
    text = read_text(path, "models")
    try:
        return json.loads(text)
    except ValueError:
        raise InvalidParameterError(
            f"The models file must be JSON, a list of lists of columns, but {path} is not."
        ) from None
