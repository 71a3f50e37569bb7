"""``discreet plan``: how well a selection can be expected to do, before anything is spent."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet import workflow
from discreet.cli.console import as_json, live_progress, result, say, spare
from discreet.cli.forms import Form, Format, form_of
from discreet.cli.options import Quiet, names
from discreet.cli.parameter_options import other_parameters
from discreet.cli.plan_parts import expect_parts
from discreet.cli.plan_text import brief, page, shown
from discreet.cli.public_table import PublicTable, known_columns
from discreet.cli.request_options import sharing
from discreet.cli.stops import stops
from discreet.cli.suppose import (
    SUPPOSED,
    Correlation,
    Effect,
    Like,
    NoiseSd,
    NTrue,
    RSquared,
    Times,
    numbers_of,
    supposed,
)
from discreet.errors import InvalidParameterError
from discreet.files import writable, write_whole

EXAMPLE = """\b
Example:
  discreet plan --metadata clinic.yaml --target visits
  discreet plan --metadata clinic.yaml --target visits --n-rows 500,2000 \\
    --effect age=4 --effect income=2 --noise-sd 3 --epsilon 1 --compare
  discreet plan --metadata clinic.yaml --target visits --like census.csv \\
    --times 0.5,1
  discreet plan --metadata clinic.yaml --target visits --goal "right>=0.9"
  discreet plan --metadata clinic.yaml --target visits --until 0.9 --at-most 2
"""

PANELS = {
    "What is supposed of the table": SUPPOSED,
    "What is compared and shown": ("set_", "alone", "compare", "full"),
    "Buying moments in parts": ("until", "until_width", "until_coefficient", "at_most", "until_of", "until_prior"),
    "The simulation": ("tables", "draws", "seed"),
}
"""Options that few need, below the essential ones."""

PROCESSES = 2
"""At most; more would need as many tables in memory at once."""

MEASURES = {"right": "right", "p": "right", "overlap": "overlap", "explained": "explained"}
FIT = "a linear fit of the right columns"


@dataclass(frozen=True)
class PlanAsked:
    """What a plan asks, but for the table's metadata."""

    fields: dict[str, Any]
    compare: bool
    full: bool
    public_table: Path | None = None

    def of(self, public: "workflow.Metadata") -> "workflow.Question":
        """Return the whole question, with what a public table says of the columns."""
        if self.public_table is None:
            return workflow.Question(metadata=public, **self.fields)
        known = known_columns(self.public_table, public, self.fields["target"], self.fields["candidates"])
        place = str(self.public_table)
        return workflow.Question(metadata=public, **self.fields, public_moments=known, public_table=place)


