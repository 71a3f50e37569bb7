"""``discreet hybrid``: an estimate on public records that the private rows weight."""

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import differ, given_options, say, spare
from discreet.cli.forms import Format, form_of
from discreet.cli.options import Book, Data, Fresh, How, Json, Of, Out, Quiet, Witness, Yes, names
from discreet.cli.parameter_options import other_parameters, taking
from discreet.cli.request_options import Asked, sharing
from discreet.cli.spend import spend
from discreet.errors import InvalidParameterError, PolicyError
from discreet.files import writable

EXAMPLE = """\b
Example:
  discreet hybrid --data clinic.parquet --public volunteers.parquet \\
    --metadata clinic.yaml --target sick --candidates age,site --epsilon 1 \\
    --out release.json --weighted-out weighted.parquet
  discreet hybrid --from release.json --public volunteers.parquet \\
    --metadata clinic.yaml --weighted-out weighted.csv
"""

FREE = ("from_", "public", "public_table", "metadata", "weighted_out", "quiet", "yes")
"""What can be asked of a release that was paid for."""

TWINS = 3

Open = Annotated[str | None, typer.Option(help="File of public records with the same columns, of other people.")]

Simulated = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show the cost, the noise and the expected errors alone: no private data are opened and nothing is spent.",
    ),
]


@dataclass(frozen=True)
class HybridAsked:
    """What an estimate asks; target and epsilon are not needed where a release was paid for."""

    method: str
    target: str | None
    candidates: tuple[str, ...] | None
    parameters: dict[str, Any]
    twins: int | None

    def asked(self) -> Asked:
        """Return what is asked of the rows."""
        if self.target is None or self.parameters.get("epsilon") is None:
            raise InvalidParameterError("An estimate spends budget: give --target and --epsilon, or --from RELEASE.")
        parameters = self.parameters
        _check_options(self.method, parameters)
        twins = self.twins
        if twins is None and self.method != "histogram":
            twins = 0 if parameters.get("as_published") else TWINS
        simulated = {} if twins is None else {"twins": twins}
        return Asked(self.method, self.target, self.candidates, {**parameters, **simulated})


@taking("public-subset", "hybrid", "histogram", epsilon=None)
def question(
    target: Annotated[
        str | None, typer.Option(help="Response variable, or the column whose mean or quantile is estimated.")
    ] = None,
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            help="The other columns: COL,COL. They place a row beside its nearest public record, and are the model's "
            "columns unless a mean or quantile is asked. Default: all listed in the metadata."
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="public-subset: the best of several estimates, chosen privately; hybrid: one estimate, no choice; "
            "histogram: private rows alone, in the cells of a grid, for a few columns."
        ),
    ] = "public-subset",
    *,
    parameters: dict[str, Any],
    twins: Annotated[
        int | None,
        typer.Option(
            help="Number of private tables to simulate from the public records, for the expected errors. Default: 3."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other parameter of the method: NAME=VALUE, the value as JSON."),
    ] = None,
) -> HybridAsked:
    """What an estimate asks."""
    return HybridAsked(method, target, names(candidates), {**other_parameters(set_), **parameters}, twins)


