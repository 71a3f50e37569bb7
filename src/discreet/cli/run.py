"""``discreet run``: the steps of a plan as one priced unit."""

from pathlib import Path
from textwrap import indent
from typing import Annotated

import typer

from discreet import workflow
from discreet.cli.forms import Format, form_of
from discreet.cli.options import Book, Data, DryRun, Fresh, How, Json, Of, Out, Quiet, Stated, Targets, Witness, Yes
from discreet.cli.public_table import PublicTable, known_steps
from discreet.cli.spend import spend

_PLAN = (Path(__file__).parents[1] / "workflow" / "rand_hie_plan.yaml").read_text()
EXAMPLE = f"""\b
Example of PLAN.yaml:
{indent(_PLAN, "  ")}
\b
Example:
  discreet run PLAN.yaml --dry-run
  discreet run PLAN.yaml --out release.json
"""


def run(
    plan: Annotated[Path, typer.Argument(help="Plan file (YAML or JSON). Paths in it are relative to its folder.")],
    data: Data = None,
    targets: Targets = None,
    metadata: Annotated[Path | None, typer.Option(help="Metadata file, in place of the plan's.")] = None,
    table: Of = None,
    public_table: PublicTable = None,
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
    """Screen or select columns, then fit their model: one charge, one release."""
    steps = workflow.read_run(plan)
    form = form_of(format_, json_)
    how = How(
        data or steps.data,
        table or steps.table,
        ledger,
        out,
        fresh,
        dry_run,
        form,
        yes,
        quiet,
        targets or steps.targets,
        witness=witness,
        stated=stated,
    )
    place = metadata or steps.metadata_file()
    steps, records = known_steps(steps, public_table, lambda: workflow.Metadata.read(place), how.data)
    spend(steps.method(), place, steps.target, steps.candidates, how, plan, records)