def question(
    target: Annotated[str, typer.Option(help="Response variable: a numeric column.")],
    candidates: Annotated[
        list[str] | None, typer.Option(help="Columns that may be selected: COL,COL. Default: all declared columns.")
    ] = None,
    epsilon: Annotated[str, typer.Option(help="Values of epsilon to try: E,E.")] = "0.1,0.3,1,3,10",
    delta: Annotated[
        float,
        typer.Option(
            help="Delta, for methods that gain from one. 0 allows only pure differential privacy. Default: 0.000001.",
            show_default=False,
        ),
    ] = 1e-6,
    n_rows: Annotated[
        str | None,
        typer.Option(help="Number of rows: N, or N,N to compare. Default: the public number of the metadata."),
    ] = None,
    effect: Effect = None,
    n_true: NTrue = None,
    r_squared: RSquared = None,
    noise_sd: NoiseSd = None,
    correlation: Correlation = None,
    times: Times = None,
    like: Like = None,
    public_table: PublicTable = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            help="Method of your request, which is listed first: pcls, pcpl, moments, sis, two-stage or "
            "decorrelated. May be repeated."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other parameter of these methods: NAME=VALUE, the value as JSON."),
    ] = None,
    alone: Annotated[bool, typer.Option("--alone", help="Show your request alone, without alternatives.")] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Show the full comparison alone, at the first epsilon.")
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Show all selections, all measures and what theory says. Default: the essentials."),
    ] = False,
    goal: Annotated[
        str | None,
        typer.Option(
            help='Goal for which the smallest epsilon is found: "right>=0.9", or one of overlap or explained.'
        ),
    ] = None,
    tables: Annotated[
        int | None,
        typer.Option(
            help="Number of tables to simulate for each figure. Default: 16 for every selection, then 200 for "
            "those that do best; fewer for a wide table."
        ),
    ] = None,
    draws: Annotated[int, typer.Option(help="Number of draws of the noise on each table.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
) -> PlanAsked:
    """What a plan asks."""
    measure_and_least = _goal(goal)
    if compare and measure_and_least:
        raise InvalidParameterError("--compare rates methods at an epsilon that --goal is to find. Leave one out.")
    if draws != 1 and measure_and_least:
        raise InvalidParameterError("A goal takes each table once. Leave out --draws, or give more --tables.")
    if alone and not method:
        raise InvalidParameterError("--alone plans one request, but none is given. Give --method beside --alone.")
    epsilons = numbers_of(epsilon, "--epsilon E,E", "0.1,1,10") or ()
    fields = {
        "target": target,
        "candidates": names(candidates),
        "epsilons": epsilons[:1] if compare else epsilons,
        "delta": delta,
        "n_rows": _counts(n_rows),
        "supposed": supposed(effect, n_true, r_squared, noise_sd, correlation, times, like),
        "methods": tuple(method or ()),
        "parameters": other_parameters(set_),
        "is_alone": alone,
        "goal": measure_and_least,
        "n_tables": tables,
        "n_draws": draws,
        "seed": seed,
    }
    return PlanAsked(fields, compare, full or compare, public_table)


@sharing(question, stops)
def plan(
    options: PlanAsked,
    stop: dict[str, Any],
    metadata: Annotated[
        Path, typer.Option(help="Metadata file, which states what is public about the table (YAML or JSON).")
    ],
    out: Annotated[
        Path | None, typer.Option(help="File for the figures: .csv, or .html for a page with pictures.")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    format_: Format = None,
    quiet: Quiet = False,
) -> None:
    """Tell how well each selection can be expected to do, by simulation. No data are opened and nothing is spent."""
    check_out(out, metadata, options.fields["supposed"].get("like"), options.public_table)
    if stop:
        expect_parts(options.of(workflow.Metadata.read(metadata)), stop, out, json_, quiet)
        return
    start = ("discreet", "select", "--data", "DATA", "--metadata", str(metadata))
    expect(options, workflow.Metadata.read(metadata), start, out, form_of(format_, json_), quiet)


def check_out(out: Path | None, *read: Path | None) -> None:
    """Refuse a file for figures that could not be written, or that the command reads."""
    if out is None:
        return
    if out.suffix.lower() not in (".csv", ".html", ".htm"):
        raise InvalidParameterError(
            f"Figures are written as CSV or as a page, but --out is {out}. Give a name that ends in .csv or .html."
        )
    writable(out)
    spare(out, *read)


def expect(
    options: PlanAsked,
    public: "workflow.Metadata",
    start: Sequence[str],
    out: Path | None,
    form: Form,
    quiet: bool,
) -> None:
    """Simulate, print, and write where it was asked for.

    `start` are the first words of the command that asks for a selection.
    """
    whole = options.of(public)
    expectation = _refined(whole, options.compare, quiet)
    if out is not None:
        write_whole(out, _csv(expectation) if out.suffix.lower() == ".csv" else page(whole, expectation, start))
    if form is Form.CSV:
        result(_csv(expectation))
    elif form is Form.JSON:
        command = workflow.recommended_command(whole, expectation, start)
        as_json(**expectation.record(whole), command=command or None)
    else:
        result("\n".join(shown(whole, expectation, options.compare, start, full=options.full)))
    if out is not None:
        say(f"Figures written to {out}.", quiet)


def _refined(whole: "workflow.Question", compare: bool, quiet: bool) -> "workflow.Expectation":
    """Show figures as they become finer; an interrupt keeps those that there are."""
    expectation: workflow.Expectation | None = None
    with live_progress(quiet) as (show_progress, show):
        try:
            for expectation in workflow.refined(whole, PROCESSES, show_progress):
                show("\n".join(brief(whole, expectation, compare)))
        except KeyboardInterrupt:
            if expectation is None:
                raise
    if expectation is None:  # never: the last answer is always yielded
        raise KeyboardInterrupt
    return expectation


# ---- what is asked


def _goal(goal: str | None) -> tuple[Any, float] | None:
    if goal is None:
        return None
    match = re.fullmatch(r"\s*(\w+)\s*>=\s*(\d+(?:\.\d*)?|\.\d+)(%?)\s*", goal, re.ASCII)
    if match is None or match[1] not in MEASURES:
        raise InvalidParameterError(
            f'A goal must have a form such as "right>=0.9", but it is {goal[:40]!r}. '
            "Write right, overlap or explained, then >= and a number between 0 and 1."
        )
    return MEASURES[match[1]], float(match[2]) / (100.0 if match[3] else 1.0)


def _counts(text: str | None) -> tuple[int, ...]:
    if text is None:
        return ()
    try:
        expectation = tuple(dict.fromkeys(int(word) for word in text.replace("_", "").split(",")))
    except ValueError:
        raise InvalidParameterError(
            f"--n-rows must be whole numbers: N,N, such as 500,2000, not {text[:40]!r}."
        ) from None
    return expectation


# ---- what is handed over


def _csv(expectation: "workflow.Expectation") -> str:
    """A row a selection, epsilon and scenario; then the fits, whose error is another than that of a chance."""
    renamed = {"error": "coefficient_error"}
    fits = [{"rival": FIT, **{renamed.get(key, key): value for key, value in row.items()}} for row in expectation.fits]
    beside = [*expectation.unlucky, *({"kind": "half the rows"} | row for row in expectation.fewer)]
    rows = [*expectation.rows, *beside, *fits]
    fields = list(dict.fromkeys(field for row in rows for field in row)) or ["rival"]
    text = StringIO()
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
