"""``discreet run``: the steps of a plan as one priced unit."""

from pathlib import Path
from typing import Annotated

import typer

from discreet import workflow
from discreet.cli.options import Book, Data, DryRun, Fresh, How, Json, Of, Out, Quiet, Targets, Witness, Yes
from discreet.cli.spend import spend

EXAMPLE = """\b
Example of PLAN.yaml:
  schema: discreet/run@1
  data: rand_hie.parquet
  metadata: rand_hie.yaml
  target: mdvis
  epsilon: 1
  delta: 1e-6
  select: {method: pcls, epsilon: 0.5, l1_radius: 4, y_center: 5}
  fit: {family: linear}
  # before select, or in its place, where candidates are many:
  # screen: {method: sis, n_features_to_select: 10, epsilon: 0.3}
\b
Example:
  discreet run PLAN.yaml --dry-run
  discreet run PLAN.yaml --out release.json
"""


def run(
    plan: Annotated[Path, typer.Argument(help="The plan (YAML or JSON). Its paths are relative to it.")],
    data: Data = None,
    targets: Targets = None,
    metadata: Annotated[Path | None, typer.Option(help="Metadata, instead of the plan's.")] = None,
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
    """Screen or select columns, then fit their model: one charge, one release."""
    steps = workflow.read_run(plan)
    how = How(
        data or steps.data,
        table or steps.table,
        ledger,
        out,
        fresh,
        dry_run,
        json_,
        yes,
        quiet,
        targets or steps.targets,
        witness=witness,
    )
    spend(steps.method(), metadata or steps.metadata_file(), steps.target, steps.candidates, how, plan)