@sharing(question)
def hybrid(
    estimate: HybridAsked,
    context: typer.Context,
    metadata: Annotated[
        Path, typer.Option(help="Metadata file, which states what is public about the table and which file is public.")
    ],
    public: Open = None,
    data: Data = None,
    table: Of = None,
    public_table: Annotated[str | None, typer.Option(help="Name of the table in a public database file.")] = None,
    from_: Annotated[
        Path | None, typer.Option("--from", help="Release whose weighted public records are written, for free.")
    ] = None,
    weighted_out: Annotated[
        Path | None,
        typer.Option(help="File for the public records with their weights, for any software: .parquet or .csv."),
    ] = None,
    ledger: Book = None,
    witness: Witness = None,
    out: Out = None,
    fresh: Fresh = False,
    dry_run: Simulated = False,
    json_: Json = False,
    format_: Format = None,
    yes: Yes = False,
    quiet: Quiet = False,
) -> None:
    """Spend budget to estimate on public records that the private rows weight."""
    declared = workflow.Metadata.read(metadata)
    for path in (path for path in (out, weighted_out) if path is not None):
        writable(path)
        spare(path, data, public, metadata, from_)
    differ(out, weighted_out)
    if weighted_out is not None:
        workflow.check_weighted(weighted_out)
    if from_ is not None:
        _check_free(context, public, weighted_out)
        opened = workflow.open_public(str(public), declared, public_table)
        _write(weighted_out, workflow.Release.read(from_), declared, opened, quiet)
        return
    options, records = estimate.asked(), None
    if options.method == "histogram":
        _check_alone(public, public_table, weighted_out)
    else:
        if options.parameters.get("as_published") and weighted_out is not None:
            raise InvalidParameterError(
                "Weighted public records must come with a guarantee, but --as-published gives none. Leave one out."
            )
        records = _opened(public, declared, public_table, data)
        options = replace(options, parameters={**options.parameters, "public": records})
    chosen = options.chosen()
    if records is not None:
        # What is wrong with them is told before the ledger is opened.
        records.points(declared, options.target, options.candidates)
    form = form_of(format_, json_)
    how = How(data, table, ledger, out, fresh, dry_run, form, yes, quiet, weighted=weighted_out, witness=witness)
    release = spend(chosen, metadata, options.target, options.candidates, how, public)
    if release is not None and records is not None:
        _write(weighted_out, release, declared, records, quiet)


def _checked_method(method: str) -> str:
    if method not in ("public-subset", "hybrid", "histogram"):
        raise InvalidParameterError(
            f"method must be one of public-subset, hybrid, histogram, but method={method[:40]!r}."
        )
    return method


def _opened(public: str | None, declared: "workflow.Metadata", table: str | None, data: str | None) -> Any:
    """Open the public records: they must be given, and be another file than the private table."""
    if public is None:
        raise InvalidParameterError(
            "Public records are needed: give --public FILE. Without any, --method histogram takes private rows alone."
        )
    if data is not None and os.path.isfile(data) and os.path.isfile(public) and os.path.samefile(data, public):
        raise PolicyError(
            "The private and the public table must be two files, but one is given as both. Give the private one as "
            "--data."
        )
    return workflow.open_public(public, declared, table)


def _check_options(method: str, parameters: dict[str, Any]) -> None:
    _checked_method(method)
    if "quantile" in parameters and parameters.get("contrast") != "quantile":
        raise InvalidParameterError("--quantile is for --contrast quantile. Give both, or leave it out.")
    if "ridge" in parameters and method == "public-subset":
        raise InvalidParameterError("--method public-subset chooses among --ridges R,R. Give these instead of --ridge.")


def _check_alone(*of_public: Any) -> None:
    if any(value is not None for value in of_public):
        raise InvalidParameterError(
            "A histogram takes private rows alone, so it cannot have --public, --public-table or --weighted-out. "
            "Leave them out, or choose another --method."
        )


def _check_free(context: typer.Context, public: str | None, weighted_out: Path | None) -> None:
    """Refuse options that ask a release for something else than its weighted records."""
    options = [written for name, _, written in given_options(context) if name not in FREE]
    if options:
        raise InvalidParameterError(
            "Weighted public records of a release cost nothing and read no private data, so they cannot have "
            f"{', '.join(options)}. Leave that out. For an estimate that spends budget, leave out --from."
        )
    if public is None or weighted_out is None:
        raise InvalidParameterError(
            "The weighted public records of a release need both files: give --public FILE and --weighted-out FILE."
        )


def _write(
    path: Path | None, release: "workflow.Release", declared: "workflow.Metadata", records: Any, quiet: bool
) -> None:
    """Write the weighted records where they were asked for, and say so."""
    if path is None:
        return
    count = workflow.write_weighted(path, release, declared, records)
    if count:
        say(f"{count:,} public records with weights written to {path}.", quiet)
    else:
        say(f"No public record has a weight in this release, so {path} was not written.", quiet)
