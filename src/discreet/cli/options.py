"""Options of the commands that answer a request, and how names and numbers in them are read."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.forms import Form

Data = Annotated[
    str | None,
    typer.Option(
        help="Private table: a CSV, Parquet, Arrow, DuckDB or SQLite file, a folder of Parquet files, "
        "s3://, postgresql:// or spark:..."
    ),
]
Targets = Annotated[
    str | None,
    typer.Option(
        help="For a table with one value in each row: the file with one row for each person, which holds the target."
    ),
]
Of = Annotated[str | None, typer.Option(help="Name of the table in a database.")]
Stated = Annotated[
    bool,
    typer.Option(
        "--stated",
        help="The data file is a copy of rows in memory, made for this request. You state that they are the declared "
        "columns as they are, all of them; the release repeats it. Asked again, it is charged again.",
    ),
]
Book = Annotated[
    str | None, typer.Option(help="Ledger: a file, or the URL of a database. Default: a file in your data folder.")
]
Witness = Annotated[
    Path | None, typer.Option(help="File of the ledger's witness. Default: the one that the ledger records.")
]
Out = Annotated[Path | None, typer.Option(help="File for the release (JSON).")]
Fresh = Annotated[
    bool, typer.Option("--fresh", help="Draw again, and pay again, even if the same request was answered before.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the cost and the noise alone: no data are opened and nothing is spent.")
]
Json = Annotated[bool, typer.Option("--json", help="Print the release, or the dry run, as JSON.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before spending.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the result alone, without words and progress.")]


@dataclass(frozen=True)
class How:
    """The options that every command that spends has."""

    data: str | None
    table: str | None
    ledger: str | None
    out: Path | None
    fresh: bool
    dry_run: bool
    form: Form
    yes: bool
    quiet: bool
    targets: str | None = None
    weighted: Path | None = None
    witness: Path | None = None
    stated: bool = False

    @property
    def json(self) -> bool:
        """Whether JSON is printed."""
        return self.form is Form.JSON

    @property
    def csv(self) -> bool:
        """Whether CSV is printed."""
        return self.form is Form.CSV

    def outputs(self) -> list[Path]:
        """Return the files that will be written."""
        return [path for path in (self.out, self.weighted) if path is not None]


def names(texts: list[str] | None) -> tuple[str, ...] | None:
    """Split COL,COL; a name with a comma stands in double quotes.

    The names; None when nothing was given.
    """
    if not texts:
        return None
    return tuple(name for row in csv.reader(texts, skipinitialspace=True, strict=False) for name in row if name)


def number_or_word(text: str | None) -> Any:
    """Return an option that takes a number or a word.

    The number, else the word.
    """
    try:
        return None if text is None else float(text)
    except ValueError:
        return text
