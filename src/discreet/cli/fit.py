"""``discreet fit``: coefficients with intervals, privately."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import given_options
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
    number_or_word,
)
from discreet.cli.parameter_options import taking
from discreet.cli.request_options import Asked, sharing
from discreet.cli.spend import deliver, spend
from discreet.errors import InvalidParameterError
from discreet.files import writable

if TYPE_CHECKING:
    from discreet.release import MomentsRecord, Release

EXAMPLE = """\b
Example:
  discreet fit --data rand_hie.parquet --metadata rand_hie.yaml \\
    --target mdvis --columns lncoins,physlm,disea --epsilon 1 --delta 1e-6 \\
    --out fit.json
  discreet fit --from release.json --data rand_hie.parquet \\
    --metadata rand_hie.yaml --epsilon 1 --delta 1e-6
  discreet fit --from moments.json --posterior
"""


FREE = (
    *("from_", "columns", "family", "confidence", "coef_bound", "selective_inference", "posterior"),
    *("out", "json_", "format_", "yes", "quiet"),
)
"""What can be asked of noisy moments; the rest was settled when they were bought."""


@dataclass(frozen=True)
class FitAsked:
    """What a fit asks, perhaps of an earlier release."""

    target: str
    columns: tuple[str, ...] | None
    earlier: "Release | None"
    read: Path | None
    family: str
    parameters: dict[str, Any]
    selective_inference: str | None = None
    posterior: bool = False

    def free(self, context: typer.Context, *free_options: str) -> "Release | None":
        """Return what the earlier release answers, or None when the fit must be bought."""
        if self.posterior:
            return self._posterior(context, free_options)
        if self.earlier is None or self.earlier.moments is None or self.family != "linear":
            return None
        _check_free(context, self.earlier, self.earlier.moments, free_options)
        limits = {name: self.parameters[name] for name in ("confidence", "coef_bound") if name in self.parameters}
        return workflow.fit_from(self.earlier, self.columns, **limits, selective_inference=self.selective_inference)

    def _posterior(self, context: typer.Context, free_options: tuple[str, ...]) -> "Release":
        """Return how sure columns and models are, beside the coefficients of the model that was asked for."""
        if self.earlier is None:
            raise InvalidParameterError("--posterior is of an earlier release: give --from RELEASE.")
        moments, confidence = self.earlier.moments, self.parameters.get("confidence", 0.95)
        _check_free(context, self.earlier, moments, free_options)
        release = self.earlier
        if moments is not None and (self.columns is not None or release.fit is None):
            limits = {name: self.parameters[name] for name in ("confidence", "coef_bound") if name in self.parameters}
            release = workflow.fit_from(release, self.columns, **limits, selective_inference=self.selective_inference)
        return workflow.with_posterior(release, confidence)

    def asked(self) -> Asked:
        """Return what is asked of the rows."""
        columns = self.columns or (workflow.selection_of(self.earlier)[1] if self.earlier is not None else None)
        if columns is None or not self.target:
            raise InvalidParameterError("A model is needed: give --target and --columns COL,COL, or --from RELEASE.")
        reads = () if self.read is None else (self.read,)
        return Asked(self.family, self.target, columns, self.parameters, reads=reads)


@taking("linear", "logistic", "poisson", epsilon=None, delta=0.0, confidence=0.95)
def question(
    target: Annotated[str | None, typer.Option(help="Response variable. Default: that of --from.")] = None,
    columns: Annotated[
        list[str] | None, typer.Option(help="Columns of the model: COL,COL. Default: the columns that --from selected.")
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from", help="Release whose selected columns are fitted. This is free if the release holds noisy moments."
        ),
    ] = None,
    family: Annotated[str, typer.Option(help="Family of the regression: linear, logistic or poisson.")] = "linear",
    *,
    parameters: dict[str, Any],
    selective_inference: Annotated[
        str | None,
        typer.Option(
            help="Of --from noisy moments: fission selects anew by one half of what they tell and fits the other, so "
            "that intervals hold; none fits what was selected by all, and intervals of 95% held in about half of the "
            "cases where no column mattered. Default fission, where the release has it."
        ),
    ] = None,
    posterior: Annotated[
        bool,
        typer.Option(
            "--posterior",
            help="Of --from: also how likely each column and each model is, under two priors. Free, from noisy moments "
            "or from a logistic or Poisson fit.",
        ),
    ] = False,
    solver: Annotated[
        str | None, typer.Option(help="Way of computing the fit. Default: what the plan finds best.")
    ] = None,
) -> FitAsked:
    """What a fit asks."""
    earlier = workflow.Release.read(from_) if from_ is not None else None
    response = target or (str(earlier.request.get("target", "")) if earlier is not None else "")
    workflow.require_method(family, workflow.FAMILIES, "family")
    solved = {} if solver is None else {"solver": number_or_word(solver)}
    if selective_inference is not None and (earlier is None or earlier.moments is None or family != "linear"):
        raise InvalidParameterError(
            "--selective-inference is for a linear fit --from noisy moments. Leave it out, or write a plan."
        )
    return FitAsked(
        response, names(columns), earlier, from_, family, {**parameters, **solved}, selective_inference, posterior
    )


@sharing(question)
def fit(
    fitted: FitAsked,
    context: typer.Context,
    metadata: Annotated[
        Path | None, typer.Option(help="Metadata file, which states what is public about the table (YAML or JSON).")
    ] = None,
    data: Data = None,
    targets: Targets = None,
    table: Of = None,
    stated: Stated = False,
    ledger: Book = None,
    witness: Witness = None,
    out: Out = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    json_: Json = False,
    format_: Format = None,
    yes: Yes = False,
    quiet: Quiet = False,
) -> None:
    """Spend budget to learn the coefficients of a regression of TARGET, with intervals."""
    form = form_of(format_, json_)
    how = How(data, table, ledger, out, fresh, dry_run, form, yes, quiet, targets, witness=witness, stated=stated)
    if out is not None:
        writable(out)
    derived = fitted.free(context)
    if derived is not None:
        deliver(derived, how)
        return
    options = fitted.asked()
    if metadata is None or "epsilon" not in options.parameters:
        raise InvalidParameterError("A fit spends budget: give --epsilon and --metadata. Only noisy moments are free.")
    chosen = None if fitted.earlier is None else workflow.chosen_by(fitted.earlier)
    spend(options.chosen(), metadata, options.target, options.candidates, how, *options.reads, chosen=chosen)


def _check_free(
    context: typer.Context, release: "Release", moments: "MomentsRecord | None", free_options: tuple[str, ...]
) -> None:
    """Refuse options that ask noisy moments for something else than they hold."""
    fixed = {"target": release.request.get("target"), "fit_intercept": moments is not None and None in moments.owners}
    options = [
        written
        for name, value, written in given_options(context)
        if name not in (*FREE, *free_options) and not (name in fixed and fixed[name] == value)
    ]
    if options:
        raise InvalidParameterError(
            "A fit from noisy moments costs nothing and reads no data: target, bounds, intercept and noise are those "
            f"of the release, so it cannot have {', '.join(options)}. Leave that out. For a fit that spends budget of "
            "its own, leave out --from, and give --target and --columns."
        )
