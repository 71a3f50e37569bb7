"""``discreet metadata`` and ``discreet dummy``: what is public about a table."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from discreet import workflow
from discreet.cli.console import as_json, confirmed, counted, interactive, result, say, spare
from discreet.cli.forms import Form, Format, as_csv, form_of
from discreet.cli.metadata_questions import answers
from discreet.cli.options import Data, Of, Targets
from discreet.errors import InvalidParameterError, MetadataError
from discreet.files import write_whole

app = typer.Typer(no_args_is_help=True, help="What is public about a table: bounds, levels, unit, relation.")

Out = Annotated[Path | None, typer.Option(help="File to write. Default: standard output.")]


@app.command()
def new(
    data: Annotated[
        str, typer.Argument(help="Table: a CSV, Parquet, Arrow, DuckDB or SQLite file, or postgresql://...")
    ],
    dataset: Annotated[
        str | None, typer.Option(help="Name of the data set in the ledger. Default: the name of the file or table.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="Who is protected. Default: person.")] = None,
    neighboring: Annotated[
        str | None, typer.Option(help="Neighboring relation: add_or_remove_one (the default) or replace_one.")
    ] = None,
    n_rows: Annotated[int | None, typer.Option(help="Public number of rows, for replace_one.")] = None,
    table: Annotated[str | None, typer.Option(help="Name of the table in a database.")] = None,
    header: Annotated[
        bool, typer.Option("--header", help="Take the first line of a CSV file as names, although it looks like a row.")
    ] = False,
    blank: Annotated[bool, typer.Option("--blank", help="Ask nothing, and leave blanks to fill in.")] = False,
    out: Out = None,
) -> None:
    """Write a skeleton to fill in, from the header alone.

    On a terminal it asks for what the header cannot tell, proposes a type for each column, and says why.

    \b
    Example:
      discreet metadata new survey.parquet --out survey.yaml
    """
    if out is not None:
        spare(out, data)
        if out.exists():
            raise InvalidParameterError(
                f"{out} exists, and a skeleton would replace what is filled in there. Choose another path, or remove "
                "the file."
            )
    text = workflow.new_metadata(
        data,
        table=table,
        dataset=dataset,
        header=header,
        confirm=_names_it if interactive() else None,
        ask=answers if interactive() and not blank else None,
        unit=unit,
        neighboring=neighboring,
        n_rows=n_rows,
    )
    _deliver(text, out)
    if out is not None:
        say(f"Skeleton written to {out}. Fill in the blanks, then: discreet metadata check {out}")


@app.command()
def schema(out: Out = None) -> None:
    """Write the JSON Schema of metadata, by which editors complete and check what is typed.

    In an editor with a YAML language server, begin the file with: # yaml-language-server: $schema=metadata.schema.json

    \b
    Example:
      discreet metadata schema --out metadata.schema.json
    """
    _deliver(workflow.metadata_schema(), out)


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="Metadata file, in any known format.")],
    data: Data = None,
    table: Of = None,
    targets: Targets = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    format_: Format = None,
) -> None:
    """List what is missing or looks wrong.

    With --data also what the types in a table's header cannot hold; no row is read.

    \b
    Example:
      discreet metadata check survey.yaml --data survey.parquet
    """
    form = form_of(format_, json_)
    if data is None and (table is not None or targets is not None):
        raise InvalidParameterError("--table and --targets say which table is meant: give --data too.")
    metadata, faults = workflow.check_metadata(file)
    derived = {} if metadata is None else workflow.derived_columns(metadata)
    fits = None
    if data is not None and metadata is not None:
        fits = workflow.compare_header(metadata, data, table=table, targets=targets)
    findings = [*faults, *(workflow.misfits(fits) if fits else ())]
    if form is Form.CSV:
        as_csv([asdict(finding) for finding in findings])
    elif form is Form.JSON:
        compared = {} if fits is None else {"columns": [asdict(fit) for fit in fits]}
        rows = [asdict(finding) for finding in findings]
        own = (
            {} if metadata is None else {"metadata": metadata.model_dump(mode="json", by_alias=True, exclude_none=True)}
        )
        dataset = None if metadata is None else metadata.dataset
        as_json("discreet/findings@1", dataset=dataset, findings=rows, derived=derived, **compared, **own)
    else:
        for name, column in derived.items():
            result(f"{name}: {column['derived']}, within {column['lower']:g} .. {column['upper']:g}")
        unchecked = [fit for fit in fits or () if fit.stored is None and fit.problem is None]
        for fit in fits or ():
            if fit not in unchecked:
                result(str(fit))
        if unchecked:
            n_columns = "one column" if len(unchecked) == 1 else f"{len(unchecked)} columns"
            result(f"The table stores no type of {n_columns}, so only the names were compared.")
        for text in workflow.findings_together(findings):
            result(text)
    errors = sum(finding.severity == "error" for finding in findings)
    if errors:
        pronoun = "it" if errors == 1 else "them"
        raise MetadataError(f"{file} has {counted(errors, 'error')}. Correct {pronoun} and check again.")
    if form is Form.TABLE and metadata is not None:
        declared, warnings = counted(len(metadata.columns), "column"), counted(len(findings), "warning")
        result(f"{file} is ready: {declared}{_further(metadata)}, {warnings}.")


@app.command()
def convert(
    file: Annotated[Path, typer.Argument(help="Metadata file, in any known format.")],
    to: Annotated[str, typer.Option(help="Format to write: discreet, csvw or smartnoise.")] = "discreet",
    dataset: Annotated[str | None, typer.Option(help="Name of the data set in the ledger.")] = None,
    unit: Annotated[str | None, typer.Option(help="Who is protected.")] = None,
    neighboring: Annotated[
        str | None, typer.Option(help="Neighboring relation: replace_one or add_or_remove_one.")
    ] = None,
    n_rows: Annotated[int | None, typer.Option(help="Public number of rows, for replace_one.")] = None,
    table: Annotated[str | None, typer.Option(help="Name of the table, if the file holds several.")] = None,
    out: Out = None,
) -> None:
    """Convert to and from CSVW-EO (Lomas) and SmartNoise.

    \b
    Example:
      discreet metadata convert penguin.json --to discreet --out penguin.yaml
    """
    text, findings = workflow.convert_metadata(
        file, to, table=table, dataset=dataset, unit=unit, neighboring=neighboring, n_rows=n_rows
    )
    _deliver(text, out)
    for finding in workflow.findings_together(findings):
        say(finding)


def dummy(
    metadata: Annotated[Path, typer.Option(help="Metadata file of the table (YAML or JSON).")],
    out: Annotated[Path, typer.Option(help="File to write: .csv, .parquet or .arrow.")],
    rows: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000_000, help="Number of rows. Default: the public number of the metadata, or 1000."
        ),
    ] = None,
) -> None:
    """Write a fake table of the declared shape, to write code against.

    \b
    Example:
      discreet dummy --metadata survey.yaml --rows 1000 --out fake.parquet
    """
    declared = workflow.Metadata.read(metadata)
    written = workflow.write_dummy(declared, rows or min(declared.n_rows or 1000, 10_000_000), out)
    say(f"Fake table written to {written}. It knows nothing but the metadata.")


def _names_it(doubt: str) -> None:
    """Ask whether a line holds names; whoever answers looks at it elsewhere."""
    say(f"{doubt} If it holds names, they will stand in the skeleton.")
    confirmed()


def _further(metadata: "workflow.Metadata") -> str:
    if metadata.features is None:
        return ""
    listed = metadata.features.listed()
    return " and features" if listed is None else f" and {counted(len(listed), 'feature')}"


def _deliver(text: str, out: Path | None) -> None:
    if out is None:
        result(text)
    else:
        write_whole(out, text)
